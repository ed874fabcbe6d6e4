"""What has to hold before it is said that the theory predicts a task's embedding.

Every threshold is the ledger's (``validate.claims.entries``), or zero where two predictions are set against
each other; none was chosen for the runs that it judges.
"""

from __future__ import annotations

import math
from dataclasses import replace
from functools import partial

import numpy as np

from theory import marginal_distribution, off_diagonal
from theory.display import ranges
from validate.claims.entries.embedding import HALF_THE_VARIANCE
from validate.claims.measures.geometry import correlation, shuffled, skill
from validate.claims.measures.rivals import RIVALS, Rival, moved, skill_over, skill_over_mean
from validate.claims.statements import Claim, Condition, Needs, each
from validate.judge.stats import COSINE, SIZE, SKILL
from validate.judge.times import HALF, curve, learned_part
from validate.observe import Observations
from validate.predict.predictors import Predict, from_uniform, training_labels

PREDICTION = "P^s - u"
"""The prediction on trial, whatever does best on some runs: the drive of eq. 5 and 8, known from the task."""
PREDICT: Predict = from_uniform
_ROUNDING = 1e-12
"""Of cosines and shares that are equal; the correlations of ``measures`` have the same limit."""
_RUNS = Needs("the runs that are compared")
"""No condition is one computed number: with one seed it has no interval."""


def _pearson(predict: Predict, run: Observations) -> float:
    return correlation(run, predict, run.task.anchors)


def pearson(run: Observations) -> float:
    """Return Pearson's correlation of predicted and observed cosines over all pairs of anchors, early."""
    return _pearson(PREDICT, run)


def _skill(run: Observations) -> float:
    return skill(run, PREDICT, run.task.anchors)


def undecidable(run: Observations) -> str:
    """Return why the prediction of a run's task can be neither right nor wrong; empty if it can be."""
    task = run.task
    if len(task.anchors) < 3:
        return ""
    excess = np.abs(training_labels(task, task.anchors) - 1 / task.vocab_size).max(axis=1)
    flat = [token for token, size in zip(task.anchors, excess, strict=True) if size <= _ROUNDING]
    if flat:
        return (
            f"every label is as frequent with {ranges(flat)}, so that {PREDICTION} is zero and has no cosine"
        )
    predicted = off_diagonal(PREDICT(run, task.anchors, 0))
    if np.ptp(predicted) <= _ROUNDING:
        mean = f"{predicted.mean():.2f}"
        return (
            f"{PREDICTION} predicts {mean} for every pair of anchors, and nothing correlates with a constant"
        )
    return ""


def learned(run: Observations) -> float:
    """Return how far above guessing a run's best training accuracy is: 0 for guessing, 1 for all right.

    A guess always names the commonest label. The ledger's one half is one half of the way up from there.
    """
    return above_guessing(run, float(np.nanmax(curve(run, "accuracy", learned_part(run))[1])))


def above_guessing(run: Observations, accuracy: float) -> float:
    """Return an accuracy on the training data as a share of the way from guessing to all right."""
    guess = float(marginal_distribution(run.task, held_out=True).max())
    return (accuracy - guess) / (1 - guess) if guess < 1 else math.nan


def _moved(run: Observations) -> float:
    return moved(run, run.task.anchors)


def _over_mean(run: Observations) -> float:
    return skill_over_mean(run, PREDICT, run.task.anchors)


def _over(rival: Rival, run: Observations) -> float:
    return skill_over(run, PREDICT, rival, run.task.anchors)


LEARNED = Condition(
    "best training accuracy, as a share of the way from guessing to all right",
    each(learned),
    ">=",
    HALF,
    (-math.inf, 1.0),
    "the ledger calls a data set fitted from one half on",
    _RUNS,
    step=1e-3,  # A share: 1 in every run says that it varies by less than a sequence.
)
LEARNED_AT_LARGE = replace(
    LEARNED,
    what=f"{LEARNED.what}, large initial weights",
    reason="a control that has learned nothing says nothing",
)
MOVED = Condition(
    "root mean square change of the anchors' cosines since the start",
    each(_moved),
    ">=",
    0.1,
    SIZE,
    "a tenth of what separates 0 from 1, as in claim 9",
    _RUNS,
)
CORRELATES = Condition(
    f"Pearson of {PREDICTION} and the observed cosine, all anchors",
    each(pearson),
    ">=",
    0.7,
    COSINE,
    f"{HALF_THE_VARIANCE}, as in claim 6",
    _RUNS,
)
SKILFUL = Condition(
    f"skill of {PREDICTION} against orthogonal anchors",
    each(_skill),
    ">=",
    0.5,
    SKILL,
    "half of the squared error that assuming orthogonal anchors leaves, as in claim 6",
    _RUNS,
)
ABOVE_MEAN = Condition(
    f"skill of {PREDICTION} against one cosine for all pairs (the mean)",
    each(_over_mean),
    ">",
    0.0,
    SKILL,
    "better than the rival",
    _RUNS,
)
ABOVE_RIVALS = tuple(
    Condition(
        f"skill of {PREDICTION} against {rival.name}",
        each(partial(_over, rival)),
        ">",
        0.0,
        SKILL,
        "better than the rival, both scaled to fit",
        _RUNS,
    )
    for rival in RIVALS
)
SCRAMBLED = replace(
    CORRELATES,
    what="the same Pearson, every anchor with another one's prediction",
    measure=each(partial(_pearson, shuffled(PREDICT))),
    role="control",
    reason="the order is gone: it has to miss the threshold",
)
AT_LARGE = replace(
    SKILFUL,
    what=f"{SKILFUL.what}, large initial weights",
    role="control",
    reason="the theory is about small initial weights: it has to miss the threshold, as in claim 6",
)
CONDITIONS = (CORRELATES, SKILFUL, ABOVE_MEAN, *ABOVE_RIVALS)
CLAIM = Claim(
    "the task's embedding is predicted",
    "Early in training, with small initial weights, the cosines of the anchors are those of P^s − u.",
    (LEARNED, MOVED, *CONDITIONS, SCRAMBLED, AT_LARGE),
)
