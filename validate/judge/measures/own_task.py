"""Measures of a run of any task: whether it learned, and whether its prediction can be right or wrong."""

from __future__ import annotations

import math

import numpy as np

from theory import marginal_distribution, off_diagonal
from theory.display import ranges
from validate.observe import Observations
from validate.observe.times import curve, learned_part
from validate.predict.predictors import from_uniform, training_labels

PREDICTION = "P^s - u"
"""The prediction on trial, whatever does best on some runs: the drive of eq. 5 and 8, known from the task."""
_ROUNDING = 1e-12
"""Of cosines and shares that are equal; the correlations of ``compare.measures`` have the same limit."""


def above_guessing(run: Observations, accuracy: float | None = None) -> float:
    """Return a training accuracy as a share of the way from guessing to all right; a run's best by default.

    A guess always names the commonest label. The ledger's one half is one half of the way up from there.
    """
    if accuracy is None:
        accuracy = float(np.nanmax(curve(run, "accuracy", learned_part(run))[1]))
    guess = float(marginal_distribution(run.task, held_out=True).max())
    return (accuracy - guess) / (1 - guess) if guess < 1 else math.nan


def undecidable(run: Observations) -> str:
    """Return why the prediction of a run's task can be neither right nor wrong; empty if it can be."""
    task = run.task
    if len(task.anchors) < 3:
        return "a task with fewer than three anchors has no cosines to predict"
    excess = np.abs(training_labels(task, task.anchors) - 1 / task.vocab_size).max(axis=1)
    if flat := [token for token, size in zip(task.anchors, excess, strict=True) if size <= _ROUNDING]:
        frequent = f"every label is as frequent with {ranges(flat)}"
        return f"{frequent}, so that {PREDICTION} is zero and has no cosine"
    predicted = off_diagonal(from_uniform(run, task.anchors))
    if np.ptp(predicted) <= _ROUNDING:
        same = f"{PREDICTION} predicts {predicted.mean():.2f} for every pair of anchors"
        return f"{same}, and nothing correlates with a constant"
    return ""
