"""The parts of a label expression: the value of each, and the bounds of that value.

``bounds`` decides the arithmetic before any number is computed. Where every part stays within 64 bits
the expression is evaluated in int64; otherwise in Python integers, so that nothing ever wraps around.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from theory.errors import InputError
from theory.task.intervals import INT64, INTERVALS, LONGEST, MAX_BITS, Interval

Array = npt.NDArray[Any]
Mask = npt.NDArray[np.bool_]


@dataclass
class Bounds:
    """What the names of an expression range over, and whether all its parts stay within 64 bits."""

    names: dict[str, Interval]
    fits: bool = field(default=True, init=False)

    def of(self, node: Number) -> Interval:
        """Return bounds of a part, and note whether they leave 64 bits."""
        found = node.bounds(self)
        if found.low < INT64.min or found.high > INT64.max:
            self.fits = False
        return Interval(max(found.low, -LONGEST), min(found.high, LONGEST))


@dataclass(frozen=True)
class Rows:
    """The values of the names, row by row, in int64 or (dtype object) in Python integers."""

    text: str
    names: dict[str, Array]

    def __len__(self) -> int:
        return len(self.names["key"])

    @property
    def wide(self) -> bool:
        """Whether the values are Python integers."""
        return self.names["key"].dtype == object

    def where(self, mask: Mask) -> Rows:
        """Return the rows that ``mask`` selects."""
        return Rows(self.text, {name: values[mask] for name, values in self.names.items()})

    def refuse(self, bad: Mask, column: int, problem: str, remedy: str) -> None:
        """Raise InputError with the position in the expression and the first bad row, if there is one."""
        if bad.any():
            row = int(np.argmax(bad))
            values = ", ".join(f"{name} = {values[row]}" for name, values in self.names.items())
            raise InputError("label", self.text, f"column {column}: {problem} for {values}", remedy)


class Number(Protocol):
    """A part whose value is an integer."""

    def bounds(self, env: Bounds) -> Interval:
        """Return an interval that holds every value."""

    def values(self, rows: Rows) -> Array:
        """Return the value in every row, shape (n,)."""


class Condition(Protocol):
    """A part that is true or false."""

    def visit(self, env: Bounds) -> None:
        """Note the bounds of the numbers inside."""

    def holds(self, rows: Rows) -> Mask:
        """Return whether it is true, row by row, shape (n,)."""


@dataclass(frozen=True)
class Constant:
    """An integer as written."""

    value: int

    def bounds(self, env: Bounds) -> Interval:  # noqa: D102
        return Interval(self.value, self.value)

    def values(self, rows: Rows) -> Array:  # noqa: D102
        return np.full(len(rows), self.value, dtype=rows.names["key"].dtype)


@dataclass(frozen=True)
class Name:
    """``key``, ``a1``, ``a2``, ... or ``total``."""

    name: str

    def bounds(self, env: Bounds) -> Interval:  # noqa: D102
        return env.names[self.name]

    def values(self, rows: Rows) -> Array:  # noqa: D102
        return rows.names[self.name]


@dataclass(frozen=True)
class Call:
    """``min``, ``max``, ``abs`` or unary minus."""

    function: str
    arguments: tuple[Number, ...]

    def bounds(self, env: Bounds) -> Interval:  # noqa: D102
        inside = [env.of(a) for a in self.arguments]
        lows, highs = [i.low for i in inside], [i.high for i in inside]
        if self.function in ("min", "max"):
            pick = min if self.function == "min" else max
            return Interval(pick(lows), pick(highs))
        if self.function == "-":
            return Interval(-highs[0], -lows[0])
        smallest = 0 if lows[0] <= 0 <= highs[0] else min(abs(lows[0]), abs(highs[0]))
        return Interval(smallest, max(abs(lows[0]), abs(highs[0])))

    def values(self, rows: Rows) -> Array:  # noqa: D102
        first, *others = (a.values(rows) for a in self.arguments)
        if self.function in ("abs", "-"):
            return np.asarray(abs(first) if self.function == "abs" else -first)
        pick = np.minimum if self.function == "min" else np.maximum
        for other in others:
            first = pick(first, other)
        return first


@dataclass(frozen=True)
class Shifted:
    """``g(x)``: what the expression's table gives for x."""

    table: tuple[tuple[int, int], ...]
    argument: Number
    column: int

    def bounds(self, env: Bounds) -> Interval:  # noqa: D102
        env.of(self.argument)
        shifts = [shift for _, shift in self.table]
        return Interval(min(shifts), max(shifts))

    def values(self, rows: Rows) -> Array:  # noqa: D102
        found, table = self.argument.values(rows), dict(self.table)
        missing = np.array([value not in table for value in found.tolist()], dtype=np.bool_)
        rows.refuse(missing, self.column, "g has no entry", "give one in table for every value that occurs")
        return np.array([table[value] for value in found.tolist()], dtype=found.dtype)


@dataclass(frozen=True)
class Choice:
    """``a if condition else b``; each side is evaluated where it is taken, and nowhere else."""

    condition: Condition
    body: Number
    otherwise: Number

    def bounds(self, env: Bounds) -> Interval:  # noqa: D102
        self.condition.visit(env)
        return env.of(self.body) | env.of(self.otherwise)

    def values(self, rows: Rows) -> Array:  # noqa: D102
        taken = self.condition.holds(rows)
        out = np.empty(len(rows), dtype=rows.names["key"].dtype)
        out[taken] = self.body.values(rows.where(taken))
        out[~taken] = self.otherwise.values(rows.where(~taken))
        return out


@dataclass(frozen=True)
class Binary:
    """Two numbers with an operator between."""

    operator: str
    left: Number
    right: Number
    column: int

    def bounds(self, env: Bounds) -> Interval:  # noqa: D102
        return INTERVALS[self.operator](env.of(self.left), env.of(self.right))

    def values(self, rows: Rows) -> Array:  # noqa: D102
        left, right = self.left.values(rows), self.right.values(rows)
        if self.operator in ("//", "%"):
            rows.refuse(right == 0, self.column, "division by zero", "use a divisor that is never 0")
        if self.operator == "**":
            rows.refuse(right < 0, self.column, "a negative exponent", "keep exponents at 0 or above")
            self._refuse_long(rows, _power_bits(left, right) if rows.wide else None)
        found = np.asarray(_OPERATORS[self.operator](left, right))
        self._refuse_long(rows, _bits(found) if rows.wide else None)
        return found

    def _refuse_long(self, rows: Rows, bits: Array | None) -> None:
        if bits is not None:
            problem = f"a number of more than {MAX_BITS} bits"
            rows.refuse(bits > MAX_BITS, self.column, problem, "reduce with % earlier, or use smaller powers")


def _bits(values: Array) -> Array:
    return np.array([int(v).bit_length() for v in values], dtype=np.int64)


def _power_bits(base: Array, exponent: Array) -> Array:
    """Return a lower bound of the bits of base ** exponent, at most one above the limit."""
    pairs = zip(base.tolist(), exponent.tolist(), strict=True)
    bits = [(abs(b).bit_length() - 1) * e if abs(b) > 1 else 0 for b, e in pairs]
    return np.array([min(n, MAX_BITS + 1) for n in bits], dtype=np.int64)


_OPERATORS: dict[str, Callable[[Any, Any], Any]] = {
    "+": operator.add,
    "-": operator.sub,
    "*": operator.mul,
    "//": operator.floordiv,
    "%": operator.mod,
    "**": operator.pow,
}
