r"""The independent terms of a label: Y^s = g(s) + Z + the shifts of the other q − 1 anchors.

Everything that Theorem 1 and bound (13) need of them: cumulants, moments, and how fast the
characteristic function falls.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from theory.edge.arrays import FloatArray


@dataclass(frozen=True)
class Summand:
    """A variable that takes each of the listed integers equally often, and how often it is added."""

    values: tuple[int, ...]  # with multiplicity
    count: int  # of independent copies in the sum

    @property
    def mean(self) -> float:
        """E X."""
        return float(np.mean(self.values))

    @property
    def variance(self) -> float:
        """The variance v of one copy."""
        return self.moment(2)

    @property
    def third_cumulant(self) -> float:
        """The third cumulant of one copy, its third central moment."""
        return self.moment(3)

    @property
    def fourth_cumulant(self) -> float:
        """The fourth cumulant of one copy."""
        return self.moment(4) - 3 * self.variance**2

    @property
    def largest_mass(self) -> float:
        """The largest probability of a value."""
        return float(np.unique(self.values, return_counts=True)[1].max() / len(self.values))

    def moment(self, order: int) -> float:
        """Return the central moment of the given order."""
        return float(np.mean(self._centred**order))

    def absolute_moment(self, order: int) -> float:
        r"""Return :math:`E|X - EX|^n`."""
        return float(np.mean(np.abs(self._centred) ** order))

    def squared_modulus(self, frequencies: FloatArray) -> FloatArray:
        r"""Return :math:`|E e^{itX}|^2` at frequencies t, shape (n,)."""
        centred = self._centred  # one frequency at a time: a task may have a hundred thousand keys
        return np.array([np.abs(np.exp(1j * t * centred).mean()) for t in frequencies]) ** 2

    @property
    def _centred(self) -> FloatArray:
        return np.array(self.values, dtype=np.float64) - self.mean


def total(summands: Sequence[Summand], cumulant: str) -> float:
    """Return the cumulant of the sum that an attribute of ``Summand`` names: cumulants add."""
    return float(sum(s.count * getattr(s, cumulant) for s in summands))
