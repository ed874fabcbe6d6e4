r"""A rule written as an expression: ``(key * a1 + a2) % 97``."""

from __future__ import annotations

import ast
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np

from theory.edge.arrays import IntArray
from theory.edge.errors import InputError
from theory.task.arithmetic import ANCHOR, names_in, parse, value_of
from theory.task.domain import MAX_ENTRIES, Domain, Measure, Selection
from theory.task.rule import Deterministic
from theory.task.rules.additive import Table, integer_keys, shift_table, string_keys


@dataclass(frozen=True, init=False)
class Expression(Deterministic):
    r"""The label is the value of an expression of key and anchors.

    It may hold integers, ``key``, ``a1`` to ``aq`` (the anchors in their order), ``total`` (their sum),
    ``+ - * // % **``, parentheses, ``min``, ``max``, ``abs``, ``x if condition else y`` with comparisons,
    ``and``, ``or`` and ``not``, and ``g(x)``, which looks x up in ``table``. ``//`` and ``%`` round down as
    in Python. The arithmetic is exact: nothing wraps around at 64 bits, and an intermediate result
    of more than 4096 bits is refused. The text is parsed, never run.

    Parameters
    ----------
    text : str
        The expression, at most 1000 characters.
    table : mapping of int to int, optional
        g, for ``g(x)`` in the expression.

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
    _root: ast.expr = field(compare=False, repr=False)
    _names: frozenset[str] = field(compare=False, repr=False)

    def __init__(self, text: str, table: Mapping[int, int] | None = None) -> None:
        if not isinstance(text, str):
            raise InputError("label", text, "not an expression", "give text such as '(key + a1) % 97'")
        pairs = () if table is None else shift_table(table)
        root = parse(text, dict(pairs))
        names = names_in(root)
        if "position" in names:
            problem = "unknown name 'position'; only a condition of held_out may read it"
            raise InputError("label", text, problem, "the names are key, a1, a2, ... and total")
        object.__setattr__(self, "text", ast.unparse(root))
        object.__setattr__(self, "table", pairs)
        object.__setattr__(self, "_root", root)
        object.__setattr__(self, "_names", names)

    @classmethod
    def from_toml(cls, parameters: dict[str, Any]) -> Expression:
        """Build the rule from ``label`` and, if given, ``table``, whose keys are strings."""
        table = parameters.get("table")
        return cls(parameters["label"], None if table is None else integer_keys(table))

    @property
    def description(self) -> str:  # type: ignore[override]
        """The expression."""
        return f"label = {self.text}"

    def parameters(self) -> dict[str, Any]:
        """Return the expression, and the table if there is one."""
        return {"label": self.text} | ({"table": string_keys(self.table)} if self.table else {})

    def settled(self, domain: Domain) -> Expression:
        """Return the rule, or refuse an anchor that the sequences do not have."""
        q = domain.n_anchors
        for name in sorted(self._names):
            if ANCHOR.fullmatch(name) and int(name[1:]) > q:
                problem = f"unknown name {name}: a sequence has {q} anchor{'s' * (q > 1)}"
                remedy = f"use {'a1' if q == 1 else f'a1 to a{q}'}, or raise n_anchors"
                raise InputError("label", self.text, problem, remedy)
        return self

    def evaluate(self, domain: Domain, keys: IntArray, anchors: IntArray) -> IntArray:
        """Return the labels of keys (n,) with combinations (n, q), computed without overflow."""
        names = {name: anchors[:, int(name[1:]) - 1] for name in self._names if ANCHOR.fullmatch(name)}
        if "total" in self._names:
            names["total"] = anchors.sum(axis=1, dtype=_dtype(domain.n_anchors * domain.anchors[-1]))
        return self._values({"key": keys} | dict(sorted(names.items())))

    def distribution(self, domain: Domain, selection: Selection) -> Measure:
        """Count labels; if the anchors enter through ``total`` alone, sum over its distribution instead."""
        width = domain.n_anchors * (domain.anchors[-1] - domain.anchors[0]) + 1
        if not self._names <= {"key", "total"} or len(domain.keys) * width > MAX_ENTRIES:
            return super().distribution(domain, selection)
        totals = domain.total_distribution(domain.anchors, selection)
        keys = np.array(domain.keys if selection.key is None else [selection.key])
        counts = np.zeros(domain.vocab_size)
        for offset in np.flatnonzero(totals.weights):
            total = totals.low + int(offset)
            values = self._values({"key": keys, "total": np.full(len(keys), total, _dtype(total))})
            labels, times = np.unique(values, return_counts=True)
            domain.check_labels(int(labels[0]), int(labels[-1]))
            counts[labels] += times * totals.weights[offset]
        return Measure(0, counts / len(keys))

    def _values(self, names: dict[str, IntArray]) -> IntArray:
        values = value_of(self._root, names, dict(self.table))
        if values.dtype == object:
            raise InputError("label", self.text, "a label of more than 62 bits", "end it with % n")
        return np.asarray(values, np.int64)


def _dtype(largest: int) -> type:
    """Return the type of an array for totals: Python's integers if the largest needs 63 bits or more."""
    return np.int64 if largest < 2**62 else object
