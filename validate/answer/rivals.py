"""Simple guesses of the anchors' cosines: a prediction of any worth does better than each of them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from theory import Task, off_diagonal
from validate.claims.measures.geometry import When, distances
from validate.compare import measures
from validate.observe import Observations
from validate.predictors import Predict, Tokens
from validate.times import early_epoch

FloatArray = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Rival:
    """A guess of the cosines' shape that knows no label distribution.

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


NEARNESS = Rival("−|i − j|", nearness)
SAME_MAPPING = Rival("same mapping or not", same_mapping)
RIVALS = (NEARNESS, SAME_MAPPING)
"""The guesses with a shape. They have no scale of their own, so that both sides are scaled to fit."""


def skill_over(
    run: Observations, predict: Predict, rival: Rival, tokens: Tokens, when: When = early_epoch
) -> float:
    """Return the share of a rival's squared error that a prediction avoids, both with their best line.

    1 − (1 − r²)/(1 − r²_rival): 1 for a perfect shape, 0 for one as good as the rival's. A rival that is the
    same for all pairs explains nothing; NaN where the prediction or the observation is.
    """
    epoch = when(run)
    observed = off_diagonal(run.cosines(tokens, epoch))
    own = measures(off_diagonal(predict(run, tokens, epoch)), observed)["pearson"]
    other = measures(rival.pairs(run.task, tokens), observed)["pearson"]
    # A prediction that falls where the observation rises explains nothing, though its mirror image would.
    explained = [float(np.clip(np.nan_to_num(r), 0, 1)) ** 2 for r in (own, other)]
    left = 1 - explained[1]
    return 1 - (1 - explained[0]) / left if left > 0 and np.isfinite(own) else float("nan")


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
