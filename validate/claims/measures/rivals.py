"""Simple guesses of the anchors' cosines: a useful prediction does better than each of them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from theory import Task, off_diagonal
from theory.arrays import FloatArray
from validate.claims.measures.geometry import When, avoided, distances
from validate.judge.times import early_epoch
from validate.observe import Observations
from validate.predict.predictors import Predict, Tokens


@dataclass(frozen=True)
class Rival:
    """A guess of the cosines' shape that uses no label distribution.

    Attributes
    ----------
    name : str
    pairs : callable
        (task, tokens) → one number for each pair of tokens, in the order of ``theory.off_diagonal``.
    """

    name: str
    pairs: Callable[[Task, Tokens], FloatArray]


def same_mapping(task: Task, tokens: Tokens) -> FloatArray:
    """Return 1 for a pair of anchors of one mapping and 0 for any other pair."""
    owner = [task.mapping_of(token) for token in tokens]
    return off_diagonal(np.array([[float(a == b) for b in owner] for a in owner]))


def nearness(task: Task, tokens: Tokens) -> FloatArray:
    """Return −|i − j| of every pair."""
    return -distances(tokens)


def nearness_within(task: Task, tokens: Tokens) -> FloatArray:
    """Return both at once: 0 across mappings, 1 in a table, 1 − |i − j|/n in a rule with anchors over n."""
    near = np.zeros(len(tokens) * (len(tokens) - 1) // 2)
    for mapping in task.mappings:
        span = max(mapping.anchors) - min(mapping.anchors) + 1
        own = off_diagonal(
            np.array([[float(a in mapping.anchors and b in mapping.anchors) for b in tokens] for a in tokens])
        )
        near += own * (1.0 if mapping.is_table else 1 - distances(tokens) / span)
    return near


NEARNESS = Rival("−|i − j|", nearness)
SAME_MAPPING = Rival("same mapping or not", same_mapping)
NEARNESS_WITHIN = Rival("same mapping, and −|i − j| in it", nearness_within)
RIVALS = (NEARNESS, SAME_MAPPING, NEARNESS_WITHIN)
"""The guesses with a shape. They have no scale of their own, so that both sides are scaled to fit. A guess
that is the same for all pairs, as one distribution P̄ for every token, has no shape: ``skill_over_mean``."""


def skill_over(
    run: Observations, predict: Predict, rival: Rival, tokens: Tokens, when: When = early_epoch
) -> float:
    """Return the share of a rival's squared error that a prediction of cosines avoids (``avoided``)."""
    epoch = when(run)
    observed = off_diagonal(run.cosines(tokens, epoch))
    return avoided(off_diagonal(predict(run, tokens, epoch)), rival.pairs(run.task, tokens), observed)


def skill_over_prediction(
    run: Observations, predict: Predict, other: Predict, tokens: Tokens, when: When = early_epoch
) -> float:
    """Return the share of another prediction's squared error that one avoids, both scaled to fit."""
    epoch = when(run)
    one, two = (off_diagonal(each(run, tokens, epoch)) for each in (predict, other))
    return avoided(one, two, off_diagonal(run.cosines(tokens, epoch)))


def skill_over_best(run: Observations, predict: Predict, tokens: Tokens, when: When = early_epoch) -> float:
    """Return the least skill over all rivals: positive only if the prediction beats the best of them."""
    return float(np.min([skill_over(run, predict, rival, tokens, when) for rival in RIVALS]))


def skill_over_mean(run: Observations, predict: Predict, tokens: Tokens, when: When = early_epoch) -> float:
    """Return 1 − Σ(predicted − observed)² / Σ(observed − mean)²: 0 for one number for all pairs.

    One distribution P̄ for all tokens predicts one cosine; here it is granted the observed mean.
    """
    epoch = when(run)
    observed = off_diagonal(run.cosines(tokens, epoch))
    spread = float(((observed - observed.mean()) ** 2).sum())
    error = float(((off_diagonal(predict(run, tokens, epoch)) - observed) ** 2).sum())
    return 1 - error / spread if spread > 0 else float("nan")


def moved(run: Observations, tokens: Tokens, when: When = early_epoch) -> float:
    """Return the root mean square change of the pairs' cosines since the first snapshot."""
    change = run.cosines(tokens, when(run)) - run.cosines(tokens, run.epochs[0])
    return float(np.sqrt(np.mean(off_diagonal(change) ** 2)))
