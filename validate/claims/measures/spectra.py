"""Measures of the weight matrices' spectra over γ."""

from __future__ import annotations

import math

import numpy as np

from validate.claims.measures.geometry import When
from validate.claims.measures.learning import Seed
from validate.claims.measures.order import spearman
from validate.times import early_epoch

_NAME = "effective_rank/"


def rank_trends(seed: Seed, when: When = early_epoch) -> dict[str, float]:
    """Return for each weight matrix Spearman's correlation of γ and effective rank."""
    runs = list(seed.values())
    names = [name for name in runs[0].arrays if name.startswith(_NAME)]
    rates = [run.config.init_rate for run in runs]
    return {
        name.removeprefix(_NAME): spearman(rates, [float(run.at(name, when(run))) for run in runs])
        for name in names
    }


def weakest_rank_trend(seed: Seed, when: When = early_epoch) -> float:
    """Return the greatest of these correlations: that of the matrix whose rank falls least."""
    return max(rank_trends(seed, when).values(), default=math.nan)


def share_of_falling(seed: Seed, threshold: float, when: When = early_epoch) -> float:
    """Return the share of matrices whose correlation is at most ``threshold``."""
    return float(np.mean([value <= threshold for value in rank_trends(seed, when).values()]))
