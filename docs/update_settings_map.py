"""Write docs/results/settings_map.md from the kept runs: python docs/update_settings_map.py [KEPT].

The map over norm placement, learning rate and γ; then, at the ``cpu`` preset's settings, the whole run.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable
from pathlib import Path

from theory import InputError
from validate import over_seeds
from validate.observe import KEPT, Observations, kept
from validate.stats import SHARE

PAGE = Path(__file__).resolve().parent / "results" / "settings_map.md"
BEGIN, END = "<!-- map: begin -->", "<!-- map: end -->"
PARTS = ("mem", "rsn_train", "rsn_test")
STUDIES = ("learning-rates", "norms", "no-norm", "transformer", "long")
LEARNED, UNLEARNED = 0.5, 0.1
"""An accuracy that counts as learned, and one that counts as not: half of all, and a tenth."""


def picture(accuracy: dict[str, float]) -> str:
    """Say in words which data sets are learned, by the two levels."""
    memory, train, test = (accuracy[part] for part in PARTS)
    if train < LEARNED and memory < LEARNED:
        return "nothing learned yet"
    if train >= LEARNED and memory < UNLEARNED:
        return "reasoning first" if test >= LEARNED else "training sums first, held-out ones not"
    if test < UNLEARNED:
        return "memorised"
    return "both"


def rows(runs: Iterable[Observations]) -> list[str]:
    """Return a line for every setting: where it is after its last step, means over seeds."""
    settings: dict[tuple[str, float, float, int], list[Observations]] = {}
    for run in runs:
        training = run.config.training
        key = (run.config.model.norm, training.learning_rate, run.config.init_rate, run.metrics[-1]["step"])
        settings.setdefault(key, []).append(run)
    return [_row(key, own) for key, own in sorted(settings.items())]


def _row(key: tuple[str, float, float, int], runs: list[Observations]) -> str:
    norm, rate, gamma, steps = key
    estimates = {p: over_seeds([r.metrics[-1]["accuracy"][p] for r in runs], SHARE) for p in PARTS}
    losses = [max(line["loss"]["mem"] or 0.0 for line in r.metrics[1:]) for r in runs]
    cells = [
        norm,
        f"{rate:g}",
        f"{gamma:g}",
        f"{steps}",
        f"{len(runs)}",
        *(str(e) for e in estimates.values()),
    ]
    means = {part: estimate.mean for part, estimate in estimates.items()}
    return "| " + " | ".join([*cells, f"{max(losses):.2f}", picture(means)]) + " |"


def table(folder: Path = KEPT) -> str:
    """Return the map as a Markdown table."""
    runs: list[Observations] = []
    for study in STUDIES:
        try:
            runs += kept(study, folder=folder)
        except InputError as error:
            print(error, file=sys.stderr)
    header = (
        "| norm | learning rate | γ | steps | seeds | memory | reasoning, train | reasoning, test "
        "| highest memory loss | picture |"
    )
    return "\n".join([header, "| --- | --- | --- | --- | --- | --- | --- | --- | --- | --- |", *rows(runs)])


def main() -> None:
    """Renew the table between the page's markers."""
    folder = Path(sys.argv[1]) if len(sys.argv) > 1 else KEPT
    before, _, rest = PAGE.read_text().partition(BEGIN)
    _, _, after = rest.partition(END)
    PAGE.write_text(f"{before}{BEGIN}\n{table(folder)}\n{END}{after}")


if __name__ == "__main__":
    main()
