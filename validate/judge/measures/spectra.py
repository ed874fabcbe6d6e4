"""Measures of the weight matrices' spectra."""

from __future__ import annotations

import numpy as np

from validate.judge.condition import LARGE, SMALL, Seed
from validate.judge.measures.geometry import When, mean_size
from validate.judge.times import HALF, early_epoch, first_epoch, has_learned
from validate.observe import Observations

MATRICES: tuple[str, ...] = (
    "W_E",
    "W_pos",
    *(f"{layer}.{name}" for layer in (0, 1) for name in ("W_Q", "W_K", "W_V", "W_O", "W_in", "W_out")),
    "W_U",
)
"""The weight matrices of the Transformer of Appendix A.1."""


def rank(run: Observations, matrix: str, when: When = early_epoch) -> float:
    """Return a weight matrix's effective rank."""
    return float(run.at(f"effective_rank/{matrix}", when(run)))


def rank_ratio(seed: Seed, matrix: str, when: When = early_epoch) -> float:
    """Return a matrix's effective rank at γ = 0.8 as a share of that at γ = 0.3."""
    by = {rate: rank(run, matrix, when) for (_, rate), run in seed.items()}
    return by[SMALL] / by[LARGE]


def rank_left(run: Observations, matrix: str = "", when: When = early_epoch) -> float:
    """Return a matrix's effective rank, by default the embedding's, as a share of that before training."""
    matrix = matrix or run.config.model.embedding
    return rank(run, matrix, when) / rank(run, matrix, first_epoch)


def alike_where_low(run: Observations) -> float:
    """Return the mean |cosine| of two reasoning anchors; undefined where the rank has not fallen by half.

    Over all anchors one direction for each mapping would pass: half of the pairs are of two mappings.
    """
    return mean_size(run, "reasoning anchors") if rank_left(run) <= HALF else float("nan")


def mean_log_rank_ratio(seed: Seed) -> float:
    """Return the mean over matrices of log2(rank at γ = 0.8 / at 0.3); NaN if a run learned nothing."""
    if not all(map(has_learned, seed.values())):
        return float("nan")
    return float(np.mean([np.log2(rank_ratio(seed, matrix)) for matrix in MATRICES]))


def greatest_rank_ratio(seed: Seed) -> float:
    """Return the greatest such ratio over the matrices; NaN if a run learned nothing."""
    return max(learned_rank_ratio(seed, matrix) for matrix in MATRICES)


def learned_rank_ratio(seed: Seed, matrix: str) -> float:
    """Return a matrix's ratio; NaN if a run learned nothing."""
    return rank_ratio(seed, matrix) if all(map(has_learned, seed.values())) else float("nan")
