"""Measures of how embeddings lie to each other, and of what predicts it."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import lru_cache

import numpy as np

from theory import Task, cosine_matrix, eq14_embedding, fit_width, off_diagonal, principal_components
from theory.arrays import FloatArray
from validate.judge.bounds import Bound, Value
from validate.judge.compare import measures
from validate.judge.condition import LARGE, SMALL, Seed
from validate.judge.measures.learning import least_of_variants
from validate.judge.measures.order import spearman
from validate.judge.times import early_epoch, has_learned, last_epoch
from validate.observe import Observations
from validate.predict.predictors import Predict, Tokens, from_eq14, from_uniform

When = Callable[[Observations], int]
NO_FALL = 1 / 64
"""A share of the predicted fall below which there is none; a rise with distance counts as none as well."""


def chosen(run: Observations, tokens: Tokens | str) -> Tokens:
    """Return tokens of a run's task: those given, or "reasoning anchors", "memory anchors", "keys", "all"."""
    if not isinstance(tokens, str):
        return tokens
    task = run.task
    named: dict[str, Tokens] = {
        "reasoning anchors": task.reasoning_anchors,
        "memory anchors": task.memory_anchors,
        "keys": tuple(task.keys),
    }
    return named.get(tokens, task.anchors)


def distances(tokens: Sequence[int]) -> FloatArray:
    """Return |s_i − s_j| of every pair, each once."""
    values = np.array(tokens, np.float64)
    return off_diagonal(np.abs(values[:, None] - values))


def distance_correlation(tokens: Sequence[int], cosines: FloatArray) -> float:
    """Return Spearman's correlation between |s_i − s_j| and the cosine over all pairs."""
    return spearman(distances(tokens), off_diagonal(cosines))


def neighbour_excess(tokens: Sequence[int], cosines: FloatArray) -> float:
    """Return the mean cosine of the nearest pairs minus that of the farthest."""
    apart, pairs = distances(tokens), off_diagonal(cosines)
    return float(pairs[apart == apart.min()].mean() - pairs[apart == apart.max()].mean())


def ordering(run: Observations, when: When = early_epoch) -> float:
    """Return how the reasoning anchors' cosine goes with their distance: −1 if it always falls."""
    tokens = run.task.reasoning_anchors
    return distance_correlation(tokens, run.cosines(tokens, when(run)))


def nearest_excess(run: Observations, when: When = early_epoch) -> float:
    """Return the mean cosine of the nearest reasoning anchors minus that of the farthest."""
    tokens = run.task.reasoning_anchors
    return neighbour_excess(tokens, run.cosines(tokens, when(run)))


def share_of_fall(run: Observations, when: When = early_epoch) -> float:
    """Return the fall of the cosine with distance as a multiple of the fall that P^s − u predicts."""
    tokens = run.task.reasoning_anchors
    predicted = neighbour_excess(tokens, from_uniform(run, tokens))
    return neighbour_excess(tokens, run.cosines(tokens, when(run))) / predicted


def fall_mismatch(run: Observations) -> Value:
    """Return |log2| of that multiple early: 0 for the predicted fall; for next to none, a lower bound."""
    share = share_of_fall(run)
    return abs(math.log2(share)) if share > NO_FALL else Bound(low=-math.log2(NO_FALL))


def mean_cosine(run: Observations, tokens: Tokens | str, when: When = early_epoch) -> float:
    """Return the mean cosine over the pairs of some anchors."""
    return float(off_diagonal(run.cosines(chosen(run, tokens), when(run))).mean())


def mean_size(run: Observations, tokens: Tokens | str, when: When = early_epoch) -> float:
    """Return the mean absolute cosine over the pairs of some anchors."""
    return float(np.abs(off_diagonal(run.cosines(chosen(run, tokens), when(run)))).mean())


def memory_excess(run: Observations, when: When = early_epoch) -> float:
    """Return how much more alike the memory anchors are than the reasoning anchors, in mean cosine."""
    return mean_cosine(run, "memory anchors", when) - mean_cosine(run, "reasoning anchors", when)


def memory_gap(seed: Seed, when: When = last_epoch) -> float:
    """Return how far the mean cosines among memory anchors at γ = 0.8 and 0.3 of one variant are apart."""
    by = {rate: mean_cosine(run, "memory anchors", when) for (_, rate), run in seed.items()}
    return abs(by[SMALL] - by[LARGE])


def least_memory_gap(seed: Seed) -> float:
    """Return the least of these over a seed's variants."""
    return least_of_variants(memory_gap, seed)


def correlation(
    run: Observations, predict: Predict = from_uniform, tokens: Tokens | str = "all", when: When = early_epoch
) -> float:
    """Return Pearson's correlation of predicted and observed cosines over the pairs of some anchors."""
    return float(measures(*_both(run, predict, tokens, when))["pearson"])


def skill(
    run: Observations, predict: Predict = from_uniform, tokens: Tokens | str = "all", when: When = early_epoch
) -> float:
    """Return 1 − Σ(predicted − observed)² / Σ observed² over pairs: 0 for a prediction of all zeros."""
    p, o = _both(run, predict, tokens, when)
    return 1 - float(((p - o) ** 2).sum() / (o**2).sum())


def lowest_row_correlation(
    run: Observations, predict: Predict = from_eq14, when: When = early_epoch
) -> float:
    """Return the lowest over reasoning anchors of Pearson's correlation of a row without its diagonal."""
    tokens = run.task.reasoning_anchors
    n, epoch = len(tokens), when(run)
    off = ~np.eye(n, dtype=bool)
    rows = [m[off].reshape(n, n - 1) for m in (predict(run, tokens, epoch), run.cosines(tokens, epoch))]
    return float(measures(*rows)["pearson"].min())


def near_error(run: Observations, predict: Predict = from_eq14, when: When = early_epoch) -> float:
    """Return the root mean square error over reasoning anchors at most half the greatest distance apart."""
    tokens = run.task.reasoning_anchors
    apart = distances(tokens)
    p, o = _both(run, predict, tokens, when)
    near = apart <= apart.max() / 2
    return float(np.sqrt(np.mean((p - o)[near] ** 2)))


def fitted_width(run: Observations, when: When = early_epoch) -> float:
    """Return the width of eq. 14 that fits a run's own reasoning anchors best."""
    tokens = run.task.reasoning_anchors
    return fit_width(run.task, tokens, run.cosines(tokens, when(run)))


def explained_by_others_width(runs: Sequence[Sequence[Observations]]) -> list[Value]:
    """Return for each seed the share of the pairs' variance that eq. 14 explains early, fitted on the others.

    1 − Σ(predicted − observed)² / Σ(observed − mean)²; its width is fitted to the other seeds' cosines, so
    that no run is judged by a fit to itself. NaN for fewer than three seeds, since the values of two come
    from one pair of matrices, and for a run that learned nothing.
    """
    alone = [run for (run,) in runs]
    task, tokens = alone[0].task, alone[0].task.reasoning_anchors
    matrices = [run.cosines(tokens, early_epoch(run)) for run in alone]
    if len(alone) < 3:
        return [math.nan] * len(alone)
    found: list[Value] = []
    for i, (run, matrix) in enumerate(zip(alone, matrices, strict=True)):
        width = fit_width(task, tokens, np.array([m for j, m in enumerate(matrices) if j != i]))
        predicted = cosine_matrix(eq14_embedding(task, tokens, width=width))
        share = explained(off_diagonal(predicted), off_diagonal(matrix))
        found.append(share if has_learned(run) else math.nan)
    return found


def avoided(predicted: FloatArray, rival: FloatArray, observed: FloatArray) -> float:
    """Return the share of a rival's squared error that a prediction avoids, both with their best line.

    1 − (1 − r²)/(1 − r²_rival): 1 for a perfect shape, 0 for one as good as the rival's. A rival that is the
    same for all pairs explains nothing; NaN where the prediction or the observation is.
    """
    own, other = (measures(guess, observed)["pearson"] for guess in (predicted, rival))
    # A prediction that falls where the observation rises explains nothing, though its mirror image would.
    explained = [float(np.clip(np.nan_to_num(r), 0, 1)) ** 2 for r in (own, other)]
    left = 1 - explained[1]
    return 1 - (1 - explained[0]) / left if left > 0 and np.isfinite(own) else float("nan")


def explained(predicted: FloatArray, observed: FloatArray) -> float:
    """Return 1 − Σ(predicted − observed)² / Σ(observed − mean)²."""
    return 1 - float(((predicted - observed) ** 2).sum() / ((observed - observed.mean()) ** 2).sum())


def plane_order(run: Observations, group: str, when: When = early_epoch) -> float:
    """Return how distance in the plane of the first two components goes with numerical distance (Fig. 5B).

    Spearman's correlation over all pairs of the keys or the reasoning anchors. The components are those of
    the whole embedding. An order along a bent line counts as well as one along a straight one.
    """
    tokens = chosen(run, group)
    index = {token: i for i, token in enumerate(run.tokens)}
    points = run.at("pca", when(run))[[index[t] for t in tokens], :2]
    return spearman(distances(tokens), _pair_distances(points))


def plane_distances(run: Observations, group: str) -> FloatArray:
    """Return every pair's early distance in a plane: the anchors' own, and for keys that of all tokens."""
    if group == "keys":
        return _pair_distances(run.at("pca", early_epoch(run))[-len(run.task.keys) :, :2])
    return _pair_distances(run.at("pca_anchors", early_epoch(run))[:, :2])


@lru_cache(maxsize=8)
def eq14_plane_distances(task: Task, group: str) -> FloatArray:
    """Return the same of eq. 14 (Fig. 5D): of the anchors, and of the keys among keys and anchors."""
    tokens = task.reasoning_anchors + (task.keys if group == "keys" else ())
    points = principal_components(eq14_embedding(task, tokens), 2).coordinates
    return _pair_distances(points[-(len(task.keys) if group == "keys" else len(tokens)) :])


def plane_correlation(run: Observations, group: str) -> float:
    """Return Pearson's correlation of these distances, eq. 14 against the early embedding."""
    return float(measures(eq14_plane_distances(run.task, group), plane_distances(run, group))["pearson"])


def plane_skill(run: Observations, group: str) -> float:
    """Return the share of the error of |i − j| that eq. 14 avoids in predicting these distances."""
    straight = distances(chosen(run, group))
    return avoided(eq14_plane_distances(run.task, group), straight, plane_distances(run, group))


def _pair_distances(points: FloatArray) -> FloatArray:
    return off_diagonal(np.linalg.norm(points[:, None] - points, axis=-1))


def _both(
    run: Observations, predict: Predict, tokens: Tokens | str, when: When
) -> tuple[FloatArray, FloatArray]:
    named, epoch = chosen(run, tokens), when(run)
    return off_diagonal(predict(run, named, epoch)), off_diagonal(run.cosines(named, epoch))
