r"""A rule written as an expression: ``(key * a1 + a2) % 97``."""

from __future__ import annotations

import re
from collections.abc import Mapping as MappingABC
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any, ClassVar

import numpy as np

from theory.arrays import IntArray
from theory.errors import InputError
from theory.task.additive import integer_keys, shift_table
from theory.task.domain import MAX_ENTRIES, Domain, Selection, check_labels, magnitude
from theory.task.expression_nodes import Array, Bounds, Number, Rows
from theory.task.expression_parser import ANCHOR, Table, parse
from theory.task.intervals import INT64, Interval
from theory.task.measure import Measure
from theory.task.rule import Deterministic
from theory.task.totals import total_distribution


@dataclass(frozen=True, init=False)
class Expression(Deterministic):
    r"""The label is what an expression of key and anchors is worth.

    It may hold integers, ``key``, ``a1`` to ``aq`` (the anchors in their order), ``total`` (their sum),
    ``+ - * // % **``, parentheses, ``min``, ``max``, ``abs``, ``x if condition else y`` with comparisons,
    ``and``, ``or`` and ``not``, and ``g(x)``, which looks x up in ``table``. ``//`` and ``%`` round down as
    in Python. The arithmetic is exact: nothing wraps around at 64 bits, and a number of more than 4096
    bits on the way is refused. The text is parsed, never run.

    Parameters
    ----------
    text : str
        The expression, at most 1000 characters.
    table : mapping of int to int, optional
        g, for ``g(x)`` in the expression.

    Raises
    ------
    InputError
        With the column, if the text is outside the grammar.

    Examples
    --------
    >>> from theory import Mapping, Task
    >>> rule = Expression("(key * a1 + a2) % 97")
    >>> task = Task(keys=range(5, 97), n_anchors=2, length=3, vocab_size=97,
    ...     mappings=[Mapping([1, 2, 3], rule, "affine")])
    """

    text: str
    table: Table
    kind: ClassVar[str] = "expression"
    toml_keys: ClassVar[tuple[str, ...]] = ("label", "table")
    required: ClassVar[tuple[str, ...]] = ("label",)
    _root: Number = field(compare=False, repr=False)
    _names: frozenset[str] = field(compare=False, repr=False)

    def __init__(self, text: str, table: MappingABC[int, int] | None = None) -> None:
        if not isinstance(text, str):
            raise InputError("label", text, "not an expression", "give text such as '(key + a1) % 97'")
        pairs = () if table is None else shift_table(table)
        root, canonical, names = parse(text, pairs)
        object.__setattr__(self, "text", canonical)
        object.__setattr__(self, "table", pairs)
        object.__setattr__(self, "_root", root)
        object.__setattr__(self, "_names", names)

    @classmethod
    def from_toml(cls, parameters: dict[str, Any]) -> Expression:
        """Build the rule from ``label`` and perhaps ``table``, whose keys are strings."""
        table = parameters.get("table")
        return cls(parameters["label"], None if table is None else integer_keys(table))

    @property
    def description(self) -> str:
        """The expression."""
        return f"label = {self.text}"

    def parameters(self) -> dict[str, Any]:
        """Return the expression, and the table if there is one."""
        table = {"table": {str(a): g for a, g in self.table}} if self.table else {}
        return {"label": self.text} | table

    def settled(self, domain: Domain) -> Expression:
        """Return the rule, or refuse an anchor that the sequences do not have."""
        count = domain.n_anchors
        for name in sorted(self._names):
            number = ANCHOR.fullmatch(name)
            if number and int(number[1]) > count:
                raise InputError(
                    "label",
                    self.text,
                    f"column {_position(self.text, name)}: {name!r}, and a sequence has "
                    f"{count} anchor{'s' * (count > 1)}",
                    f"use {'a1' if count == 1 else f'a1 to a{count}'}, or raise n_anchors",
                )
        return self

    def evaluate(self, domain: Domain, keys: IntArray, anchors: IntArray) -> IntArray:
        """Return the labels of keys (n,) with combinations (n, q), computed without overflow."""
        used = sorted(name for name in self._names if ANCHOR.fullmatch(name))
        names = {name: anchors[:, int(name[1:]) - 1] for name in used}
        if "total" in self._names:
            names["total"] = anchors.sum(axis=1)
        return self._value({"key": keys} | names)

    def label_range(self, domain: Domain) -> range:
        """Return the range of the labels: of all of them, or by bounds where they are too many."""
        if domain.n_entries <= MAX_ENTRIES:
            return super().label_range(domain)
        found = self._bounds(domain)
        if not 0 <= found.low <= found.high < domain.vocab_size:
            raise InputError(
                "label",
                self.text,
                f"{magnitude(domain.n_entries)} labels are too many to compute, and all that is sure is that "
                f"they lie in {magnitude(found.low)}..{magnitude(found.high)}",
                f"end it with % n, n at most vocab_size = {domain.vocab_size}, or use min and max",
            )
        return range(found.low, found.high + 1)

    def distribution(self, domain: Domain, selection: Selection, exact: bool) -> Measure:
        """Count labels; where the anchors enter through ``total`` alone, by way of its distribution."""
        width = domain.n_anchors * (domain.anchors[-1] - domain.anchors[0]) + 1
        if not self._names <= {"key", "total"} or len(domain.keys) * width > MAX_ENTRIES:
            return super().distribution(domain, selection, exact)
        totals = total_distribution(domain, domain.anchors, selection, exact)
        keys = np.array(domain.keys if selection.key is None else [selection.key])
        counts = np.zeros(domain.vocab_size, totals.weights.dtype)
        for offset in np.flatnonzero(totals.weights):
            names = {"key": keys, "total": np.full(len(keys), totals.low + offset)}
            labels, times = np.unique(self._value(names), return_counts=True)
            check_labels(domain, int(labels[0]), int(labels[-1]))
            counts[labels] += times * totals.weights[offset]
        return Measure(0, counts, totals.unit).scaled(Fraction(1, len(keys)))

    def _value(self, names: dict[str, IntArray]) -> IntArray:
        """Return the expression's value, in int64 where its bounds allow it."""
        if not len(names["key"]):
            return np.zeros(0, np.int64)
        bounds = Bounds({name: Interval(int(v.min()), int(v.max())) for name, v in names.items()})
        bounds.of(self._root)
        dtype = np.int64 if bounds.fits else object
        rows = Rows(self.text, {name: values.astype(dtype) for name, values in names.items()})
        return _as_int64(rows, self._root.values(rows))

    def _bounds(self, domain: Domain) -> Interval:
        low, high, q = domain.anchors[0], domain.anchors[-1], domain.n_anchors
        names = {name: Interval(low, high) for name in self._names}
        names |= {"key": Interval(domain.keys[0], domain.keys[-1]), "total": Interval(q * low, q * high)}
        return Bounds(names).of(self._root)


def _position(text: str, name: str) -> int:
    found = re.search(rf"\b{name}\b", text)
    return found.start() + 1 if found else 1


def _as_int64(rows: Rows, labels: Array) -> IntArray:
    if rows.wide:
        outside = np.array([not INT64.min <= v <= INT64.max for v in labels.tolist()], dtype=np.bool_)
        rows.refuse(outside, 1, "a label of more than 64 bits", "end the expression with % n")
    return labels.astype(np.int64)
