"""Measures of how well the anchors' cosines are predicted, absolutely and against simpler guesses.

A guess knows no label distribution and has no scale of its own, so prediction and guess are both scaled to
fit before they are compared. A guess that is the same for all pairs, such as one distribution P̄ for every
token, has no shape.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial

import numpy as np
import numpy.typing as npt

from theory import Task, fit_width, off_diagonal
from theory.edge.arrays import FloatArray
from validate.judge.claim import Seed
from validate.judge.measures.agreement import CONSTANT, measures, pearson, r_squared, skill_over_zeros
from validate.judge.measures.agreement import correlation as along
from validate.judge.measures.geometry import (
    When,
    chosen,
    cosine_pairs,
    distances,
    eq14_plane_distances,
    plane_distances,
)
from validate.judge.settings import SMALL
from validate.observe import Observations
from validate.observe.times import early_epoch
from validate.predict.predictors import ALL, Predict, Tokens, from_eq14, from_uniform


def _within_mappings(task: Task, tokens: Tokens, *, by_distance: bool) -> FloatArray:
    """Return 0 for pairs across mappings, else 1, or ``by_distance`` in a rule's n anchors 1 − |i − j|/n."""
    near = np.zeros(len(tokens) * (len(tokens) - 1) // 2)
    for mapping in task.mappings:
        span = max(mapping.anchors) - min(mapping.anchors) + 1
        inside = np.isin(tokens, mapping.anchors).astype(float)
        fall = distances(tokens) / span if by_distance and not mapping.is_table else 0.0
        near += off_diagonal(np.outer(inside, inside)) * (1 - fall)
    return near


RIVALS: dict[str, Callable[[Task, Tokens], FloatArray]] = {
    "−|i − j|": lambda task, tokens: -distances(tokens),
    "same mapping or not": partial(_within_mappings, by_distance=False),
    "same mapping, and −|i − j| in it": partial(_within_mappings, by_distance=True),
}
"""Guesses of the cosine's shape: (task, tokens) → one number a pair, as ``off_diagonal`` orders them."""


def avoided(predicted: FloatArray, rival: FloatArray, observed: FloatArray) -> float:
    """Return the share of a rival's squared error that a prediction avoids, each with its best line.

    1 − (1 − r²)/(1 − r²_rival), exactly 0 where both have one shape. A rival that is the same for all pairs
    explains nothing; where the prediction or the observation is, the result is NaN.
    """
    correlations = pearson(predicted, observed), pearson(rival, observed)
    if correlations[1] < 1 and pearson(predicted, rival) > 1 - CONSTANT:
        return 0.0  # Rounding would decide which is better.
    # A prediction that falls where the observation rises explains nothing, though its mirror image would.
    explained, by_rival = (float(np.clip(np.nan_to_num(r), 0, 1)) ** 2 for r in correlations)
    return 1 - (1 - explained) / (1 - by_rival) if by_rival < 1 and np.isfinite(correlations[0]) else math.nan


def _both(
    run: Observations, predict: Predict, tokens: Tokens | str, when: When
) -> tuple[FloatArray, FloatArray]:
    """Return the predicted and the observed cosine of every pair."""
    return off_diagonal(predict(run, chosen(run, tokens), when(run))), cosine_pairs(run, tokens, when)


def correlation(
    run: Observations, predict: Predict = from_uniform, tokens: Tokens | str = ALL, when: When = early_epoch
) -> float:
    """Return Pearson's correlation of predicted and observed cosines over the pairs of some anchors."""
    return pearson(*_both(run, predict, tokens, when))


def skill(
    run: Observations,
    predict: Predict = from_uniform,
    tokens: Tokens | str = ALL,
    when: When = early_epoch,
    *,
    over: str | Predict = "zeros",
) -> float:
    """Return the share of a squared error over the pairs of some anchors that a prediction avoids.

    ``over`` says whose error: of "zeros" (orthogonal anchors), of the observed "mean", or with both sides
    scaled to fit (``avoided``) of a rival, of the "best" of all rivals, or of another prediction.
    """
    predicted, observed = _both(run, predict, tokens, when)
    if over == "zeros":
        return float(skill_over_zeros(predicted, observed))
    if over == "mean":
        return r_squared(observed, predicted)
    if not isinstance(over, str):
        return avoided(predicted, _both(run, over, tokens, when)[0], observed)
    guesses = [
        RIVALS[name](run.task, chosen(run, tokens)) for name in (RIVALS if over == "best" else (over,))
    ]
    return float(np.min([avoided(predicted, guess, observed) for guess in guesses]))


PAIRS = ("within memory", "within reasoning", "across")
"""The pairs of anchors by the kind of both."""


def pair_kinds(task: Task) -> dict[str, npt.NDArray[np.bool_]]:
    """Return which pairs of anchors, in the order of ``off_diagonal``, are of each kind that there is."""
    memory = np.isin(task.anchors, task.memory_anchors)
    i, j = np.triu_indices(len(memory), 1)
    kinds = (memory[i] & memory[j], ~memory[i] & ~memory[j], memory[i] != memory[j])
    return {name: chosen for name, chosen in zip(PAIRS, kinds, strict=True) if chosen.any()}


def exchanged_excess(run: Observations, pairs: str, n: int = 200) -> float:
    """Return Pearson of P^s − u and the early cosines, less its mean with P^s exchanged among anchors.

    Each of ``n`` permutations gives every anchor of a rule another one's distribution; within a table all
    have the same. ``pairs`` are of one of the ``PAIRS``.
    """
    task, tokens, epoch = run.task, run.task.anchors, early_epoch(run)
    predicted, observed = from_uniform(run, tokens, epoch), off_diagonal(run.cosines(tokens, epoch))
    rules = [np.flatnonzero(np.isin(tokens, m.anchors)) for m in task.mappings if not m.is_table]
    rng, orders = np.random.default_rng(0), np.tile(np.arange(len(tokens)), (n + 1, 1))
    for order in orders[1:]:
        for rule in rules:
            order[rule] = rule[rng.permutation(len(rule))]
    among = pair_kinds(task)[pairs]
    i, j = (orders[:, of[among]] for of in np.triu_indices(len(tokens), 1))
    guesses = predicted[i, j]
    plain, *exchanged = along(guesses, np.broadcast_to(observed[among], guesses.shape))
    return float(plain - np.mean(exchanged))


def worst_correlation(run: Observations, *, exchanged: bool = False) -> float:
    """Return the lowest early Pearson of P^s − u over the kinds of pairs that a rule's anchor is in.

    With ``exchanged`` each is ``exchanged_excess``; NaN for a task without a rule.
    """
    predicted, observed = _both(run, from_uniform, ALL, early_epoch)
    kinds = {name: chosen for name, chosen in pair_kinds(run.task).items() if name != PAIRS[0]}
    correlations = (
        exchanged_excess(run, name) if exchanged else pearson(predicted[chosen], observed[chosen])
        for name, chosen in kinds.items()
    )
    return min((value for value in correlations if math.isfinite(value)), default=math.nan)


# --- eq. 14 ---------------------------------------------------------------------------------------------


def lowest_row_correlation(run: Observations, when: When = early_epoch) -> float:
    """Return the lowest over reasoning anchors of Pearson of eq. 14's row, the diagonal left out."""
    tokens, epoch = run.task.reasoning_anchors, when(run)
    n = len(tokens)
    off = ~np.eye(n, dtype=bool)
    rows = [m[off].reshape(n, n - 1) for m in (from_eq14(run, tokens, epoch), run.cosines(tokens, epoch))]
    return float(measures(*rows)["pearson"].min())


def near_error(run: Observations, when: When = early_epoch) -> float:
    """Return eq. 14's RMS error over reasoning anchors at most half the greatest distance apart."""
    apart = distances(run.task.reasoning_anchors)
    p, o = _both(run, from_eq14, "reasoning anchors", when)
    return float(np.sqrt(np.mean((p - o)[apart <= apart.max() / 2] ** 2)))


def fitted_width(run: Observations, when: When = early_epoch) -> float:
    """Return the width of eq. 14 that fits a run's own reasoning anchors best."""
    tokens = run.task.reasoning_anchors
    return fit_width(run.task, tokens, run.cosines(tokens, when(run)))


def plane_skill(run: Observations, group: str) -> float:
    """Return the share of the error of |i − j| that eq. 14 avoids in predicting distances in the plane."""
    straight = distances(chosen(run, group))
    return avoided(eq14_plane_distances(run.task, group), straight, plane_distances(run, group))


# --- interventions: one seed's intervened run beside its plain one --------------------------------------
# They look at the reasoning anchors alone: over all anchors the contrast of the two kinds, which no
# intervention touches, would dominate a correlation. "Early" is defined by reasoning accuracy, which an
# intervention may take away, so the plain run sets the time, and the last snapshot up to it is used.


def _matched(seed: Seed, variant: str, labels: str) -> tuple[Observations, Predict, str, When]:
    """Return a variant's run, a prediction of it, the predicted tokens and the time.

    The prediction is the plain run's early cosines for empty ``labels``, else P^s − u of a variant's labels.
    """
    plain = seed["plain", SMALL]
    early = early_epoch(plain)

    def predict(_: Observations, tokens: Tokens, __: int) -> FloatArray:
        return from_uniform(seed[labels, SMALL], tokens, early) if labels else plain.cosines(tokens, early)

    when = max(epoch for epoch in seed[variant, SMALL].epochs if epoch <= early)
    return seed[variant, SMALL], predict, "reasoning anchors", lambda _: when


def intervened_correlation(seed: Seed, variant: str, labels: str = "") -> float:
    """Return Pearson's correlation of a variant's cosines with the plain run's or P^s − u of ``labels``."""
    return correlation(*_matched(seed, variant, labels))


def intervened_skill(seed: Seed, variant: str, labels: str = "") -> float:
    """Return the skill of that prediction over the best rival."""
    return skill(*_matched(seed, variant, labels), over="best")


def geometry_change(seed: Seed, variant: str) -> float:
    """Return the root mean square difference of a variant's and the plain run's cosines."""
    plain, changed = _both(*_matched(seed, variant, ""))
    return float(np.sqrt(np.mean((changed - plain) ** 2)))


def changed_labels_better(seed: Seed, variant: str, changed: str) -> float:
    """Return the skill of the changed labels' P^s − u minus that of the plain ones, on a variant."""
    return skill(*_matched(seed, variant, changed)) - skill(*_matched(seed, variant, "plain"))
