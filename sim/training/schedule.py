"""A run's schedule: the learning rate of each step, the steps at which it evaluates, and its end."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from sim.config.training import TrainingConfig

HALF = 0.5
"""The accuracy at which a data set counts as fitted: half-way between none and all of it."""
HELD_OUT = "rsn_test"
"""The data set that is never trained on."""


def learning_rate(training: TrainingConfig, step: int, steps_per_epoch: int) -> float:
    """Return the learning rate of a step, counted from 0.

    "warmup-cosine" rises linearly from ``learning_rate`` to ``warmup_factor`` times that during the warm-up
    and falls along half a cosine to ``final_learning_rate``, which the last step (or epoch) has.
    """
    if training.schedule == "constant":
        return training.learning_rate
    by_step = training.schedule_every == "step"
    time, per_epoch = (step, steps_per_epoch) if by_step else (step // steps_per_epoch, 1)
    warmup = training.warmup_epochs * per_epoch
    peak = training.peak_learning_rate
    if time < warmup:
        return training.learning_rate + (peak - training.learning_rate) * time / warmup
    total = training.schedule_length * per_epoch
    progress = min((time - warmup) / max(total - warmup - 1, 1), 1.0)
    final = training.final_learning_rate
    return final + (peak - final) * (1 + math.cos(math.pi * progress)) / 2


def next_mark(training: TrainingConfig, position: int, per_epoch: int) -> int:
    """Return the position within the epoch at which a run evaluates next; the last is its end."""
    parts = training.evaluations_per_epoch
    marks = (round(part * per_epoch / parts) for part in range(1, parts + 1))
    return next(mark for mark in marks if mark > position)


def has_ended(training: TrainingConfig, metrics: Sequence[Mapping[str, Any]]) -> bool:
    """Return whether a run with these evaluations takes no further step.

    With ``training.patience`` it ends at the first evaluation after a whole epoch at which Σ learning rate is
    2^patience times, up to rounding, its value when the latest training set was fitted. Before the first set
    is fitted, and for sets that the initial weights fit, patience does not count.
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
    return bool(training.patience) and last > 0 and now >= (1 - 1e-9) * 2**training.patience * last
