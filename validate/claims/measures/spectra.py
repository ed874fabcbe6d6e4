"""Measures of the weight matrices' spectra."""

from __future__ import annotations

from validate.claims.measures.geometry import When
from validate.claims.statements import LARGE, SMALL, Seed
from validate.judge.times import early_epoch, first_epoch
from validate.observe import Observations

MATRICES = (
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


def rank_left(run: Observations, matrix: str, when: When = early_epoch) -> float:
    """Return a matrix's effective rank as a share of that before training."""
    return rank(run, matrix, when) / rank(run, matrix, first_epoch)
