"""The two conditions on the phase diagrams, as docs/configs/phases-small-transformer.toml states them."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from phases_runs import Kept
from scipy.special import ndtri

from sim.config.run import MemberConfig
from theory.arrays import FloatArray
from validate.claims.measures.order import spearman
from validate.judge.bounds import ends
from validate.sweeps.searching.measures import MEASURES

MEASURE = "matched_test_accuracy"
FEWEST_RUNS, FEWEST_SCALES = 6, 4
"""Runs with a value, and values of γ among them, that a column needs."""
FIELLER = 1.06
LEVEL = 0.95
SAMPLES = 2000
AXES: dict[str, Callable[[MemberConfig], Any]] = {
    "γ": lambda config: config.init_rate,
    "learning rate": lambda config: config.training.learning_rate,
    "norm": lambda config: getattr(config.model, "norm", None),
}
"""What may explain the measure, and its value in a run."""

Valued = tuple[MemberConfig, float]
"""A run's configuration and its measure."""


@dataclass(frozen=True)
class Interval:
    """An estimate and its 95 % interval; NaN where there is none."""

    value: float
    low: float
    high: float

    @property
    def side(self) -> str:
        """Whether all of the interval is above 0 or below it."""
        if math.isnan(self.low):
            return "none"
        return "above" if self.low > 0 else "below" if self.high < 0 else "neither"

    @property
    def mirrored(self) -> Interval:
        """The interval reflected about the value: the basic bootstrap's, if this is the percentiles'."""
        return Interval(self.value, 2 * self.value - self.high, 2 * self.value - self.low)

    def __str__(self) -> str:
        none = math.isnan(self.low)
        return "–" if none else f"{self.value:.2f} [{self.low:.2f}, {self.high:.2f}]"


NONE = Interval(math.nan, math.nan, math.nan)


def valued(kept: Kept) -> list[Valued]:
    """Return the complete runs of a sweep that have the measure, with its value."""
    of = MEASURES[MEASURE].of_complete
    found = [(config, ends(of(config, metrics))[0]) for config, metrics in kept.runs]
    return [(config, value) for config, value in found if not math.isnan(value)]


def columns(runs: Sequence[Valued]) -> dict[tuple[Any, float], list[Valued]]:
    """Return the runs of each norm and learning rate."""
    found: dict[tuple[Any, float], list[Valued]] = defaultdict(list)
    for config, value in runs:
        found[AXES["norm"](config), AXES["learning rate"](config)].append((config, value))
    return found


def growth(runs: Sequence[Valued]) -> Interval:
    """Return condition 1 of one column: Spearman's correlation of γ and the measure, over its runs."""
    scales = [config.init_rate for config, _ in runs]
    if len(runs) < FEWEST_RUNS or len(set(scales)) < FEWEST_SCALES:
        return NONE
    return fisher(spearman(scales, [value for _, value in runs]), len(runs))


def fisher(correlation: float, n: int) -> Interval:
    """Return a rank correlation of n pairs with its interval by Fisher's transformation."""
    # At ±1 the transformation is infinite, and the interval that point.
    z = math.atanh(min(max(correlation, -1 + 1e-12), 1 - 1e-12))
    half = float(ndtri((1 + LEVEL) / 2)) * math.sqrt(FIELLER / (n - 3))
    return Interval(correlation, math.tanh(z - half), math.tanh(z + half))


def shares(runs: Sequence[Valued]) -> dict[str, float]:
    """Return the share that each axis explains by itself; NaN with too few runs."""
    cells = _cells(runs)
    return {name: float(_share(np.ones((1, len(cells))), cells, name)[0]) for name in AXES}


def advantage(runs: Sequence[Valued], rival: str) -> Interval:
    """Return condition 2: the share that γ explains less that of a rival, over bootstrap samples of cells."""
    cells = _cells(runs)
    n = len(cells)
    drawn = np.random.default_rng(0).multinomial(n, np.full(n, 1 / n), size=SAMPLES)
    # How often each cell is there: once in the runs themselves, then in each sample.
    times = np.concatenate([np.ones((1, n)), drawn])
    found = _share(times, cells, "γ") - _share(times, cells, rival)
    tail = (1 - LEVEL) / 2
    low, high = np.nanquantile(found[1:], [tail, 1 - tail]).tolist()
    return Interval(float(found[0]), low, high)


def _cells(runs: Sequence[Valued]) -> list[list[Valued]]:
    """Return the runs at each γ, rate and norm."""
    found: dict[tuple[Any, ...], list[Valued]] = defaultdict(list)
    for config, value in runs:
        found[tuple(of(config) for of in AXES.values())].append((config, value))
    return list(found.values())


def _share(times: FloatArray, cells: Sequence[Sequence[Valued]], name: str) -> FloatArray:
    """Return the adjusted R² of the means over an axis, where each cell is there so many times.

    Parameters
    ----------
    times : ndarray, shape (n_samples, n_cells)
    cells : sequence of sequences of (MemberConfig, float)
    name : str
        The axis.

    Returns
    -------
    ndarray, shape (n_samples,)
        The part of the variance that the means explain; NaN where there is none, or no run for it.
    """
    centre = np.mean([value for cell in cells for _, value in cell])
    values = [np.array([value - centre for _, value in cell]) for cell in cells]
    moments = np.array([[len(own), own.sum(), (own**2).sum()] for own in values])
    keys = [AXES[name](cell[0][0]) for cell in cells]
    member = np.array([[key == group for group in dict.fromkeys(keys)] for key in keys], np.float64)
    n, total_sum, total_squares = (times @ moments).T
    of_group, sum_of_group = (times @ (moments[:, [k]] * member) for k in (0, 1))
    explained = (sum_of_group**2 / np.maximum(of_group, 1)).sum(axis=1)
    freedom = n - (of_group > 0).sum(axis=1)
    total = total_squares - total_sum**2 / n
    with np.errstate(divide="ignore", invalid="ignore"):
        share = 1 - (total_squares - explained) / total * (n - 1) / freedom
    return np.where((freedom > 0) & (total > 0), share, np.nan)
