r"""Rules that draw one label for each key and anchor combination: memory."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from theory.edge.arrays import FloatArray, IntArray
from theory.edge.checked import checked_fields
from theory.edge.errors import InputError
from theory.task.domain import Domain, Measure, Selection, uniform
from theory.task.rule import Rule

_MAX_TABLE = 100_000_000


class Table(Rule):
    """A rule whose labels are drawn once and then stay fixed."""

    is_table: ClassVar[bool] = True

    def evaluate(self, domain: Domain, keys: IntArray, anchors: IntArray) -> IntArray:
        """Refuse: a table's labels are drawn, see ``draw``."""
        raise InputError("rule", type(self).__name__, "its labels are drawn", "use draw_tables and labels_of")

    def draw(self, domain: Domain, rng: np.random.Generator) -> IntArray:
        if domain.n_entries > _MAX_TABLE:
            problem = f"its table would have more than {_MAX_TABLE} entries"
            raise InputError("mappings", domain.name, problem, "use fewer anchors per sequence or fewer keys")
        return self._draw(domain, rng)

    def _draw(self, domain: Domain, rng: np.random.Generator) -> IntArray:
        raise NotImplementedError


@checked_fields
@dataclass(frozen=True)
class Lookup(Table):
    """A table whose labels are uniform on a range of their own: the paper's memory mapping.

    Parameters
    ----------
    low, high : int, optional
        The labels are drawn uniformly from {low, ..., high}, both included, as in a memory group of Fig. 8;
        by default from the task's keys (Section 2.1).
    """

    low: int | None = None
    high: int | None = None
    kind: ClassVar[str] = "lookup"
    toml_keys: ClassVar[tuple[str, ...]] = ("low", "high")
    description: ClassVar[str] = "a label drawn once for each key and anchors"

    def __post_init__(self) -> None:
        ends = (self.low, self.high)
        if (self.low is None) != (self.high is None):
            raise InputError("low, high", ends, "only one end of the label range", "give both")
        if self.low is not None and self.high is not None and self.low > self.high:
            raise InputError("low, high", ends, "the label range is empty", "give low <= high")

    def parameters(self) -> dict[str, Any]:
        return {} if self.low is None else {"low": self.low, "high": self.high}

    def labels(self, domain: Domain) -> tuple[int, ...] | range:
        """Return the labels that an entry is drawn from."""
        return domain.keys if self.low is None or self.high is None else range(self.low, self.high + 1)

    def label_range(self, domain: Domain) -> range:
        labels = self.labels(domain)
        return range(labels[0], labels[-1] + 1)

    def distribution(self, domain: Domain, selection: Selection) -> Measure:
        """Return the uniform distribution on the labels, for any key and anchors."""
        return uniform(self.labels(domain)).scaled(domain.frequency(selection))

    def entry_distributions(self, domain: Domain) -> FloatArray:
        labels = np.array(self.labels(domain))
        entries = np.zeros((len(domain.keys), domain.n_combinations, domain.vocab_size))
        entries[:, :, labels] = 1 / len(labels)
        return entries

    def mean_variances(self, domain: Domain, k: float) -> FloatArray:
        """Return E[c_a c_b F]: F is the same for every combination."""
        entry = 1 - 1 / len(self.labels(domain))
        return domain.pair_means() * (entry / k + (1 - 1 / k) * entry / len(domain.keys))

    def _draw(self, domain: Domain, rng: np.random.Generator) -> IntArray:
        return rng.choice(np.array(self.labels(domain)), size=(len(domain.keys), domain.n_combinations))

    def draw_labels(
        self, domain: Domain, keys: IntArray, anchors: IntArray, rng: np.random.Generator
    ) -> IntArray:
        return rng.choice(np.array(self.labels(domain)), size=len(keys))


@dataclass(frozen=True)
class Window(Table):
    r"""A table whose label is uniform on {z − T, ..., z + T}, T = Σa: the paper's F_mem,2 (Fig. 8)."""

    kind: ClassVar[str] = "window"
    description: ClassVar[str] = "a label drawn once near the key"

    def label_range(self, domain: Domain) -> range:
        widest = domain.n_anchors * max(domain.anchors)
        return range(domain.keys[0] - widest, domain.keys[-1] + widest + 1)

    def distribution(self, domain: Domain, selection: Selection) -> Measure:
        """Spread the key uniformly over a window whose half-width is the total of the anchors."""
        offsets = _spread(domain.total_distribution(domain.anchors, selection))
        if selection.key is not None:
            return offsets.moved(selection.key)
        return offsets.plus(uniform(domain.keys))

    def entry_distributions(self, domain: Domain) -> FloatArray:
        distance = np.abs(np.arange(domain.vocab_size) - np.array(domain.keys)[:, None])
        widths = domain.totals(domain.anchors)
        return np.asarray((distance[:, None] <= widths[:, None]) / (2.0 * widths[:, None] + 1))

    def mean_variances(self, domain: Domain, k: float) -> FloatArray:
        """Return E[c_a c_b F]: the wider the window, the more an entry varies."""
        domain.check_enumerable()
        totals = domain.totals(domain.anchors)
        variance = np.zeros(len(totals))
        for total in np.unique(totals).tolist():
            smeared = uniform(domain.keys).plus(uniform(range(-total, total + 1)))
            mean = 1 - float(smeared.weights @ smeared.weights)
            entry = 1 - 1 / (2 * total + 1)
            variance[totals == total] = mean / k + (1 - 1 / k) * entry / len(domain.keys)
        return domain.pair_means(variance)

    def _draw(self, domain: Domain, rng: np.random.Generator) -> IntArray:
        widths = domain.totals(domain.anchors)
        size = (len(domain.keys), len(widths))
        return np.array(domain.keys)[:, None] + rng.integers(-widths, widths, size=size, endpoint=True)

    def draw_labels(
        self, domain: Domain, keys: IntArray, anchors: IntArray, rng: np.random.Generator
    ) -> IntArray:
        widths = anchors.sum(axis=1)
        return np.asarray(keys + rng.integers(-widths, widths, endpoint=True))


def _spread(half_width: Measure) -> Measure:
    r"""Return the distribution of U, uniform on {−T, ..., T}, where T ≥ 0 has distribution ``half_width``.

    The mass at x is :math:`\sum_{T \ge |x|} P(T)/(2T+1)`: summed from the right, with no subtraction.
    """
    shares = np.concatenate([np.zeros(half_width.low), half_width.weights])
    shares /= 2 * np.arange(len(shares)) + 1
    right = np.cumsum(shares[::-1])[::-1]
    return Measure(1 - len(right), np.concatenate([right[:0:-1], right]))
