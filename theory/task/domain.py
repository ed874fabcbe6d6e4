r"""The domain of a rule: keys and combinations of anchors, how often each counts, and their totals.

Totals have a ``Measure``, whose sums are direct convolutions: these only ever add non-negative numbers, so
that every entry keeps its *relative* accuracy however many anchors are summed.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction

import numpy as np

from theory.edge.arrays import FloatArray, IntArray
from theory.edge.errors import InputError, TooManyEntriesError

Combination = tuple[int, ...]
Shifts = tuple[int, ...]
"""The shift g of each anchor of a domain, in order; a total is T = Σ_j g(a_j)."""
MAX_ENTRIES = 10_000_000
"""The most pairs of key and anchor combination for which a rule is evaluated exhaustively."""
_SAMPLE = 500


@dataclass(frozen=True)
class Measure:
    """A finite non-negative measure on the integers: the mass of ``low + k`` is ``weights[k]``."""

    low: int
    weights: FloatArray

    def scaled(self, factor: float | Fraction) -> Measure:
        """Return the measure times ``factor``."""
        return Measure(self.low, self.weights * float(factor))

    def moved(self, by: int) -> Measure:
        """Return the distribution of the value plus ``by``."""
        return Measure(self.low + by, self.weights)

    def plus(self, other: Measure) -> Measure:
        """Return the convolution: the distribution of the sum of two independent values."""
        few, many = sorted((self.weights, other.weights), key=np.count_nonzero)
        places = np.flatnonzero(few)
        if 10 * len(places) > len(few):
            return Measure(self.low + other.low, np.convolve(few, many))
        sums = np.zeros(len(few) + len(many) - 1)  # Of values far apart: most products are 0.
        for place in places:
            sums[place : place + len(many)] += few[place] * many
        return Measure(self.low + other.low, sums)

    def dense(self, size: int) -> FloatArray:
        """Return the masses of 0..size−1, shape (size,); the support has to lie inside."""
        out = np.zeros(size)
        out[self.low : self.low + len(self.weights)] = self.weights
        return out


def uniform(values: Sequence[int]) -> Measure:
    """Return the uniform distribution on ``values`` (with multiplicity), which need not be consecutive."""
    low = min(values)
    return Measure(low, np.bincount(np.asarray(values, dtype=np.int64) - low) / len(values))


@dataclass(frozen=True)
class Selection:
    """The sequences that a label distribution covers.

    Every combination counts as often as it holds ``anchor``, or once if that is None. With a ``slot``, only
    combinations that hold the anchor at this index count, each once.
    """

    anchor: int | None = None
    slot: int | None = None
    key: int | None = None  # uniform if None
    held_out: frozenset[Combination] = frozenset()  # these do not count

    def times(self, combinations: IntArray) -> IntArray:
        """Return how often each of some combinations (n, q) counts, whether it is held out or not."""
        if self.anchor is None:
            return np.ones(len(combinations), np.int64)
        if self.slot is not None:
            return np.asarray(combinations[:, self.slot] == self.anchor, np.int64)
        return np.asarray((combinations == self.anchor).sum(axis=1))


@dataclass(frozen=True)
class Domain:
    """The domain of a rule: every key with every combination of q of a mapping's anchors."""

    name: str
    keys: tuple[int, ...]
    anchors: tuple[int, ...]
    n_anchors: int
    vocab_size: int

    @property
    def n_combinations(self) -> int:
        """N_A^q."""
        return int(len(self.anchors) ** self.n_anchors)

    @property
    def n_entries(self) -> int:
        """N_Z N_A^q, the number of pairs of key and combination."""
        return len(self.keys) * self.n_combinations

    @property
    def is_enumerable(self) -> bool:
        """Whether a rule can be evaluated for every key and combination."""
        return self.n_entries <= MAX_ENTRIES

    def combinations(self) -> IntArray:
        """Return all combinations, shape (N_A^q, q), the first anchor varying slowest."""
        digits, n = np.arange(self.n_combinations), len(self.anchors)
        powers = range(self.n_anchors - 1, -1, -1)
        columns = np.stack([digits // n**k % n for k in powers], axis=1)
        return np.asarray(np.array(self.anchors)[columns], dtype=np.int64)

    def indices(self, keys: IntArray, anchors: IntArray) -> tuple[IntArray, IntArray]:
        """Return the indices of keys (n,) and of combinations (n, q), both given as tokens."""
        digits = np.searchsorted(np.array(self.anchors), anchors)
        combination = np.zeros(len(keys), np.int64)
        for column in digits.T:
            combination = combination * len(self.anchors) + column
        return np.searchsorted(np.array(self.keys), keys), combination

    def sample(self) -> tuple[IntArray, IntArray]:
        """Return extreme keys and combinations, where monotone rules are extreme, and some random ones."""
        rng = np.random.default_rng(0)
        keys, single = np.array(self.keys), np.array(self.anchors)
        corners = np.repeat(single[[0, -1, 0, -1], None], self.n_anchors, axis=1)
        drawn = rng.choice(single, size=(_SAMPLE, self.n_anchors))
        chosen = np.concatenate([keys[[0, 0, -1, -1]], rng.choice(keys, size=_SAMPLE)])
        return chosen, np.concatenate([corners, drawn])

    def times(self, selection: Selection) -> IntArray:
        """Return how often each combination counts, shape (N_A^q,)."""
        times = selection.times(self.combinations())
        if selection.held_out:
            times[_places(self, selection.held_out)] = 0
        return times

    def frequency(self, selection: Selection) -> Fraction:
        """Return a combination's average count if none is held out (tables hold none out)."""
        if selection.anchor is None:
            return Fraction(1)
        return Fraction(1 if selection.slot is not None else self.n_anchors, len(self.anchors))

    def totals(self, shifts: Shifts) -> IntArray:
        """Return T of every combination, shape (N_A^q,)."""
        totals = np.zeros(1, np.int64)
        for _ in range(self.n_anchors):
            totals = (totals[:, None] + np.array(shifts)).ravel()
        return totals

    def total_distribution(self, shifts: Shifts, selection: Selection) -> Measure:
        """Return the distribution of T over the combinations, each of weight N_A^-q times its count."""
        return _total_distribution(self.anchors, self.n_anchors, shifts, replace(selection, key=None))

    def pair_means(self, weights: FloatArray | None = None) -> FloatArray:
        """Return E[w c_a c_b] over the combinations for all pairs of anchors, shape (N_A, N_A).

        c_a is how often a combination holds anchor a; ``weights`` has w of each combination, by default 1.
        """
        q, n = self.n_anchors, len(self.anchors)
        if weights is None:
            return np.full((n, n), float(Fraction(q * (q - 1), n**2))) + np.eye(n) * (q / n)
        means = np.zeros((n, n))
        for i in range(q):
            means += np.diag(weights.reshape(n**i, n, -1).sum(axis=(0, 2)))
            for j in range(i):
                both = weights.reshape(n**j, n, n ** (i - j - 1), n, -1).sum(axis=(0, 2, 4))
                means += both + both.T
        return means / weights.size

    def check_enumerable(self, instead: str = "sample their labels with sample_labels") -> None:
        """Raise TooManyEntriesError if a rule cannot be evaluated for every key and combination."""
        if not self.is_enumerable:
            given = f"{len(self.keys)} keys, {len(self.anchors)} anchors, n_anchors {self.n_anchors}"
            needed, limit = magnitude(self.n_entries), magnitude(MAX_ENTRIES)
            problem = f"every key with every combination are {needed} entries, and the limit is {limit}"
            raise TooManyEntriesError("task", given, problem, f"give fewer keys or anchors, or {instead}")

    def check_labels(self, low: int, high: int) -> None:
        """Raise InputError unless labels from low to high lie in the vocabulary 0..d−1."""
        if low < 0:
            problem = f"its smallest label is {low}, below 0"
            raise InputError("mappings", self.name, problem, "raise the smallest key, or change the rule")
        if high >= self.vocab_size:
            problem = f"mapping {self.name!r} has labels up to {high}"
            raise InputError("vocab_size", self.vocab_size, problem, f"give at least {high + 1}")


@functools.lru_cache(maxsize=8)
def _places(domain: Domain, combinations: frozenset[Combination]) -> IntArray:
    """Return the indices of some combinations."""
    rows = np.array(list(combinations))
    return domain.indices(np.full(len(rows), domain.keys[0]), rows)[1]


@functools.lru_cache(maxsize=512)
def _total_distribution(anchors: tuple[int, ...], q: int, shifts: Shifts, selection: Selection) -> Measure:
    n = len(anchors)
    # Beyond the range of a float, what is held out is less than the rounding of any mass.
    held_out = selection.held_out if q * math.log2(n) < 1000 else frozenset()
    single = uniform(shifts)
    if held_out:  # Numbers are exact below 2^53, so that no digits are lost even if almost all are held out.
        single = Measure(single.low, np.rint(single.weights * n))
    own, slots, drawn = 0, 1, q
    if selection.anchor is not None:
        own, drawn = shifts[anchors.index(selection.anchor)], q - 1
        slots = q if selection.slot is None else 1
    distribution = functools.reduce(Measure.plus, [single] * drawn, uniform([own])).scaled(slots)
    if not held_out:
        return distribution.scaled(Fraction(1, n ** (q - drawn)))
    combinations = np.array(list(held_out))
    combinations = combinations[selection.times(combinations) > 0]
    totals = np.array(shifts)[np.searchsorted(anchors, combinations)].sum(axis=1)
    np.subtract.at(distribution.weights, totals - distribution.low, selection.times(combinations))
    return distribution.scaled(Fraction(1, n**q))


def magnitude(count: int) -> str:
    """Return an integer as text, to three digits; it may be larger than any float."""
    return f"{count:.3g}" if count < 10**300 else f"10^{int(count.bit_length() * 0.30103)}"
