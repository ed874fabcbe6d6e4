"""Estimates over seeds, with intervals from the standard error."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Annotated, Any

import numpy as np
import numpy.typing as npt
from scipy.special import stdtrit

from sim.runs.files import finite
from theory.checked import Entries, Share, check_shape, checked


@dataclass(frozen=True)
class Estimate:
    """A mean over seeds, and how sure it is.

    Attributes
    ----------
    mean : float
        NaN where the measure is undefined for every seed.
    low, high : float or None
        The 95 % interval of Student's t; None for a single seed, and from ``over_seeds`` for equal values
        of a measure without steps: neither says how much the measure varies.
    n : int
        Seeds for which the measure is defined.
    """

    mean: float
    low: float | None
    high: float | None
    n: int

    def as_dict(self) -> dict[str, Any]:
        """Return plain data, with None for what is undefined."""
        return {"mean": finite(self.mean), "low": self.low, "high": self.high, "n": self.n}

    def __str__(self) -> str:
        return estimate_text(self.mean, self.low, self.high)

    @property
    def brief(self) -> str:
        """The same with two decimals."""
        if math.isnan(self.mean):
            return "–"
        if self.low is None or self.high is None:
            return f"{self.mean:z.2f}"
        return f"{self.mean:z.2f} [{self.low:z.2f}, {self.high:z.2f}]"


_MOST_DECIMALS = 5
Measured = Annotated[npt.ArrayLike, Entries(undefined=True)]
UNDEFINED = "–"
"""What tables show for a number that is not defined."""
ANY, SHARE, COSINE, SIZE = (-math.inf, math.inf), (0.0, 1.0), (-1.0, 1.0), (0.0, math.inf)
SKILL = (-math.inf, 1.0)
"""The values that a measure can take: any, an accuracy's, a cosine's, a size's; a skill's or an R²'s."""


@checked
def over_seeds(values: Measured, within: Measured = ANY, level: Share = 0.95, step: float = 0.0) -> Estimate:
    """Return the mean of one value per seed with its interval, leaving undefined values out.

    Parameters
    ----------
    values : sequence of float
        One a seed.
    within : tuple of float, optional
        The values that the measure can take. The interval is cut to them, which costs no coverage: what
        is cut away cannot hold the truth.
    level : float, optional
        The coverage.
    step : float, optional
        The distance of neighbouring values that the measure can take, 0 for any (``spread``).

    Raises
    ------
    InputError
        If the values are not numbers, or the level is not between 0 and 1.
    """
    numbers = check_shape("values", values, (None,))
    low, high = check_shape("within", within, (2,))
    found = _estimate(numbers, (float(low), float(high)), level, step)
    unknown = found.n > 1 and spread(numbers[np.isfinite(numbers)], step) == 0
    return replace(found, low=None, high=None) if unknown else found


def each_over_seeds(values: npt.NDArray[np.float64], within: tuple[float, float] = ANY) -> list[Estimate]:
    """Return the estimate of ``over_seeds`` for each column of values, shape (n_seeds, n)."""
    return [_estimate(column, within, 0.95) for column in np.asarray(values, np.float64).T]


def _estimate(
    numbers: npt.NDArray[np.float64], within: tuple[float, float], level: float, step: float = 0.0
) -> Estimate:
    low, high = within
    defined = numbers[np.isfinite(numbers)]
    if len(defined) == 0:
        return Estimate(math.nan, None, None, 0)
    mean = float(defined.mean())
    if len(defined) == 1:
        return Estimate(mean, None, None, 1)
    half = _quantile((1 + level) / 2, len(defined) - 1) * math.sqrt(spread(defined, step) / len(defined))
    return Estimate(mean, max(mean - half, low), min(mean + half, high), len(defined))


def spread(values: Sequence[float] | npt.NDArray[np.float64], step: float = 0.0) -> float:
    """Return the variance of some values, NaN for one, and 0 where they differ by rounding alone.

    Equal values of a measure that takes steps say that it varies by less than a step, not that it does not
    vary: the standard deviation is taken to be at least that of rounding to steps, step/√12.
    """
    found = np.asarray(values, np.float64)
    if len(found) < 2:
        return math.nan
    # Bessel's variance; ``ndarray.var`` takes five times as long for a few numbers.
    deviations = found - found.mean()
    rounding = 8 * np.finfo(np.float64).eps * float(np.abs(found).max())
    equal = float(np.ptp(found)) <= rounding  # their mean may be off by rounding, and so no deviation 0
    variance = 0.0 if equal else float((deviations * deviations).sum()) / (len(found) - 1)
    return max(variance, step**2 / 12)


def band(values: npt.ArrayLike, within: tuple[float, float] = ANY) -> npt.NDArray[np.float64]:
    """Return mean, low and high over seeds of each entry, shape (3, ...) from (n_seeds, ...).

    The interval is that of ``over_seeds``; low and high are NaN for a single seed.
    """
    array = np.asarray(values, dtype=np.float64)
    estimates = each_over_seeds(array.reshape(len(array), -1), within)
    none = float("nan")
    rows = [(e.mean, none if e.low is None else e.low, none if e.high is None else e.high) for e in estimates]
    return np.array(rows).T.reshape(3, *array.shape[1:])


def band_text(triple: npt.NDArray[np.float64]) -> str:
    """Return mean, low and high, NaN for a single seed, as text."""
    mean, low, high = (finite(float(x)) for x in triple)
    return estimate_text(mean, low, high)


def estimate_text(mean: float | None, low: float | None, high: float | None) -> str:
    """Return a mean and its interval with as many decimals each: three, or more where it is narrow."""
    if mean is None or not math.isfinite(mean):
        return "–"
    if low is None or high is None:
        return number(mean)
    width = high - low
    decimals = max(3, 1 - math.floor(math.log10(width))) if width > 0 else math.inf
    if decimals > _MOST_DECIMALS or abs(mean) >= 1000:
        return f"{number(mean)} [{number(low)}, {number(high)}]"
    return f"{mean:z.{decimals}f} [{low:z.{decimals}f}, {high:z.{decimals}f}]"


def number(value: float) -> str:
    """Return a number with three decimals, or with two digits where three decimals would show too little."""
    return f"{value:z.3f}" if value == 0 or 0.01 <= abs(value) < 1000 else f"{value:.2g}"


@lru_cache(maxsize=64)
def _quantile(probability: float, freedom: int) -> float:
    return float(stdtrit(freedom, probability))
