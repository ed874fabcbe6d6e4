"""When a run does what: the learning rate of each step, and the steps at which it evaluates."""

from __future__ import annotations

import math

from sim.config.run import TrainingConfig


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


def evaluation_marks(training: TrainingConfig, per_epoch: int) -> list[int]:
    """Return the positions within an epoch at which a run evaluates; the last is its end."""
    parts = training.evaluations_per_epoch
    marks = {round(part * per_epoch / parts) for part in range(1, parts + 1)}
    return sorted(marks - {0})
