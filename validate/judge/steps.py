"""How far apart neighbouring values of a measure can be: seeds that agree do not agree any closer."""

from __future__ import annotations

from collections.abc import Callable

from validate.judge.measures.order import spearman_step
from validate.observe.probe import SEQUENCES

_SMALL = ("group-small", "group-no-norm-small")
"""Studies at a quarter of the size: 25 keys, sequences of five, some 200 held-out sequences."""
_SUMS = ("emb-mlp", "causal", "frozen-long", "emb-mlp-noise", "demo")
"""Studies of the Emb-MLP: its held-out sums are a pair in both orders, one input, with each of 100 keys."""


def _accuracy(study: str) -> float:
    return 1 / 100 if study in _SUMS else 1 / 200 if study in _SMALL else 1 / 4000


def _pairs(study: str, n: int) -> float:
    return spearman_step(n * (n - 1) // 2)


STEPS: dict[str, Callable[[str], float]] = {
    "accuracy": _accuracy,
    "table": lambda study: 1 / 10_000,
    "keys": lambda study: _pairs(study, 25 if study in _SMALL else 100),
    "anchors": lambda study: _pairs(study, 10),
    "attention": lambda study: 1 / (SEQUENCES * (14 if study in _SMALL else 44)),
    "position": lambda study: 1 / 6,
    "rise": lambda study: spearman_step(8) / 6,
    "positions": lambda study: spearman_step(8),
    "rates": lambda study: spearman_step(7),
    "four rates": lambda study: spearman_step(4),
    "data sets": lambda study: 1 / 18,
    "sums": lambda study: 1 / 100,
    "sequence": lambda study: 1e-3,
}
"""By the name that claims use: from a study to the step."""
