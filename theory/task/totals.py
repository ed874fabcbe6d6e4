r"""The total shift T = Σ_j g(a_j) of an anchor combination: all that some rules see of the anchors."""

from __future__ import annotations

import functools
from collections.abc import Callable
from fractions import Fraction

import numpy as np

from theory.arrays import IntArray
from theory.task.domain import Domain, Selection
from theory.task.measure import Measure, total_of, uniform

Shifts = tuple[int, ...]
"""g of each anchor of the domain, in order."""


def total_distribution(domain: Domain, shifts: Shifts, selection: Selection, exact: bool) -> Measure:
    """Return the distribution of T over the combinations, each of weight N_A^-q times its count.

    What is held out is taken away from integer counts, so that nothing cancels even where almost
    every combination is held out. The key in ``given`` plays no part.
    """
    return _total_distribution(domain.anchors, domain.n_anchors, shifts, selection, exact)


@functools.lru_cache(maxsize=512)
def _total_distribution(
    anchors: tuple[int, ...], q: int, shifts: Shifts, selection: Selection, exact: bool
) -> Measure:
    single = uniform(shifts, exact or bool(selection.held_out))
    if selection.anchor is None:
        distribution = total_of(q, single)
    else:
        own = shifts[anchors.index(selection.anchor)]
        slots = q if selection.slot is None else 1
        distribution = total_of(q - 1, single).moved(own).scaled(Fraction(slots, len(shifts)))
    if not selection.held_out:
        return distribution
    share = Fraction(1, len(anchors) ** q)
    shift_of = dict(zip(anchors, shifts, strict=True))
    weights = distribution.weights * (distribution.unit / share).numerator
    for combination in selection.held_out:
        times = selection.times(combination)
        if times:
            weights[sum(shift_of[a] for a in combination) - distribution.low] -= times
    remaining = Measure(distribution.low, weights, share)
    return remaining if exact else remaining.as_float()


def total_shifts(domain: Domain, shifts: Shifts) -> IntArray:
    """Return T of every combination, shape (N_A^q,)."""
    totals = np.zeros(1, np.int64)
    for _ in range(domain.n_anchors):
        totals = (totals[:, None] + np.array(shifts)).ravel()
    return totals


def mean_over_pairs(
    domain: Domain, shifts: Shifts, a: int, b: int, function: Callable[[int], float]
) -> float:
    """Return E[c_a c_b f(T)] over the combinations, c_a being how often one holds the anchor a."""
    q, n = domain.n_anchors, len(shifts)
    single, shift_of = uniform(shifts, False), dict(zip(domain.anchors, shifts, strict=True))

    def mean(*fixed: int) -> float:
        distribution = total_of(q - len(fixed), single).moved(sum(shift_of[x] for x in fixed))
        values = [
            function(distribution.low + i) if w > 0 else 0.0 for i, w in enumerate(distribution.weights)
        ]
        return float(distribution.weights @ np.array(values))

    both = q * (q - 1) / n**2 * mean(a, b) if q > 1 else 0.0
    return both + q / n * mean(a) if a == b else both
