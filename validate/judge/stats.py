"""From one value per seed to a mean and the interval of Student's t, and both as text."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from typing import Annotated, Any

import numpy as np
import numpy.typing as npt
from pydantic import PlainSerializer
from scipy.special import stdtrit

from sim.runs.files import finite
from theory.edge.arrays import ArrayLike, FloatArray, Real
from theory.edge.checked import checked
from theory.edge.checks import Entries
from validate.observe.observations import UNDEFINED as UNDEFINED

ANY, SHARE, COSINE, SIZE = (-math.inf, math.inf), (0.0, 1.0), (-1.0, 1.0), (0.0, math.inf)
SKILL = (-math.inf, 1.0)
"""The values that a measure can take: any, an accuracy's, a cosine's, a size's; a skill's or an R²'s."""


Number = Annotated[float, PlainSerializer(finite, float | None, when_used="json-unless-none")]
"""A number, which is null in JSON where it is undefined or infinite."""


@dataclass(frozen=True)
class Record:
    """Named numbers, texts and estimates."""

    def as_dict(self) -> dict[str, Any]:
        """Return plain data for JSON, with None for what is undefined."""
        return asdict(
            self, dict_factory=lambda items: {k: finite(v) if isinstance(v, float) else v for k, v in items}
        )


@dataclass(frozen=True)
class Estimate(Record):
    """A mean over seeds with its interval.

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

    mean: Number
    low: Number | None
    high: Number | None
    n: int

    def __str__(self) -> str:
        return estimate_text(self.mean, self.low, self.high)

    @property
    def brief(self) -> str:
        """The text with two decimals."""
        return _with_interval(self.mean, self.low, self.high, lambda x: f"{x:z.2f}")


@checked
def over_seeds(
    values: Annotated[Real[ArrayLike, " n_seeds"], Entries(undefined=True)],
    within: Annotated[Real[ArrayLike, " 2"], Entries(undefined=True)] = ANY,
) -> Estimate:
    """Return the mean of one value per seed with its interval, leaving undefined values out.

    Parameters
    ----------
    values : sequence of float
        One per seed.
    within : tuple of float, optional
        The values that the measure can take. The interval is cut to them, which costs no coverage: what
        is cut away cannot hold the truth.

    Raises
    ------
    InputError
        If the values are not numbers.
    """
    low, high = np.asarray(within, np.float64).tolist()
    (e,) = columns_over_seeds(np.asarray(values, np.float64)[:, None], (low, high))
    return Estimate(e.mean, None, None, e.n) if e.low == e.mean == e.high else e


def columns_over_seeds(values: npt.ArrayLike, within: tuple[float, float] = ANY) -> list[Estimate]:
    """Return the estimate of each column, shape (n_seeds, n); equal values have an interval without width."""
    estimates = []
    for column in np.asarray(values, np.float64).T:
        defined = column[np.isfinite(column)]
        n = len(defined)
        mean = float(defined.mean()) if n else math.nan
        interval: tuple[float | None, float | None] = (None, None)
        if n > 1:
            half = float(stdtrit(n - 1, 0.975)) * math.sqrt(spread(defined) / n)
            interval = max(mean - half, within[0]), min(mean + half, within[1])
        estimates.append(Estimate(mean, *interval, n))
    return estimates


def spread(values: Sequence[float] | FloatArray, step: float = 0.0) -> float:
    """Return the variance of values, NaN for a single or infinite one, 0 if they differ by rounding alone.

    Equal values of a measure with steps may differ by less than a step: the least is step²/12, of rounding.
    """
    numbers = np.asarray(values, np.float64)
    if len(numbers) < 2 or not np.isfinite(numbers).all():
        return math.nan
    # Bessel's variance; ``ndarray.var`` takes five times as long for a few numbers.
    deviations = numbers - numbers.mean()
    rounding = 8 * np.finfo(np.float64).eps * float(np.abs(numbers).max())
    equal = float(np.ptp(numbers)) <= rounding  # Their mean may be off by rounding.
    variance = 0.0 if equal else float((deviations * deviations).sum()) / (len(numbers) - 1)
    return max(variance, step**2 / 12)


def band(values: npt.ArrayLike, within: tuple[float, float] = ANY) -> FloatArray:
    """Return mean, low and high of each column, shape (3, n); low and high are NaN for a single seed."""
    rows = [(e.mean, e.low, e.high) for e in columns_over_seeds(values, within)]
    return np.array(rows, np.float64).reshape(-1, 3).T  # None becomes NaN.


def jackknife_of_pairs(pairs: FloatArray) -> list[float]:
    """Return one value per seed from a matrix of pairs, (n_seeds, n_seeds); NaN for fewer than three seeds.

    Their mean is the mean over pairs of different seeds. Pairs that share a seed depend on each other;
    Tukey's jackknife, which leaves out one seed at a time, takes that into account.
    """
    n = len(pairs)
    if n < 3:
        return [math.nan] * n
    different = np.where(np.eye(n, dtype=bool), 0.0, pairs)
    total = different.sum()
    without = total - different.sum(axis=0) - different.sum(axis=1)
    # n times the mean of all n (n − 1) pairs, less n − 1 times the mean of those without the seed.
    values: list[float] = (total / (n - 1) - without / (n - 2)).tolist()
    return values


# --- as text --------------------------------------------------------------------------------------------

_MOST_DECIMALS = 5


def estimate_text(mean: float | None, low: float | None, high: float | None) -> str:
    """Return a mean and its interval with equally many decimals: three, or more for a narrow interval."""
    finite_ends = [end for end in (low, high) if end is not None and math.isfinite(end)]
    width = math.inf if mean is None or not finite_ends else max(*finite_ends, mean) - min(*finite_ends, mean)
    decimals = max(3, 1 - math.floor(math.log10(width))) if 0 < width < math.inf else math.inf
    if decimals > _MOST_DECIMALS or abs(mean or 0) >= 1000:
        return _with_interval(mean, low, high, number)
    return _with_interval(mean, low, high, lambda x: f"{x:z.{decimals}f}")


def _with_interval(
    mean: float | None, low: float | None, high: float | None, text: Callable[[float], str]
) -> str:
    """Return "mean [low, high]"; an end that is None or infinite beside a finite one is open.

    Ends that print like the mean are left out.
    """
    if mean is None or not math.isfinite(mean):
        return UNDEFINED
    ends = [None if end is None or math.isinf(end) else text(end) for end in (low, high)]
    if ends in ([None, None], [text(mean)] * 2):
        return text(mean)
    left, right = ends
    return f"{text(mean)} {f'[{left}' if left else '(−∞'}, {f'{right}]' if right else '∞)'}"


def number(value: float) -> str:
    """Return a number with three decimals, or with two digits where three decimals would show too little."""
    return f"{value:z.3f}" if value == 0 or 0.01 <= abs(value) < 1000 else f"{value:.2g}"
