"""What a rule is applied to: keys and combinations of anchors, and which of them count."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from theory.arrays import IntArray
from theory.errors import InputError, TooManyEntriesError

Combination = tuple[int, ...]
MAX_ENTRIES = 10_000_000
"""The most pairs of key and anchor combination for which a rule is evaluated exhaustively."""


@dataclass(frozen=True)
class Selection:
    """Which sequences a label distribution is about.

    Attributes
    ----------
    anchor : int, optional
        Every combination counts as often as it holds this anchor; without one, once.
    slot : int, optional
        With an anchor: only combinations that hold it at this index, counted once.
    key : int, optional
        The key; uniform without one.
    held_out : frozenset of tuple of int
        Combinations that do not count.
    """

    anchor: int | None = None
    slot: int | None = None
    key: int | None = None
    held_out: frozenset[Combination] = frozenset()

    def times(self, combination: Combination) -> int:
        """Return how often a combination counts, whether it is held out or not."""
        if self.anchor is None:
            return 1
        if self.slot is not None:
            return int(combination[self.slot] == self.anchor)
        return combination.count(self.anchor)


@dataclass(frozen=True)
class Domain:
    """What a rule is applied to: every key with every combination of q of a mapping's anchors."""

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

    def combinations(self) -> IntArray:
        """Return all combinations, shape (N_A^q, q), the first anchor varying slowest."""
        digits, n = np.arange(self.n_combinations), len(self.anchors)
        powers = range(self.n_anchors - 1, -1, -1)
        columns = np.stack([digits // n**k % n for k in powers], axis=1)
        return np.asarray(np.array(self.anchors)[columns], dtype=np.int64)

    def indices(self, keys: IntArray, anchors: IntArray) -> tuple[IntArray, IntArray]:
        """Return the indices of keys (n,) and of combinations (n, q) of tokens."""
        digits = np.searchsorted(np.array(self.anchors), anchors)
        combination = np.zeros(len(keys), np.int64)
        for column in digits.T:
            combination = combination * len(self.anchors) + column
        return np.searchsorted(np.array(self.keys), keys), combination

    def frequency(self, selection: Selection) -> Fraction:
        """Return how often a combination counts on average, each having the weight N_A^-q."""
        share = Fraction(1)
        if selection.anchor is not None:
            share = Fraction(1 if selection.slot is not None else self.n_anchors, len(self.anchors))
        return share - Fraction(sum(selection.times(c) for c in selection.held_out), self.n_combinations)


def times_counted(domain: Domain, selection: Selection) -> IntArray:
    """Return how often each combination counts, shape (N_A^q,)."""
    combinations = domain.combinations()
    if selection.anchor is None:
        times = np.ones(len(combinations), np.int64)
    elif selection.slot is not None:
        times = (combinations[:, selection.slot] == selection.anchor).astype(np.int64)
    else:
        times = (combinations == selection.anchor).sum(axis=1)
    for held_out in selection.held_out:
        times[(combinations == np.array(held_out)).all(axis=1)] = 0
    return times


def magnitude(count: int) -> str:
    """Return an integer to three digits; it may be larger than any float."""
    if abs(count) < 10**300:
        return f"{count:.3g}"
    return f"{'-' if count < 0 else ''}10^{int(count.bit_length() * 0.30103)}"


def check_enumerable(domain: Domain) -> None:
    """Raise TooManyEntriesError if a rule cannot be evaluated for every key and combination."""
    if domain.n_entries > MAX_ENTRIES:
        raise TooManyEntriesError(
            "task",
            f"{len(domain.keys)} keys, {len(domain.anchors)} anchors, n_anchors {domain.n_anchors}",
            f"a rule without a closed form needs {magnitude(domain.n_entries)} evaluations, and the limit is "
            f"{magnitude(MAX_ENTRIES)}",
            "use sample_label_distribution, or fewer keys or anchors",
        )


def check_labels(domain: Domain, low: int, high: int) -> None:
    """Raise InputError unless labels from low to high lie in the vocabulary 0..d−1."""
    if low < 0:
        raise InputError(
            "mappings",
            domain.name,
            f"its smallest label is {low}, below 0",
            "raise the smallest key, or change the rule",
        )
    if high >= domain.vocab_size:
        raise InputError(
            "vocab_size",
            domain.vocab_size,
            f"mapping {domain.name!r} has labels up to {high}",
            f"give at least {high + 1}",
        )
