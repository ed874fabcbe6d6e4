"""Write docs/results/normal_range.{json,md}: python docs/update_normal_range.py.

How far the label distribution of a reasoning anchor is from the normal of Theorem 1, over q and N_Z; nothing
is trained.
"""

from __future__ import annotations

import json
from pathlib import Path

from command_line import without_arguments

import theory

RESULTS = Path(__file__).resolve().parent / "results"
Q = (1, 2, 3, 4, 6, 8, 12)
N_Z = (2, 5, 10, 20, 50, 100, 200)
ANCHORS = range(11, 21)
"""The paper's reasoning anchors; the distribution is that of one in the middle."""
FIRST_KEY = 1000
GOOD = 0.02
"""A largest difference of the distribution functions below which the normal is called good."""

TEXT = """# Where Theorem 1's normal approximation is good

Theorem 1 takes the label distribution P^s of a reasoning anchor for normal. Below is the largest difference
of its exact distribution function (`theory.label_distribution`) from that normal's
(`theory.normal_distance(...).kolmogorov`), for the anchor 15 among 11 to 20 and N_Z consecutive keys. Bold:
below {good}, a level set before the numbers were seen. Nothing is trained.
`python docs/update_normal_range.py` makes this page and [normal_range.json](normal_range.json), which has the
total variation too.

The sum of q − 1 other anchors has the variance (q − 1)(N_A² − 1)/12, the key (N_Z² − 1)/12. Where the key's
is larger by far, P^s is nearly uniform whatever q is, and the distance is a uniform distribution's, 0.057.
The paper's setting, q = 2 and N_Z = 100, is there. Few keys or many anchors make the normal good."""


def distance(q: int, n_keys: int) -> theory.NormalDistance:
    """Return the distance for the sum of q anchors and one of n_keys consecutive keys."""
    # Far from 0 and from the largest token, so that nothing of the normal is cut off.
    first = FIRST_KEY
    task = theory.Task(
        keys=range(first, first + n_keys),
        reasoning_anchors=ANCHORS,
        n_anchors=q,
        length=q + 1,
        vocab_size=2 * first,
    )
    return theory.normal_distance(task, 15)


def page(rows: list[dict[str, float]]) -> str:
    """Return the page."""
    by_pair = {(row["q"], row["n_keys"]): row for row in rows}
    lines = [
        *TEXT.format(good=GOOD).splitlines(),
        "",
        "| q \\ N_Z | " + " | ".join(map(str, N_Z)) + " |",
        "| --- |" + " --- |" * len(N_Z),
    ]
    for q in Q:
        values = [by_pair[q, n]["kolmogorov"] for n in N_Z]
        cells = [f"**{value:.4f}**" if value < GOOD else f"{value:.4f}" for value in values]
        lines.append(f"| {q} | " + " | ".join(cells) + " |")
    return "\n".join(lines) + "\n"


def main() -> None:
    """Compute and write."""
    rows = []
    for q in Q:
        for n_keys in N_Z:
            found = distance(q, n_keys)
            values = {name: getattr(found, name) for name in ("kolmogorov", "total_variation")}
            rows.append({"q": q, "n_keys": n_keys} | values)
    (RESULTS / "normal_range.json").write_text(json.dumps(rows, indent=1) + "\n")
    (RESULTS / "normal_range.md").write_text(page(rows))


if __name__ == "__main__":
    without_arguments(__doc__)
    main()
