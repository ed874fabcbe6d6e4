"""When a run is over: after its epochs, or when its patience is."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from sim.config.run import TrainingConfig

HALF = 0.5
"""The accuracy at which a data set counts as fitted: half-way between none and all of it."""
HELD_OUT = "rsn_test"
"""The data set that no step is taken on."""


def has_ended(training: TrainingConfig, metrics: Sequence[Mapping[str, Any]]) -> bool:
    """Return whether a run with these evaluations takes no further step.

    With ``training.patience`` it ends with the first epoch evaluated by whose end Σ learning rate is
    2^patience times its value when a training set was last fitted. Before the first set is fitted, and
    for sets that the initial weights fit, it does not count.
    """
    if not metrics or metrics[-1]["epoch"] % 1:
        return False
    if metrics[-1]["epoch"] == training.epochs:
        return True
    fitted = [
        next((line["sum_learning_rate"] for line in metrics if line["accuracy"][part] >= HALF), 0.0)
        for part in metrics[0]["accuracy"]
        if part != HELD_OUT
    ]
    last, now = max(fitted, default=0.0), metrics[-1]["sum_learning_rate"]
    return bool(training.patience) and last > 0 and now >= 2**training.patience * last
