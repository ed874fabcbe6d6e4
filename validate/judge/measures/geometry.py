"""Measures of how embeddings are arranged: order, similarity, the plane of two components, ranks."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import lru_cache

import numpy as np

from theory import Task, eq14_embedding, off_diagonal, principal_components
from theory.edge.arrays import FloatArray
from theory.edge.errors import unknown_name
from validate.judge.claim import Seed
from validate.judge.measures.agreement import pearson, spearman
from validate.judge.settings import LARGE, SMALL
from validate.observe import Observations
from validate.observe.times import early_epoch, first_epoch, fitted_sets
from validate.predict.predictors import ALL, Tokens

When = Callable[[Observations], int]
MATRICES: tuple[str, ...] = (
    "W_E",
    "W_pos",
    *(f"{layer}.{name}" for layer in (0, 1) for name in ("W_Q", "W_K", "W_V", "W_O", "W_in", "W_out")),
    "W_U",
)
"""The weight matrices of the Transformer of Appendix A.1."""


def chosen(run: Observations, tokens: Tokens | str) -> Tokens:
    """Return tokens of a run's task: those given, or those with a name that claims use."""
    if not isinstance(tokens, str):
        return tokens
    named: dict[str, Tokens] = {
        ALL: run.task.anchors,
        "reasoning anchors": run.task.reasoning_anchors,
        "memory anchors": run.task.memory_anchors,
        "keys": run.task.keys,
    }
    if tokens not in named:
        raise unknown_name("tokens", tokens, named)
    return named[tokens]


def cosine_pairs(run: Observations, tokens: Tokens | str, when: When) -> FloatArray:
    """Return the observed cosine of every pair of some anchors, each once."""
    return off_diagonal(run.cosines(chosen(run, tokens), when(run)))


def distances(tokens: Sequence[int]) -> FloatArray:
    """Return |s_i − s_j| of every pair, each once."""
    values = np.array(tokens, np.float64)
    return off_diagonal(np.abs(values[:, None] - values))


def ordering(run: Observations, when: When = early_epoch) -> float:
    """Return Spearman of the reasoning anchors' distance and cosine: −1 if the cosine always falls."""
    return spearman(distances(run.task.reasoning_anchors), cosine_pairs(run, "reasoning anchors", when))


def mean_cosine(
    run: Observations, tokens: Tokens | str, when: When = early_epoch, *, size: bool = False
) -> float:
    """Return the mean cosine over the pairs of some anchors, or with ``size`` the mean |cosine|."""
    cosines = cosine_pairs(run, tokens, when)
    return float((np.abs(cosines) if size else cosines).mean())


def memory_excess(run: Observations, when: When = early_epoch) -> float:
    """Return how much more alike the memory anchors are than the reasoning anchors, in mean cosine."""
    return mean_cosine(run, "memory anchors", when) - mean_cosine(run, "reasoning anchors", when)


def moved(run: Observations) -> float:
    """Return the root mean square change of all pairs' cosines from the first snapshot to the early one."""
    change = cosine_pairs(run, ALL, early_epoch) - cosine_pairs(run, ALL, first_epoch)
    return float(np.sqrt(np.mean(change**2)))


# --- the plane of the first two principal components (Fig. 5B, D) ---------------------------------------


def plane_order(run: Observations, group: str, when: When = early_epoch) -> float:
    """Return Spearman of numerical distance and distance in the plane of the whole embedding."""
    tokens = chosen(run, group)
    points = run.at("pca", when(run))[[run.tokens.index(t) for t in tokens], :2]
    return spearman(distances(tokens), _pair_distances(points))


def plane_distances(run: Observations, group: str) -> FloatArray:
    """Return every pair's early distance in the anchors' own plane, for keys in the plane of all tokens."""
    if group == "keys":
        return _pair_distances(run.at("pca", early_epoch(run))[-len(run.task.keys) :, :2])
    return _pair_distances(run.at("pca_anchors", early_epoch(run))[:, :2])


@lru_cache(maxsize=8)
def eq14_plane_distances(task: Task, group: str) -> FloatArray:
    """Return the distances that eq. 14 predicts: of the anchors, or of the keys among keys and anchors."""
    tokens = task.reasoning_anchors + (task.keys if group == "keys" else ())
    points = principal_components(eq14_embedding(task, tokens), 2).coordinates
    return _pair_distances(points[-(len(task.keys) if group == "keys" else len(tokens)) :])


def plane_correlation(run: Observations, group: str) -> float:
    """Return Pearson's correlation of these distances, eq. 14 against the early embedding."""
    return pearson(eq14_plane_distances(run.task, group), plane_distances(run, group))


def _pair_distances(points: FloatArray) -> FloatArray:
    return off_diagonal(np.linalg.norm(points[:, None] - points, axis=-1))


# --- effective ranks of the weight matrices (Fig. 13) ---------------------------------------------------


def _rank(run: Observations, matrix: str, epoch: int) -> float:
    return float(run.at(f"effective_rank/{matrix}", epoch))


def rank_left(run: Observations) -> float:
    """Return the embedding's early effective rank as a share of that before training."""
    matrix = run.config.model.embedding
    return _rank(run, matrix, early_epoch(run)) / _rank(run, matrix, first_epoch(run))


def rank_ratio(seed: Seed, matrix: str) -> float:
    """Return a matrix's early rank at γ = 0.8 over that at 0.3; NaN if a run learned nothing."""
    by = {rate: _rank(run, matrix, early_epoch(run)) for (_, rate), run in seed.items()}
    return by[SMALL] / by[LARGE] if all(map(fitted_sets, seed.values())) else math.nan


def mean_log_rank_ratio(seed: Seed) -> float:
    """Return the mean of log2 of this ratio over the matrices."""
    return float(np.mean([np.log2(rank_ratio(seed, matrix)) for matrix in MATRICES]))


def greatest_rank_ratio(seed: Seed) -> float:
    """Return the greatest such ratio over the matrices."""
    return max(rank_ratio(seed, matrix) for matrix in MATRICES)
