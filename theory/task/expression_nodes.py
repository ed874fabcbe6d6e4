"""The parts of a label expression: what each is worth, and within which bounds it stays.

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

Array = npt.NDArray[Any]
Mask = npt.NDArray[np.bool_]
MAX_BITS = 4096
"""The longest integer that a part of an expression may reach."""
_LONGEST = 2**MAX_BITS
INT64 = np.iinfo(np.int64)


@dataclass(frozen=True)
class Interval:
    """All integers from low to high."""

    low: int
    high: int

    def __or__(self, other: Interval) -> Interval:
        return Interval(min(self.low, other.low), max(self.high, other.high))


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
        return Interval(max(found.low, -_LONGEST), min(found.high, _LONGEST))


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
        return _BOUNDS[self.operator](env.of(self.left), env.of(self.right))

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


@dataclass(frozen=True)
class Comparison:
    """``a < b``, or a chain such as ``0 < a <= b``."""

    operators: tuple[str, ...]
    operands: tuple[Number, ...]

    def visit(self, env: Bounds) -> None:  # noqa: D102
        for operand in self.operands:
            env.of(operand)

    def holds(self, rows: Rows) -> Mask:  # noqa: D102
        true = np.ones(len(rows), np.bool_)
        left = self.operands[0].values(rows)
        for name, operand in zip(self.operators, self.operands[1:], strict=True):
            # As in Python, an operand is not evaluated once the chain is false.
            right = left.copy()
            right[true] = operand.values(rows.where(true))
            true = true & COMPARISONS[name](left, right).astype(np.bool_)
            left = right
        return true


@dataclass(frozen=True)
class Connective:
    """``and``, ``or`` or ``not``; a later part is evaluated only where it decides."""

    connective: str
    parts: tuple[Condition, ...]

    def visit(self, env: Bounds) -> None:  # noqa: D102
        for part in self.parts:
            part.visit(env)

    def holds(self, rows: Rows) -> Mask:  # noqa: D102
        if self.connective == "not":
            return ~self.parts[0].holds(rows)
        open_value = self.connective == "and"
        out = np.full(len(rows), open_value)
        for part in self.parts:
            undecided = out == open_value
            out[undecided] = part.holds(rows.where(undecided))
        return out


def _bits(values: Array) -> Array:
    return np.array([int(v).bit_length() for v in values], dtype=np.int64)


def _power_bits(base: Array, exponent: Array) -> Array:
    """Return a lower bound of the bits of base ** exponent, at most one above the limit."""
    pairs = zip(base.tolist(), exponent.tolist(), strict=True)
    bits = [(abs(b).bit_length() - 1) * e if abs(b) > 1 else 0 for b, e in pairs]
    return np.array([min(n, MAX_BITS + 1) for n in bits], dtype=np.int64)


def _product(a: Interval, b: Interval) -> Interval:
    corners = [x * y for x in (a.low, a.high) for y in (b.low, b.high)]
    return Interval(min(corners), max(corners))


def _signed_parts(divisor: Interval) -> list[Interval]:
    """Return the negative and the positive part of a divisor; 0 is refused when it occurs."""
    parts = []
    if divisor.low < 0:
        parts.append(Interval(divisor.low, min(divisor.high, -1)))
    if divisor.high > 0:
        parts.append(Interval(max(divisor.low, 1), divisor.high))
    return parts


def _quotient(a: Interval, b: Interval) -> Interval:
    ends = [y for part in _signed_parts(b) for y in (part.low, part.high)]
    corners = [x // y for x in (a.low, a.high) for y in ends] or [0]
    return Interval(min(corners), max(corners))


def _remainder(a: Interval, b: Interval) -> Interval:
    found = []
    for part in _signed_parts(b):
        if part.low > 0:
            found.append(Interval(0, min(a.high, part.high - 1) if a.low >= 0 else part.high - 1))
        else:
            found.append(Interval(part.low + 1, 0))
    return Interval(min(i.low for i in found), max(i.high for i in found)) if found else Interval(0, 0)


def _power(a: Interval, b: Interval) -> Interval:
    first, last = max(b.low, 0), max(b.high, 0)
    base = max(abs(a.low), abs(a.high))
    if base <= 1:
        return Interval(min(a.low, 0), 1)
    too_long = (base.bit_length() - 1) * last > MAX_BITS
    top = _LONGEST if too_long else base**last
    if a.low < 0:
        return Interval(-top, top)
    smallest_too_long = a.low > 1 and (a.low.bit_length() - 1) * first > MAX_BITS
    return Interval(_LONGEST if smallest_too_long else a.low**first if a.low else 0, top)


_OPERATORS: dict[str, Callable[[Any, Any], Any]] = {
    "+": operator.add,
    "-": operator.sub,
    "*": operator.mul,
    "//": operator.floordiv,
    "%": operator.mod,
    "**": operator.pow,
}
_BOUNDS: dict[str, Callable[[Interval, Interval], Interval]] = {
    "+": lambda a, b: Interval(a.low + b.low, a.high + b.high),
    "-": lambda a, b: Interval(a.low - b.high, a.high - b.low),
    "*": _product,
    "//": _quotient,
    "%": _remainder,
    "**": _power,
}
COMPARISONS: dict[str, Callable[[Any, Any], Any]] = {
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
    "==": operator.eq,
    "!=": operator.ne,
}
