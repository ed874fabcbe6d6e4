r"""Rules that add a shift for each anchor to the key."""

from __future__ import annotations

import re
from abc import abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from theory.edge.arrays import FloatArray, IntArray
from theory.edge.checks import as_integer
from theory.edge.errors import InputError
from theory.task.domain import Domain, Measure, Selection, uniform
from theory.task.rule import Deterministic

Table = tuple[tuple[int, int], ...]
"""g as sorted pairs of an anchor and its shift."""
_INTEGER = re.compile(r"0|-?[1-9][0-9]{0,17}")


class Additive(Deterministic):
    """A rule whose label is the key plus T = Σ_j g(a_j): its distributions are convolutions (eq. 22)."""

    @abstractmethod
    def shift(self, anchor: int) -> int:
        """Return g(anchor), the shift that an anchor adds to the key."""

    def shifts(self, domain: Domain) -> tuple[int, ...]:
        """Return g of each anchor of the domain, in order."""
        return tuple(self.shift(a) for a in domain.anchors)

    def evaluate(self, domain: Domain, keys: IntArray, anchors: IntArray) -> IntArray:
        shifts = np.array(self.shifts(domain), np.int64)
        return np.asarray(keys + shifts[np.searchsorted(np.array(domain.anchors), anchors)].sum(axis=1))

    def label_range(self, domain: Domain) -> range:
        shifts, q = self.shifts(domain), domain.n_anchors
        return range(domain.keys[0] + q * min(shifts), domain.keys[-1] + q * max(shifts) + 1)

    def distribution(self, domain: Domain, selection: Selection) -> Measure:
        """Convolve the distributions of the total shift and of the key."""
        totals = domain.total_distribution(self.shifts(domain), selection)
        if selection.key is not None:
            return totals.moved(selection.key)
        return totals.plus(uniform(domain.keys))

    def mean_variances(self, domain: Domain, k: float) -> FloatArray:
        """Return E[c_a c_b F]: F is (1 − 1/N_Z)/k, because different keys give different labels."""
        return domain.pair_means() * ((1 - 1 / len(domain.keys)) / k)


@dataclass(frozen=True)
class Sum(Additive):
    r"""The label is :math:`z_p + \sum_j a_{p+j}`, the paper's reasoning mapping (Section 2.1)."""

    kind: ClassVar[str] = "sum"
    description: ClassVar[str] = "label = key + sum of the anchors"

    def shift(self, anchor: int) -> int:
        return anchor


@dataclass(frozen=True, init=False)
class Shift(Additive):
    r"""The label is :math:`z_p + \sum_j g(a_{p+j})` for a shift table g.

    Parameters
    ----------
    table : mapping of int to int
        g, the shift of each anchor; ``Shift({a: a for a in anchors})`` equals ``Sum()`` in effect.
    """

    table: Table
    kind: ClassVar[str] = "shift"
    toml_keys: ClassVar[tuple[str, ...]] = ("table",)
    required: ClassVar[tuple[str, ...]] = ("table",)
    description: ClassVar[str] = "label = key + sum of g(anchor)"

    def __init__(self, table: Mapping[int, int]) -> None:
        object.__setattr__(self, "table", shift_table(table))

    @classmethod
    def from_toml(cls, parameters: dict[str, Any]) -> Shift:
        """Build the rule from a table whose keys are strings."""
        return cls(integer_keys(parameters["table"]))

    def parameters(self) -> dict[str, Any]:
        """Return the table with its keys as strings, as TOML requires."""
        return {"table": string_keys(self.table)}

    def shift(self, anchor: int) -> int:
        return dict(self.table)[anchor]

    def check(self, anchors: tuple[int, ...]) -> None:
        """Refuse a table whose keys are not exactly the mapping's anchors."""
        if {a for a, _ in self.table} != set(anchors):
            problem = f"its keys are not the mapping's anchors {list(anchors)}"
            remedy = "give one shift for every anchor and no other"
            raise InputError("table", dict(self.table), problem, remedy)


def shift_table(table: object) -> Table:
    """Return a table of shifts as sorted pairs, or raise InputError."""
    if not isinstance(table, Mapping) or not table:
        raise InputError("table", table, "not a shift table", "give {anchor: shift, ...}")
    return tuple(sorted((as_integer("table key", a), as_integer(f"table[{a}]", g)) for a, g in table.items()))


def integer_keys(table: object) -> dict[int, int]:
    """Return a TOML table with its keys as integers; "1" is accepted, but not "01", "+1" or " 1"."""
    if not isinstance(table, dict):
        raise InputError("table", table, "not a shift table", "give { anchor = shift, ... }")
    for key in table:
        if not _INTEGER.fullmatch(str(key)):
            raise InputError("table", key, "a key that is not an integer", "write anchors as 1, 2 and so on")
    return {int(key): shift for key, shift in table.items()}


def string_keys(table: Table) -> dict[str, int]:
    """Return a table with its keys as strings; ``integer_keys`` reads it back."""
    return {str(anchor): shift for anchor, shift in table}
