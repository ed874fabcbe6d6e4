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
from theory.arrays import FloatArray, IntArray
from validate.bounds import ends
from validate.claims.measures.order import spearman
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


def share(groups: Sequence[int] | IntArray, values: Sequence[float] | FloatArray) -> float:
    """Return the adjusted R² of the means of groups: the part of the variance that they explain.

    NaN where the values are equal, or there are not more of them than groups.
    """
    codes = np.unique(np.asarray(groups), return_inverse=True)[1]
    array: FloatArray = np.asarray(values)
    counts = np.bincount(codes)
    total = float(((array - array.mean()) ** 2).sum())
    freedom = len(array) - len(counts)
    if total == 0 or freedom <= 0:
        return math.nan
    means = np.bincount(codes, array) / counts
    within = float(((array - means[codes]) ** 2).sum())
    return 1 - within / total * (len(array) - 1) / freedom


def shares(runs: Sequence[Valued]) -> dict[str, float]:
    """Return the share that each axis explains by itself."""
    values = [value for _, value in runs]
    return {name: share(_groups(runs, name), values) for name in AXES}


def advantage(runs: Sequence[Valued], rival: str) -> Interval:
    """Return condition 2: the share that γ explains less that of a rival, over bootstrap samples of cells."""
    values: FloatArray = np.array([value for _, value in runs])
    ours, other = (_groups(runs, name) for name in ("γ", rival))
    cells = _cells(runs)
    rng = np.random.default_rng(0)
    found = []
    for _ in range(SAMPLES):
        drawn = np.concatenate([cells[i] for i in rng.integers(len(cells), size=len(cells))])
        found.append(share(ours[drawn], values[drawn]) - share(other[drawn], values[drawn]))
    tail = (1 - LEVEL) / 2
    low, high = np.nanquantile(found, [tail, 1 - tail]).tolist()
    return Interval(share(ours, values) - share(other, values), low, high)


def _groups(runs: Sequence[Valued], name: str) -> IntArray:
    """Return the number of each run's value on an axis."""
    return np.unique([str(AXES[name](config)) for config, _ in runs], return_inverse=True)[1]


def _cells(runs: Sequence[Valued]) -> list[list[int]]:
    """Return the numbers of the runs at each γ, rate and norm."""
    found: dict[tuple[Any, ...], list[int]] = defaultdict(list)
    for number, (config, _) in enumerate(runs):
        found[tuple(of(config) for of in AXES.values())].append(number)
    return list(found.values())
