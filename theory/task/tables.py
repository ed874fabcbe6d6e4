r"""Rules that draw one label for each key and anchor combination: memory."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar

import numpy as np

from theory.arrays import FloatArray, IntArray
from theory.checked import as_integer
from theory.errors import InputError
from theory.task.domain import Domain, Selection, magnitude
from theory.task.measure import Measure, spread_over_window, uniform
from theory.task.rule import RuleDefaults
from theory.task.totals import mean_over_pairs, total_distribution, total_shifts

_MAX_TABLE = 100_000_000


class Table(RuleDefaults):
    """A rule whose labels are drawn once and fixed for good."""

    is_table: ClassVar[bool] = True

    def evaluate(self, domain: Domain, keys: IntArray, anchors: IntArray) -> IntArray:
        """Refuse: a table's labels are drawn, see ``draw``."""
        raise InputError("rule", type(self).__name__, "its labels are drawn", "use draw_tables and labels_of")


@dataclass(frozen=True)
class Lookup(Table):
    """A table whose labels are uniform on a range of their own: the paper's memory mapping.

    Parameters
    ----------
    low, high : int, optional
        The labels are drawn uniformly from {low, ..., high}, both included. Without them, from the
        task's keys (Section 2.1); with them, one of the memory groups of Fig. 8.
    """

    low: int | None = None
    high: int | None = None
    kind: ClassVar[str] = "lookup"
    toml_keys: ClassVar[tuple[str, ...]] = ("low", "high")
    description: ClassVar[str] = "a label drawn once for each key and anchors"

    def __post_init__(self) -> None:
        if (self.low is None) != (self.high is None):
            raise InputError(
                "low, high", (self.low, self.high), "only one end of the label range", "give both"
            )
        if self.low is None or self.high is None:
            return
        object.__setattr__(self, "low", as_integer("low", self.low))
        object.__setattr__(self, "high", as_integer("high", self.high))
        if self.low > self.high:
            raise InputError(
                "low, high", (self.low, self.high), "the label range is empty", "give low <= high"
            )

    def parameters(self) -> dict[str, Any]:
        """Return the range, if there is one."""
        return {} if self.low is None else {"low": self.low, "high": self.high}

    def labels(self, domain: Domain) -> tuple[int, ...] | range:
        """Return the labels that an entry is drawn from."""
        return domain.keys if self.low is None or self.high is None else range(self.low, self.high + 1)

    def label_range(self, domain: Domain) -> range:
        """Return the range that holds every label."""
        labels = self.labels(domain)
        return range(labels[0], labels[-1] + 1)

    def distribution(self, domain: Domain, selection: Selection, exact: bool) -> Measure:
        """Return the uniform distribution on the labels, whatever key and anchors are."""
        return uniform(self.labels(domain), exact).scaled(domain.frequency(selection))

    def entry_distributions(self, domain: Domain) -> FloatArray:
        """Return the label distribution of each key and combination, shape (N_Z, N_A^q, d)."""
        labels = np.array(self.labels(domain))
        found = np.zeros((len(domain.keys), domain.n_combinations, domain.vocab_size))
        found[:, :, labels] = 1 / len(labels)
        return found

    def mean_variance(self, domain: Domain, a: int, b: int, k: float) -> float:
        """Return E[c_a c_b F]: F is the same for every combination."""
        own = 1 - 1 / len(self.labels(domain))
        value = own / k + (1 - 1 / k) * own / len(domain.keys)
        q, n = domain.n_anchors, len(domain.anchors)
        return value * float(Fraction(q * (q - 1), n**2) + (a == b) * Fraction(q, n))

    def draw(self, domain: Domain, rng: np.random.Generator) -> IntArray:
        """Draw a label for every key and combination, shape (N_Z, N_A^q)."""
        check_table_size(domain)
        return rng.choice(np.array(self.labels(domain)), size=(len(domain.keys), domain.n_combinations))

    def draw_labels(
        self, domain: Domain, keys: IntArray, anchors: IntArray, rng: np.random.Generator
    ) -> IntArray:
        """Draw a label for each row."""
        return rng.choice(np.array(self.labels(domain)), size=len(keys))


@dataclass(frozen=True)
class Window(Table):
    r"""A table whose label is uniform on {z − T, ..., z + T}, T = Σa: the paper's F_mem,2 (Fig. 8)."""

    kind: ClassVar[str] = "window"
    description: ClassVar[str] = "a label drawn once near the key"

    def label_range(self, domain: Domain) -> range:
        """Return the range that holds every label."""
        widest = domain.n_anchors * max(domain.anchors)
        return range(domain.keys[0] - widest, domain.keys[-1] + widest + 1)

    def distribution(self, domain: Domain, selection: Selection, exact: bool) -> Measure:
        """Spread the key uniformly over a window as wide as the total of the anchors says."""
        offsets = spread_over_window(total_distribution(domain, domain.anchors, selection, exact))
        return (
            offsets.plus(uniform(domain.keys, exact))
            if selection.key is None
            else offsets.moved(selection.key)
        )

    def entry_distributions(self, domain: Domain) -> FloatArray:
        """Return the label distribution of each key and combination, shape (N_Z, N_A^q, d)."""
        distance = np.abs(np.arange(domain.vocab_size) - np.array(domain.keys)[:, None])
        widths = total_shifts(domain, domain.anchors)
        return np.asarray((distance[:, None] <= widths[:, None]) / (2.0 * widths[:, None] + 1))

    def mean_variance(self, domain: Domain, a: int, b: int, k: float) -> float:
        """Return E[c_a c_b F]: the wider the window, the more an entry varies."""

        def variance(total: int) -> float:
            entry = 1 - 1 / (2 * total + 1)
            smeared = uniform(domain.keys, False).plus(uniform(range(-total, total + 1), False))
            mean = 1 - float(smeared.weights @ smeared.weights)
            return mean / k + (1 - 1 / k) * entry / len(domain.keys)

        return mean_over_pairs(domain, domain.anchors, a, b, variance)

    def draw(self, domain: Domain, rng: np.random.Generator) -> IntArray:
        """Draw a label for every key and combination, shape (N_Z, N_A^q)."""
        check_table_size(domain)
        widths = total_shifts(domain, domain.anchors)
        size = (len(domain.keys), len(widths))
        return np.array(domain.keys)[:, None] + rng.integers(-widths, widths, size=size, endpoint=True)

    def draw_labels(
        self, domain: Domain, keys: IntArray, anchors: IntArray, rng: np.random.Generator
    ) -> IntArray:
        """Draw a label for each row."""
        widths = anchors.sum(axis=1)
        return np.asarray(keys + rng.integers(-widths, widths, endpoint=True))


def check_table_size(domain: Domain) -> None:
    """Raise InputError if a table of labels would be too large to draw."""
    if domain.n_entries > _MAX_TABLE:
        raise InputError(
            "mappings",
            domain.name,
            f"its table would have {magnitude(domain.n_entries)} entries",
            "use fewer anchors per sequence or fewer keys",
        )
