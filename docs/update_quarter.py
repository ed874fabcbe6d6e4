"""Write the table of docs/results/quarter.md from kept runs: python docs/update_quarter.py [KEPT].

The likeliest setting of the paper at full size (study `group-2024`) and at a quarter of it (`group-small`,
and `group-small-scales` with smaller initial weights), one column a size and γ.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from pathlib import Path

from marked import folder_of, markdown_table, renew

from validate.claims.measures.geometry import mean_cosine, ordering
from validate.claims.measures.learning import matched_test_accuracy
from validate.judge.bounds import Value, ends
from validate.judge.stats import ANY, COSINE, SHARE, SIZE, over_seeds
from validate.judge.times import bias, doublings_range, last_epoch
from validate.observe import KEPT, Observations, kept

PAGE = Path(__file__).resolve().parent / "results" / "quarter.md"
COLUMNS = (
    ("full", "group-2024", 0.3),
    ("full", "group-2024", 0.8),
    ("quarter", "group-small", 0.3),
    ("quarter", "group-small", 0.8),
    ("quarter", "group-small", 0.9),
    ("quarter", "group-small-scales", 1.1),
)
Measure = Callable[[Observations], Value]


def _at_end(part: str) -> Measure:
    return lambda run: float(run.metrics[-1]["accuracy"][part])


def _spread(run: Observations) -> float:
    """Return the standard deviation of the embedding's entries before training."""
    return float(run.config.model_dump()["model"]["d_m"] ** -run.config.init_rate)


def _memory(run: Observations) -> float:
    return mean_cosine(run, run.task.memory_anchors)


def _memory_late(run: Observations) -> float:
    return mean_cosine(run, run.task.memory_anchors, last_epoch)


def _reasoning(run: Observations) -> float:
    return mean_cosine(run, run.task.reasoning_anchors)


def _delay(run: Observations) -> Value:
    return doublings_range(run, "mem", "rsn_train")


ROWS: tuple[tuple[str, Measure, tuple[float, float]], ...] = (
    ("standard deviation of the embedding's entries before training", _spread, SIZE),
    ("log2 of the times to fit table over training sums", _delay, ANY),
    ("bias: held-out sums less table, mean over the run", bias, COSINE),
    ("held-out sums right when half of the training sums are", matched_test_accuracy, SHARE),
    ("held-out sums right at the end", _at_end("rsn_test"), SHARE),
    ("table right at the end", _at_end("mem"), SHARE),
    ("mean cosine among memory anchors, early", _memory, COSINE),
    ("the same at the end", _memory_late, COSINE),
    ("mean cosine among reasoning anchors, early", _reasoning, COSINE),
    ("Spearman of their distance and cosine, early", ordering, COSINE),
)


def cell(values: Sequence[Value], within: tuple[float, float]) -> str:
    """Return a mean with its interval, between evaluations their middle; of open bounds the lowest end."""
    both = [ends(value) for value in values]
    if any(math.isinf(high) for _, high in both):
        return f"≥ {min(low for low, _ in both):.3g}"
    return str(over_seeds([(low + high) / 2 for low, high in both], within))


def table(folder: Path) -> str:
    """Return every measure at both sizes."""
    runs = [
        [run for run in kept(study, folder=folder) if run.config.init_rate == rate]
        for _, study, rate in COLUMNS
    ]
    header = ["", *(f"{size}, γ = {rate:g}" for size, _, rate in COLUMNS)]
    lines = [["seeds", *(str(len(own)) for own in runs)]]
    for name, measure, within in ROWS:
        lines.append([name, *(cell([measure(run) for run in own], within) for own in runs)])
    return markdown_table(header, lines)


def main(folder: Path) -> None:
    """Renew the table."""
    renew(PAGE, "table", table(folder))


if __name__ == "__main__":
    main(folder_of(__doc__, KEPT))
