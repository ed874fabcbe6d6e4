r"""How a label follows from a key and a combination of anchors.

A rule is *deterministic* (the label follows from key and anchors, so it can be generalised) or a
*table* (one label drawn for each key and combination and then fixed, so it has to be memorised).
A new deterministic rule derives from ``Deterministic``, sets ``kind`` and implements ``evaluate``: everything
else is then counted. Rules with more structure override the methods that they can answer faster.
"""

from __future__ import annotations

import functools
import itertools
from abc import ABC, abstractmethod
from typing import Any, ClassVar

import numpy as np

from theory.edge.arrays import FloatArray, IntArray
from theory.task.domain import Domain, Measure, Selection

RULES: dict[str, type[Rule]] = {}
"""Every rule that a TOML file can name: a class with a ``kind`` registers itself."""


class Rule(ABC):
    """Everything that a task and its label distributions ask of a rule."""

    kind: ClassVar[str]
    """Its name in TOML."""
    is_table: ClassVar[bool]
    """Whether labels are drawn into a table (memory) rather than computed (reasoning)."""
    toml_keys: ClassVar[tuple[str, ...]] = ()
    """Its parameters in a TOML file."""
    required: ClassVar[tuple[str, ...]] = ()
    """The parameters without which a TOML file is refused."""
    description: ClassVar[str]
    """A few words for figures."""

    def __init_subclass__(cls, in_files: bool = True) -> None:
        super().__init_subclass__()
        if in_files and "kind" in vars(cls):
            RULES[cls.kind] = cls

    @classmethod
    def from_toml(cls, parameters: dict[str, Any]) -> Any:
        """Build the rule from its parameters in a TOML file."""
        return cls(**parameters)

    def parameters(self) -> dict[str, Any]:
        """Return its parameters as they stand in a TOML file."""
        return {}

    def check(self, anchors: tuple[int, ...]) -> None:  # noqa: B027 (most rules fit all anchors)
        """Raise InputError if the rule does not fit a mapping's anchors."""

    def settled(self, domain: Domain) -> Rule:
        """Return the rule as a task keeps it, or raise InputError if it cannot serve the domain."""
        return self

    @abstractmethod
    def label_range(self, domain: Domain) -> range:
        """Return a range that holds every label."""

    @abstractmethod
    def distribution(self, domain: Domain, selection: Selection) -> Measure:
        """Return the labels' mass over the combinations, each of weight N_A^-q times its count."""

    @abstractmethod
    def entry_distributions(self, domain: Domain) -> FloatArray:
        """Return the label distribution of each key and combination, shape (N_Z, N_A^q, d)."""

    @abstractmethod
    def mean_variances(self, domain: Domain, k: float) -> FloatArray:
        """Return E[c_a c_b F] of all pairs of anchors, (N_A, N_A), with F of ``finite_sample_cosines``."""

    @abstractmethod
    def evaluate(self, domain: Domain, keys: IntArray, anchors: IntArray) -> IntArray:
        """Return the labels of keys (n,) with combinations (n, q); for deterministic rules."""

    @abstractmethod
    def draw(self, domain: Domain, rng: np.random.Generator) -> IntArray | None:
        """Draw a table of labels, shape (N_Z, N_A^q); None for a deterministic rule."""

    @abstractmethod
    def draw_labels(
        self, domain: Domain, keys: IntArray, anchors: IntArray, rng: np.random.Generator
    ) -> IntArray:
        """Return labels of keys (n,) with combinations (n, q); a table is drawn again for every row."""


class Deterministic(Rule):
    """A rule whose label follows from key and anchors; everything else is counted from ``evaluate``."""

    is_table: ClassVar[bool] = False

    def labels(self, domain: Domain) -> IntArray:
        """Return the label of every key and combination, shape (N_Z, N_A^q); read-only."""
        return _labels(self, domain)

    def label_range(self, domain: Domain) -> range:
        """Return the range of the labels, or the whole vocabulary if they are too many to compute."""
        if not domain.is_enumerable:
            self.draw_labels(domain, *domain.sample(), np.random.default_rng())
            return range(domain.vocab_size)
        labels = self.labels(domain)
        return range(int(labels.min()), int(labels.max()) + 1)

    def distribution(self, domain: Domain, selection: Selection) -> Measure:
        """Count the labels of all keys and combinations."""
        return self.counted(domain, selection, np.ones((len(domain.keys), 1), np.int64), 1)

    def counted(self, domain: Domain, selection: Selection, left: IntArray, n_positions: int) -> Measure:
        """Count labels, each as often as its pair is trained on, ``left`` out of ``n_positions``."""
        labels = self.labels(domain)
        if selection.key is not None:
            row = [domain.keys.index(selection.key)]
            labels, left = labels[row], left[row]
        times = np.broadcast_to(left * domain.times(selection), labels.shape)
        counts = np.bincount(labels.ravel(), times.ravel())
        return Measure(0, counts / (len(labels) * domain.n_combinations * n_positions))

    def entry_distributions(self, domain: Domain) -> FloatArray:
        """Return one-hot label distributions, shape (N_Z, N_A^q, d)."""
        return one_hot(self.labels(domain), domain.vocab_size)

    def mean_variances(self, domain: Domain, k: float) -> FloatArray:
        """Return E[c_a c_b F] with F = (1 − Σ_i (share of keys with label i)²) / k."""
        return domain.pair_means(1 - concentration(self.labels(domain))) / k

    def draw(self, domain: Domain, rng: np.random.Generator) -> IntArray | None:
        """Draw nothing."""
        return None

    def draw_labels(
        self, domain: Domain, keys: IntArray, anchors: IntArray, rng: np.random.Generator
    ) -> IntArray:
        """Return the labels, or refuse those outside the vocabulary; there is nothing to draw."""
        labels = self.evaluate(domain, keys, anchors)
        domain.check_labels(int(labels.min(initial=0)), int(labels.max(initial=0)))
        return labels


def one_hot(labels: IntArray, size: int) -> FloatArray:
    """Return a one-hot row of length ``size`` for each label, along a new last axis."""
    rows = np.zeros((*labels.shape, size))
    np.put_along_axis(rows, labels[..., None], 1.0, axis=-1)
    return rows


@functools.lru_cache(maxsize=4)
def _labels(rule: Deterministic, domain: Domain) -> IntArray:
    domain.check_enumerable()
    combinations = domain.combinations()
    n_rows = max(1, 2**18 // len(combinations))
    labels = np.empty((len(domain.keys), len(combinations)), np.int64)
    for first in range(0, len(domain.keys), n_rows):
        keys = np.array(domain.keys[first : first + n_rows])
        repeated = np.repeat(keys, len(combinations)), np.tile(combinations, (len(keys), 1))
        computed = rule.evaluate(domain, *repeated)
        domain.check_labels(int(computed.min()), int(computed.max()))
        labels[first : first + n_rows] = computed.reshape(len(keys), -1)
    labels.setflags(write=False)
    return labels


def concentration(labels: IntArray) -> FloatArray:
    """Return Σ_i (share of keys with label i)² of every combination: (N_Z, n) → (n,)."""
    ordered = np.sort(labels, axis=0)
    # Σ n_i² is the sum over sorted rows of (2 × position in the run of equal labels − 1).
    position = np.ones(labels.shape[1], np.int64)
    squares = np.ones(labels.shape[1], np.int64)
    for before, after in itertools.pairwise(ordered):
        position = 1 + position * (before == after)
        squares += 2 * position - 1
    return np.asarray(squares / len(labels) ** 2)
