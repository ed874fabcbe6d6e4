"""Tests of a mean over seeds, with a variance that other settings may inform, and of a share of seeds.

The variance is *moderated*: pulled towards a prior that is fitted to the variances of the same measure at
other settings (empirical Bayes; Smyth 2004, Stat. Appl. Genet. Mol. Biol. 3, 3). Where seeds fall into two
groups their share is judged by the exact binomial distribution. An effect is not relevant if the 1 − 2α
interval lies within a margin (two one-sided tests).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.optimize import brentq
from scipy.special import betaincinv, digamma, polygamma, stdtr, stdtrit


@dataclass(frozen=True)
class Prior:
    """The variance over seeds that other settings suggest, and its degrees of freedom.

    A test has at most ``most`` degrees of freedom: those of all settings together.
    """

    variance: float = math.nan
    freedom: float = 0.0
    most: float = math.inf


NO_PRIOR = Prior()


def fit_prior(variances: Sequence[float], freedoms: Sequence[int]) -> Prior:
    """Fit a scaled inverse χ² distribution to the variances of several settings by their log moments.

    Fewer than three settings with at least two seeds give no prior. A variance of zero counts as a
    hundred-thousandth of the median. The prior has at most as many degrees of freedom as all settings
    together, since a few settings cannot show that all have the same variance.
    """
    pairs = [(v, d) for v, d in zip(variances, freedoms, strict=True) if d > 0 and math.isfinite(v)]
    if len(pairs) < 3 or not np.median([v for v, _ in pairs]) > 0:
        return NO_PRIOR
    v, d = np.array(pairs, float).T
    v = np.maximum(v, 1e-5 * np.median(v))
    logs = np.log(v) - digamma(d / 2) + np.log(d / 2)
    excess = float(logs.var(ddof=1) - polygamma(1, d / 2).mean())
    half, most = math.inf, float(d.sum())
    if excess > 1e-8:  # The trigamma function falls from ∞ to 0, and reaches 2e-9 at the upper end.
        half = math.exp(brentq(lambda x: float(polygamma(1, math.exp(x))) - excess, -20, 20))
    shift = digamma(half) - math.log(half) if math.isfinite(half) else 0.0
    return Prior(float(np.exp(logs.mean() + shift)), min(2 * half, most), most)


@dataclass(frozen=True)
class Mean:
    """A mean over seeds with its standard error and degrees of freedom; NaN where these are unknown."""

    value: float
    error: float
    freedom: float

    @classmethod
    def of(cls, values: Sequence[float], variance: float, prior: Prior = NO_PRIOR) -> Mean:
        """Return the mean of some values, whose variance is pulled towards a prior."""
        n, mean = len(values), float(np.mean(values))
        freedom = n - 1.0
        if prior.freedom > 0:
            total = freedom + prior.freedom
            variance = (freedom * variance + prior.freedom * prior.variance) / total
            freedom = min(total, prior.most)
        # The variance of one value is NaN, even with a prior.
        return cls(mean, math.sqrt(variance / n), freedom) if variance > 0 else cls(mean, math.nan, math.nan)

    def interval(self, level: float) -> tuple[float, float] | None:
        """Return the interval that misses the truth with at most that probability; None if there is none."""
        half = float(stdtrit(self.freedom, 1 - level / 2)) * self.error
        return None if math.isnan(half) else (self.value - half, self.value + half)

    def p_value(self, threshold: float) -> float:
        """Return the two-sided p-value of a threshold; NaN where there is no interval."""
        return float(2 * stdtr(self.freedom, -abs(self.value - threshold) / self.error))

    def p_within(self, centre: float, margin: float) -> float:
        """Return the p-value of the two one-sided tests that the mean is within a margin."""
        return float(stdtr(self.freedom, (abs(self.value - centre) - margin) / self.error))


@dataclass(frozen=True)
class Proportion:
    """The share of seeds that count, judged by the exact binomial distribution."""

    count: int
    of: int

    @property
    def value(self) -> float:
        """The share."""
        return self.count / self.of

    def interval(self, level: float) -> tuple[float, float]:
        """Return the Clopper–Pearson interval."""
        k, n = self.count, self.of
        low = betaincinv(k, n - k + 1, level / 2) if k else 0.0
        high = betaincinv(k + 1, n - k, 1 - level / 2) if k < n else 1.0
        return float(low), float(high)

    def p_value(self, threshold: float) -> float:
        """Return the two-sided p-value of a threshold: of all counts that are no likelier than this one."""
        n, t = self.of, threshold
        chances = np.array([math.comb(n, k) * t**k * (1 - t) ** (n - k) for k in range(n + 1)])
        return float(min(1.0, chances[chances <= chances[self.count] * (1 + 1e-7)].sum()))

    def p_within(self, centre: float, margin: float) -> float:
        """Return 1: a few seeds never show a share to be within a margin."""
        return 1.0


def holm(p_values: Sequence[float]) -> list[float]:
    """Return p-values adjusted for their number by Holm's step-down method, in the order given."""
    p = np.asarray(p_values, float)
    order = np.argsort(p, kind="stable")
    adjusted = np.empty_like(p)
    adjusted[order] = np.minimum(1, np.maximum.accumulate(p[order] * np.arange(len(p), 0, -1)))
    return [float(p) for p in adjusted]


def step_up(p_values: Sequence[float]) -> list[float]:
    """Return p-values adjusted for their number by Benjamini and Hochberg's step-up method, in that order."""
    p = np.asarray(p_values, float)
    order = np.argsort(p)[::-1]
    adjusted = np.empty_like(p)
    adjusted[order] = np.minimum.accumulate(p[order] * len(p) / np.arange(len(p), 0, -1))
    return [float(p) for p in adjusted]
