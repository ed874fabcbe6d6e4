r"""Distributions of sums of independent integers, in float64 or exactly.

A ``Measure`` is a finite non-negative measure on consecutive integers. In float64, sums are direct
convolutions, which only ever add non-negative numbers, so that every entry keeps its *relative*
accuracy however many anchors are summed; exact arithmetic counts with integers.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[Any]
ONE = Fraction(1)


@dataclass(frozen=True)
class Measure:
    """A measure on the integers: the mass of ``low + k`` is ``weights[k] * unit``."""

    low: int
    weights: Array  # non-negative: float64, or (dtype object) Python integers and fractions when exact
    unit: Fraction = ONE  # lets exact weights stay integers; 1 in float64

    @property
    def exact(self) -> bool:
        """Whether the weights are exact numbers."""
        return self.weights.dtype == object

    def scaled(self, factor: Fraction) -> Measure:
        """Return the measure times ``factor``."""
        if self.exact:
            return Measure(self.low, self.weights, self.unit * factor)
        return Measure(self.low, self.weights * float(factor))

    def moved(self, by: int) -> Measure:
        """Return the distribution of the value plus ``by``."""
        return Measure(self.low + by, self.weights, self.unit)

    def plus(self, other: Measure) -> Measure:
        """Return the convolution: the distribution of the sum of two independent values."""
        convolve = _exact_convolution if self.exact else np.convolve
        weights = convolve(self.weights, other.weights)
        return Measure(self.low + other.low, weights, self.unit * other.unit)

    def dense(self, size: int) -> Array:
        """Return the masses of 0..size−1, shape (size,); the support has to lie inside."""
        out = np.zeros(size, dtype=self.weights.dtype)
        place = slice(self.low, self.low + len(self.weights))
        if not self.exact:
            out[place] = self.weights
            return out
        # Long plateaus are common: multiply each distinct weight once.
        masses = {w: self.unit * w for w in set(self.weights)}
        out[place] = [masses[w] for w in self.weights]
        return out

    def as_float(self) -> Measure:
        """Return the measure in float64, every entry correctly rounded."""
        numerator, denominator = self.unit.numerator, self.unit.denominator
        return Measure(self.low, np.array([int(w) * numerator / denominator for w in self.weights]))


def uniform(values: Sequence[int], exact: bool) -> Measure:
    """Return the uniform distribution on ``values`` (with multiplicity), which need not be consecutive."""
    low = min(values)
    counts = np.bincount(np.asarray(values, dtype=np.int64) - low)
    if exact:
        return Measure(low, np.array(counts.tolist(), dtype=object), Fraction(1, len(values)))
    return Measure(low, counts / len(values))


def total_of(draws: int, single: Measure) -> Measure:
    """Return the distribution of a sum of ``draws`` independent values with distribution ``single``."""
    distribution = uniform([0], single.exact)
    for _ in range(draws):
        distribution = distribution.plus(single)
    return distribution


def _exact_convolution(a: Array, b: Array) -> Array:
    """Convolve using the differences of the factor that has fewer non-zero ones."""
    jumps_a, jumps_b = (np.diff(np.concatenate([[0], weights, [0]])) for weights in (a, b))
    if np.count_nonzero(jumps_a) < np.count_nonzero(jumps_b):
        a, jumps_b = b, jumps_a
    out = np.zeros(len(a) + len(jumps_b) - 1, dtype=object)
    for k in np.flatnonzero(jumps_b):
        out[k : k + len(a)] += a * jumps_b[k]
    return np.cumsum(out)[:-1]
