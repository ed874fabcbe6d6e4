"""From one value a seed to an interval and a decision.

A mean over seeds has a t-interval whose variance is *moderated*: pulled towards a prior that is fitted to
the variances of the same measure at other settings (empirical Bayes; Smyth 2004, Stat. Appl. Genet. Mol.
Biol. 3, 3). Where seeds fall into two groups their share is judged by the exact binomial distribution. An
effect is not relevant if the 1 − 2α interval lies within a margin (two one-sided tests).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.optimize import brentq
from scipy.special import digamma, polygamma, stdtr, stdtrit

LEVEL = 0.05


@dataclass(frozen=True)
class Prior:
    """What other settings say of a measure's variance over seeds: a value, and its degrees of freedom."""

    variance: float = math.nan
    freedom: float = 0.0
    most: float = math.inf
    """The degrees of freedom that a test may have: at most those of all settings together."""


NO_PRIOR = Prior()


def fit_prior(variances: Sequence[float], freedoms: Sequence[int]) -> Prior:
    """Fit a scaled inverse χ² distribution to the variances of several settings by their log moments.

    Fewer than three settings with two seeds say nothing. A variance of zero counts as a hundred-thousandth
    of the median. A few settings cannot say that all have the same variance: the prior has at most as many
    degrees of freedom as all of them together.
    """
    pairs = [(v, d) for v, d in zip(variances, freedoms, strict=True) if d > 0 and math.isfinite(v)]
    if len(pairs) < 3 or not np.median([v for v, _ in pairs]) > 0:
        return NO_PRIOR
    v, d = np.array(pairs, float).T
    v = np.maximum(v, 1e-5 * np.median(v))
    logs = np.log(v) - digamma(d / 2) + np.log(d / 2)
    excess = float(logs.var(ddof=1) - polygamma(1, d / 2).mean())
    half, most = math.inf, float(d.sum())
    if excess > 0:  # The trigamma function falls from ∞ to 0.
        half = math.exp(brentq(lambda x: float(polygamma(1, math.exp(x))) - excess, -20, 20))
    shift = digamma(half) - math.log(half) if math.isfinite(half) else 0.0
    return Prior(float(np.exp(logs.mean() + shift)), min(2 * half, most), most)


@dataclass(frozen=True)
class Mean:
    """A mean over seeds with its standard error.

    Attributes
    ----------
    value, error : float
    freedom : float
        Degrees of freedom of the variance; 0 where nothing is known of it.
    """

    value: float
    error: float
    freedom: float

    @classmethod
    def of(cls, values: Sequence[float], variance: float, prior: Prior = NO_PRIOR) -> Mean:
        """Return the mean of some values, whose variance is pulled towards a prior."""
        n, mean = len(values), float(np.mean(values))
        if n < 2:
            return cls(mean, math.nan, 0.0)
        freedom = n - 1.0
        if prior.freedom > 0:
            total = freedom + prior.freedom
            variance = (freedom * variance + prior.freedom * prior.variance) / total
            freedom = min(total, prior.most)
        return cls(mean, math.sqrt(variance / n), freedom if variance > 0 else 0.0)

    def interval(self, level: float) -> tuple[float, float] | None:
        """Return the interval that leaves out the truth at most that often; None where there is none."""
        if self.freedom == 0:
            return None
        half = float(stdtrit(self.freedom, 1 - level / 2)) * self.error
        return self.value - half, self.value + half

    def p_value(self, threshold: float) -> float:
        """Return the two-sided p-value of a threshold; NaN where there is no interval."""
        if self.freedom == 0:
            return math.nan
        return float(2 * stdtr(self.freedom, -abs(self.value - threshold) / self.error))

    def p_within(self, centre: float, margin: float) -> float:
        """Return the p-value of the two one-sided tests that the mean is within a margin."""
        if self.freedom == 0:
            return math.nan
        return float(stdtr(self.freedom, (abs(self.value - centre) - margin) / self.error))


@dataclass(frozen=True)
class Share:
    """The share of seeds that count, judged by the exact binomial distribution."""

    count: int
    of: int

    @property
    def value(self) -> float:
        """The share."""
        return self.count / self.of

    def interval(self, level: float) -> tuple[float, float]:
        """Return the Clopper–Pearson interval."""
        from scipy.stats import binomtest

        found = binomtest(self.count, self.of).proportion_ci(1 - level, method="exact")
        return float(found.low), float(found.high)

    def p_value(self, threshold: float) -> float:
        """Return the two-sided p-value of a threshold."""
        from scipy.stats import binomtest

        return float(binomtest(self.count, self.of, threshold).pvalue)

    def p_within(self, centre: float, margin: float) -> float:
        """Return 1: a few seeds never show a share to be within a margin."""
        return 1.0


def holm(p_values: Sequence[float]) -> list[float]:
    """Return p-values adjusted for their number by Holm's step-down method, in the order given."""
    adjusted, largest = [1.0] * len(p_values), 0.0
    for rank, index in enumerate(sorted(range(len(p_values)), key=p_values.__getitem__)):
        largest = max(largest, min(1.0, (len(p_values) - rank) * p_values[index]))
        adjusted[index] = largest
    return adjusted
