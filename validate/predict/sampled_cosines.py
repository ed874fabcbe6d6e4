"""Cosines of label distributions that are known from samples, with standard errors."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from theory import LabelMoments, SampledLabels, SampledValue, Task, off_diagonal, token_ratio
from theory.arrays import FloatArray
from validate.judge.stats import UNDEFINED
from validate.predict.by_distance import known_mean, means_text, pairs_apart
from validate.predict.predictors import Tokens

Statistic = Callable[[FloatArray], npt.ArrayLike]
RESOLVED = 5.0
"""A vector has a direction where its squared norm is more than this many standard errors."""
_ROUNDING = 1e-15


@dataclass(frozen=True, eq=False)
class ExactCosines:
    """Cosines without error.

    Attributes
    ----------
    matrix : ndarray, shape (n, n)
    """

    matrix: FloatArray

    def over(self, statistic: Statistic) -> SampledValue:
        """Return a statistic of the matrix; its error is 0."""
        value = np.asarray(statistic(self.matrix), dtype=np.float64)
        return SampledValue(value, np.zeros_like(value))


@dataclass(frozen=True, eq=False)
class SampledCosines:
    """Cosines of P^s − c between tokens, as ratios of unbiased inner products.

    The bias that is left is of the order of the squared relative error of a squared norm, at most a few
    percent where ``RESOLVED`` admits a cosine; an estimate may exceed 1. Rows of a vector that the samples
    do not tell from zero are NaN.

    Attributes
    ----------
    labels : SampledLabels
    rows : list of int
        Of the tokens in ``labels``.
    weights : ndarray of shape (n_tokens,) or None
        c is the mean of the P^s with these weights, or u.
    """

    labels: SampledLabels
    rows: list[int]
    weights: FloatArray | None = None

    def over(self, statistic: Statistic) -> SampledValue:
        """Return a statistic of the matrix of shape (n, n) with its standard error."""
        return self.labels.estimate(lambda moments: statistic(self._matrix(moments)))

    @functools.cached_property
    def resolved(self) -> npt.NDArray[np.bool_]:
        """Whether each vector has a direction, shape (n,)."""
        norms = self.labels.estimate(lambda moments: np.diagonal(self._inner(moments)))
        return np.asarray(norms.value > RESOLVED * norms.standard_error + _ROUNDING)

    def _inner(self, moments: LabelMoments) -> FloatArray:
        return moments.centred(self.weights)[np.ix_(self.rows, self.rows)]

    def _matrix(self, moments: LabelMoments) -> FloatArray:
        inner = self._inner(moments)
        norms = np.sqrt(np.where(self.resolved, np.diagonal(inner), np.nan))
        return inner / norms[:, None] / norms


def anchor_weights(task: Task, labels: SampledLabels) -> FloatArray:
    """Return the weights w with Σ_s w_s P^s = P̄: every sequence holds q anchors, so that w_s = r_s / q."""
    anchors = set(task.anchors)
    ratios = [token_ratio(task, s, held_out=True) if s in anchors else 0.0 for s in labels.tokens]
    return np.array(ratios) / sum(ratios)


def summary(cosines: ExactCosines | SampledCosines, tokens: Tokens) -> list[str]:
    """Return the mean over pairs of tokens, the extreme pairs, and the means at each distance, as text."""
    found = cosines.over(lambda matrix: matrix)
    apart = pairs_apart(tokens)
    means = cosines.over(
        lambda m: [known_mean(pairs) for pairs in (off_diagonal(m), *(m[at] for at in apart.values()))]
    )
    first = with_error(means.value[0], means.standard_error[0])
    rest = means_text([*apart], map(known_digits, means.value[1:], means.standard_error[1:]))
    pairs, errors = off_diagonal(found.value), off_diagonal(found.standard_error)
    if np.isnan(pairs).all():
        return [first, UNDEFINED, UNDEFINED, rest]
    ends = [int(np.nanargmin(pairs)), int(np.nanargmax(pairs))]
    return [first, *(with_error(pairs[i], errors[i]) for i in ends), rest]


def with_error(value: float, error: float) -> str:
    """Return an estimate and its standard error to two digits; exact values have four digits, NaN is "–"."""
    if math.isnan(value):
        return UNDEFINED
    if error == 0:
        return f"{value:.4g}"
    if max(abs(value), error) < 1e-3:
        power = math.floor(math.log10(max(abs(value), error)))
        return f"({_plain(value / 10**power, error / 10**power)})e{power}"
    return _plain(value, error)


def known_digits(value: float, error: float) -> str:
    """Return an estimate in the decimals that its standard error leaves, three at most; NaN is "–"."""
    if math.isnan(value):
        return UNDEFINED
    decimals = 3 if error == 0 else min(3, max(0, -math.floor(math.log10(2 * error))))
    return f"{value:.{decimals}f}"


def _plain(value: float, error: float) -> str:
    decimals = max(0, 1 - math.floor(math.log10(error)))
    return f"{value:.{decimals}f}±{error:.{decimals}f}"
