r"""What a rule is: how a label follows from a key and a combination of anchors.

A rule is *deterministic* (the label follows from key and anchors, so it can be generalised) or a
*table* (one label drawn for each key and combination and then fixed, so it has to be memorised).
``Deterministic`` answers every question by enumeration from ``evaluate`` alone; rules with more
structure override what they can answer faster.
"""

from __future__ import annotations

import functools
import itertools
from fractions import Fraction
from typing import Any, ClassVar, Protocol, runtime_checkable

import numpy as np
import numpy.typing as npt

from theory.arrays import FloatArray, IntArray
from theory.task.domain import Domain, Selection, check_enumerable, check_labels, times_counted
from theory.task.measure import Measure


@runtime_checkable
class Rule(Protocol):
    """What a task and its statistics ask of a rule.

    A new rule derives from ``Deterministic`` (and needs ``evaluate``) or from ``Table``, and is named once
    in ``theory.task.rules.RULES``.
    """

    kind: ClassVar[str]
    """Its name in TOML."""
    is_table: ClassVar[bool]
    """Whether labels are drawn into a table (memory) rather than computed (reasoning)."""
    toml_keys: ClassVar[tuple[str, ...]]
    """What a TOML file may say beyond the rule's name."""
    required: ClassVar[tuple[str, ...]]
    """Which of these it must say."""

    @property
    def description(self) -> str:
        """A few words for figures."""

    def check(self, anchors: tuple[int, ...]) -> None:
        """Raise InputError if the rule does not fit a mapping's anchors."""

    def settled(self, domain: Domain) -> Rule:
        """Return the rule as a task keeps it, or raise InputError if it cannot serve the domain."""

    def parameters(self) -> dict[str, Any]:
        """Return what a TOML file has to say beyond the rule's name."""

    @classmethod
    def from_toml(cls, parameters: dict[str, Any]) -> Rule:
        """Build the rule from the keys of a TOML file."""

    def label_range(self, domain: Domain) -> range:
        """Return a range that holds every label."""

    def distribution(self, domain: Domain, selection: Selection, exact: bool) -> Measure:
        """Return the labels' mass over the combinations, each of weight N_A^-q times its count."""

    def entry_distributions(self, domain: Domain) -> FloatArray:
        """Return the label distribution of each key and combination, shape (N_Z, N_A^q, d)."""

    def mean_variance(self, domain: Domain, a: int, b: int, k: float) -> float:
        """Return E[c_a c_b F] over combinations, as ``finite_sample_cosine`` defines F for k sequences."""

    def draw(self, domain: Domain, rng: np.random.Generator) -> IntArray | None:
        """Draw a table of labels, shape (N_Z, N_A^q); None for a deterministic rule."""

    def evaluate(self, domain: Domain, keys: IntArray, anchors: IntArray) -> IntArray:
        """Return the labels of keys (n,) with combinations (n, q); for deterministic rules."""

    def draw_labels(
        self, domain: Domain, keys: IntArray, anchors: IntArray, rng: np.random.Generator
    ) -> IntArray:
        """Return a label for each of keys (n,) with combinations (n, q), tables drawn anew for each row."""


class RuleDefaults:
    """What rules share that have no parameters and fit every mapping."""

    toml_keys: ClassVar[tuple[str, ...]] = ()
    required: ClassVar[tuple[str, ...]] = ()

    @classmethod
    def from_toml(cls, parameters: dict[str, Any]) -> Any:
        """Build the rule from the keys of a TOML file."""
        return cls(**parameters)

    def check(self, anchors: tuple[int, ...]) -> None:
        """Accept all anchors."""

    def settled(self, domain: Domain) -> Any:
        """Return the rule itself."""
        return self

    def parameters(self) -> dict[str, Any]:
        """Return nothing."""
        return {}


class Deterministic(RuleDefaults):
    """A rule whose label follows from key and anchors; all else is found by enumerating ``evaluate``."""

    is_table: ClassVar[bool] = False

    def evaluate(self, domain: Domain, keys: IntArray, anchors: IntArray) -> IntArray:
        """Return the labels of keys (n,) with combinations (n, q)."""
        raise NotImplementedError

    def labels(self, domain: Domain) -> npt.NDArray[np.int32]:
        """Return the label of every key and combination, shape (N_Z, N_A^q); read-only.

        Raises
        ------
        InputError
            If there are more than ten million of them, or a label does not lie in 0..d−1.
        """
        return _labels(self, domain)

    def label_range(self, domain: Domain) -> range:
        """Return the range from the smallest to the largest label."""
        labels = self.labels(domain)
        return range(int(labels.min()), int(labels.max()) + 1)

    def distribution(self, domain: Domain, selection: Selection, exact: bool) -> Measure:
        """Count the labels of all keys and combinations."""
        labels, times = self.labels(domain), times_counted(domain, selection)
        if selection.key is not None:
            labels = labels[domain.keys.index(selection.key)][None]
        counts = np.zeros(int(labels.max()) + 1, np.int64)
        for count in np.unique(times[times > 0]):
            found = np.bincount(labels[:, times == count].ravel(), minlength=len(counts))
            counts += found * count
        total = len(labels) * domain.n_combinations
        if exact:
            return Measure(0, np.array(counts.tolist(), dtype=object), Fraction(1, total))
        return Measure(0, counts / total)

    def entry_distributions(self, domain: Domain) -> FloatArray:
        """Return one-hot label distributions, shape (N_Z, N_A^q, d)."""
        labels = self.labels(domain).astype(np.int64)
        found = np.zeros((*labels.shape, domain.vocab_size))
        np.put_along_axis(found, labels[:, :, None], 1.0, axis=2)
        return found

    def mean_variance(self, domain: Domain, a: int, b: int, k: float) -> float:
        """Return E[c_a c_b F] with F = (1 − Σ_i (share of keys with label i)²) / k."""
        check_enumerable(domain)
        combinations = domain.combinations()
        both = (combinations == a).sum(axis=1) * (combinations == b).sum(axis=1)
        return float((both @ (1 - _concentration(self, domain))) / len(both) / k)

    def draw(self, domain: Domain, rng: np.random.Generator) -> IntArray | None:
        """Draw nothing."""
        return None

    def draw_labels(
        self, domain: Domain, keys: IntArray, anchors: IntArray, rng: np.random.Generator
    ) -> IntArray:
        """Return the labels; there is nothing to draw."""
        return self.evaluate(domain, keys, anchors)


@functools.lru_cache(maxsize=4)
def _labels(rule: Deterministic, domain: Domain) -> npt.NDArray[np.int32]:
    check_enumerable(domain)
    combinations = domain.combinations()
    rows = max(1, 2**18 // len(combinations))
    found = np.empty((len(domain.keys), len(combinations)), np.int32)
    for first in range(0, len(domain.keys), rows):
        keys = np.array(domain.keys[first : first + rows])
        labels = rule.evaluate(
            domain, np.repeat(keys, len(combinations)), np.tile(combinations, (len(keys), 1))
        )
        check_labels(domain, int(labels.min()), int(labels.max()))
        found[first : first + rows] = labels.reshape(len(keys), -1)
    found.setflags(write=False)
    return found


@functools.lru_cache(maxsize=4)
def _concentration(rule: Deterministic, domain: Domain) -> FloatArray:
    """Return Σ_i (share of keys with label i)² of every combination, shape (N_A^q,)."""
    labels = np.sort(rule.labels(domain), axis=0)
    # Σ n_i² is the sum over sorted rows of (2 × position in the run of equal labels − 1).
    position = np.ones(labels.shape[1], np.int64)
    squares = np.ones(labels.shape[1], np.int64)
    for before, after in itertools.pairwise(labels):
        position = 1 + position * (before == after)
        squares += 2 * position - 1
    return np.asarray(squares / len(domain.keys) ** 2)
