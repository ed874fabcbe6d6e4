"""Simple guesses of the anchors' cosines: a useful prediction does better than each of them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from theory import Task, off_diagonal
from theory.arrays import FloatArray
from validate.judge.measures.geometry import When, avoided, chosen, distances
from validate.judge.times import early_epoch
from validate.observe import Observations
from validate.predict.predictors import Predict, Tokens, from_uniform


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
    run: Observations, predict: Predict, rival: Rival, tokens: Tokens | str, when: When = early_epoch
) -> float:
    """Return the share of a rival's squared error that a prediction of cosines avoids (``avoided``)."""
    named, epoch = chosen(run, tokens), when(run)
    observed = off_diagonal(run.cosines(named, epoch))
    return avoided(off_diagonal(predict(run, named, epoch)), rival.pairs(run.task, named), observed)


def skill_over_rival(run: Observations, rival: str) -> float:
    """Return that share for P^s − u and all anchors, over the rival of a name."""
    return skill_over(run, from_uniform, next(r for r in RIVALS if r.name == rival), "all")


def skill_over_prediction(
    run: Observations, predict: Predict, other: Predict, tokens: Tokens | str, when: When = early_epoch
) -> float:
    """Return the share of another prediction's squared error that one avoids, both scaled to fit."""
    named, epoch = chosen(run, tokens), when(run)
    one, two = (off_diagonal(p(run, named, epoch)) for p in (predict, other))
    return avoided(one, two, off_diagonal(run.cosines(named, epoch)))


def skill_over_best(
    run: Observations, predict: Predict = from_uniform, tokens: Tokens | str = "all", when: When = early_epoch
) -> float:
    """Return the least skill over all rivals: positive only if the prediction beats the best of them."""
    return float(np.min([skill_over(run, predict, rival, tokens, when) for rival in RIVALS]))


def skill_over_mean(
    run: Observations, predict: Predict = from_uniform, tokens: Tokens | str = "all", when: When = early_epoch
) -> float:
    """Return 1 − Σ(predicted − observed)² / Σ(observed − mean)²: 0 for one number for all pairs.

    One distribution P̄ for all tokens predicts one cosine; here it is granted the observed mean.
    """
    named, epoch = chosen(run, tokens), when(run)
    observed = off_diagonal(run.cosines(named, epoch))
    spread = float(((observed - observed.mean()) ** 2).sum())
    error = float(((off_diagonal(predict(run, named, epoch)) - observed) ** 2).sum())
    return 1 - error / spread if spread > 0 else float("nan")


def moved(run: Observations, tokens: Tokens | str = "all", when: When = early_epoch) -> float:
    """Return the root mean square change of the pairs' cosines since the first snapshot."""
    named = chosen(run, tokens)
    change = run.cosines(named, when(run)) - run.cosines(named, run.epochs[0])
    return float(np.sqrt(np.mean(off_diagonal(change) ** 2)))
