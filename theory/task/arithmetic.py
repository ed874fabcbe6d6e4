"""The value of a label expression, row by row: in int64 where it fits, else in Python's integers."""

from __future__ import annotations

import ast
import functools
import operator
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from theory.errors import InputError

MAX_BITS = 4096
"""The longest integer that a part of an expression may reach."""
_FITS = 2**62
"""Numbers below this are kept in int64: no operation on two of them is begun that would leave it."""
Array = npt.NDArray[Any]
Mask = npt.NDArray[np.bool_]
_OPERATORS: dict[type[ast.operator], Callable[[Any, Any], Any]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.FloorDiv: operator.floordiv,
    ast.Mod: operator.mod,
    ast.Pow: operator.pow,
}
_COMPARISONS: dict[type[ast.cmpop], Callable[[Any, Any], Any]] = {
    ast.Lt: operator.lt,
    ast.LtE: operator.le,
    ast.Gt: operator.gt,
    ast.GtE: operator.ge,
    ast.Eq: operator.eq,
    ast.NotEq: operator.ne,
}


def value_of(root: ast.expr, names: dict[str, Array], table: dict[int, int]) -> Array:
    """Return an expression's value in every row, shape (n,): int64, or object where a number is too long.

    Parameters
    ----------
    root : ast.expr
        A tree that ``parse`` has let pass.
    names : dict of str to ndarray of int64, shape (n,)
        ``key`` and the other names in the expression.
    table : dict of int to int
        g.
    """
    return _Rows(ast.unparse(root), names, table).number(root)


@dataclass(frozen=True)
class _Rows:
    """The values of the names, row by row."""

    text: str
    names: dict[str, Array]
    table: dict[int, int]

    def __len__(self) -> int:
        return len(self.names["key"])

    def where(self, mask: Mask) -> _Rows:
        return _Rows(self.text, {name: values[mask] for name, values in self.names.items()}, self.table)

    def number(self, node: ast.expr) -> Array:
        """Return the value of a part in every row."""
        if not len(self):
            return np.zeros(0, np.int64)
        match node:
            case ast.Constant(value=int(value)):
                return np.full(len(self), value, dtype=np.int64 if value < _FITS else object)
            case ast.Name(id=name):
                return self.names[name]
            case ast.UnaryOp(op=ast.UAdd(), operand=operand):
                return self.number(operand)
            case ast.UnaryOp(operand=operand):
                return _narrow(-self.number(operand))
            case ast.BinOp(left=left, op=op, right=right):
                return self._combined(node, type(op), self.number(left), self.number(right))
            case ast.IfExp(test=test, body=body, orelse=otherwise):
                return self._chosen(self.condition(test), body, otherwise)
            case ast.Call(func=ast.Name(id="g"), args=[argument]):
                return self._looked_up(node, self.number(argument))
            case ast.Call(func=ast.Name(id=name), args=arguments):
                values = [self.number(argument) for argument in arguments]
                if name == "abs":
                    return np.asarray(abs(values[0]))
                pick = np.minimum if name == "min" else np.maximum
                return _narrow(functools.reduce(pick, values))
        raise AssertionError(ast.dump(node))

    def condition(self, node: ast.expr) -> Mask:
        """Return whether a part is true, row by row; as in Python, only parts that decide are evaluated."""
        match node:
            case ast.Compare(left=first, ops=ops, comparators=others):
                true = np.ones(len(self), np.bool_)
                left = self.number(first)
                for op, other in zip(ops, others, strict=True):
                    right = self._filled(true, self.where(true).number(other))
                    true = true & _COMPARISONS[type(op)](left, right).astype(np.bool_)
                    left = right
                return true
            case ast.BoolOp(op=op, values=parts):
                undecided = isinstance(op, ast.And)
                out = np.full(len(self), undecided)
                for part in parts:
                    still = out == undecided
                    out[still] = self.where(still).condition(part)
                return out
            case ast.UnaryOp(operand=operand):
                return ~self.condition(operand)
        raise AssertionError(ast.dump(node))

    def _combined(self, node: ast.expr, op: type[ast.operator], left: Array, right: Array) -> Array:
        if op in (ast.FloorDiv, ast.Mod):
            self._refuse(right == 0, node, "division by zero", "use a divisor that is never 0")
        if op is ast.Pow:
            self._refuse(right < 0, node, "a negative exponent", "keep exponents at 0 or above")
        if object not in (left.dtype, right.dtype) and _stays_short(op, left, right):
            return np.asarray(_OPERATORS[op](left, right))
        left, right = left.astype(object), right.astype(object)
        if op is ast.Pow:
            self._refuse_long(node, (_bits(left) - 1) * right)
        value = np.asarray(_OPERATORS[op](left, right))
        self._refuse_long(node, _bits(value))
        return _narrow(value)

    def _chosen(self, taken: Mask, body: ast.expr, otherwise: ast.expr) -> Array:
        values, others = self.where(taken).number(body), self.where(~taken).number(otherwise)
        out = self._filled(taken, values.astype(others.dtype) if others.dtype == object else values)
        out[~taken] = others
        return out

    def _filled(self, mask: Mask, values: Array) -> Array:
        out = np.zeros(len(self), dtype=values.dtype)
        out[mask] = values
        return out

    def _looked_up(self, node: ast.expr, values: Array) -> Array:
        missing = np.array([value not in self.table for value in values.tolist()], dtype=np.bool_)
        self._refuse(missing, node, "g has no entry", "give one in table for every value that occurs")
        return _narrow(np.array([self.table[value] for value in values.tolist()], dtype=object))

    def _refuse_long(self, node: ast.expr, bits: Array) -> None:
        problem = f"a number of more than {MAX_BITS} bits"
        self._refuse(bits > MAX_BITS, node, problem, "reduce with % earlier, or use smaller powers")

    def _refuse(self, bad: Mask, node: ast.expr, problem: str, remedy: str) -> None:
        """Raise InputError with the part of the expression and the first bad row, if there is one."""
        if bad.any():
            row = int(np.argmax(bad))
            values = ", ".join(f"{name} = {values[row]}" for name, values in self.names.items())
            raise InputError("label", self.text, f"{ast.unparse(node)}: {problem} for {values}", remedy)


def _stays_short(op: type[ast.operator], left: Array, right: Array) -> bool:
    """Return whether no value of the operation can reach 2^62."""
    a, b = (max(-int(values.min()), int(values.max())) for values in (left, right))
    if op is ast.Pow:
        return a.bit_length() * b < 62
    return op in (ast.FloorDiv, ast.Mod) or (a * b if op is ast.Mult else a + b) < _FITS


def _narrow(values: Array) -> Array:
    """Return Python integers in int64 if all are short enough."""
    short = values.dtype != object or all(-_FITS < value < _FITS for value in values.tolist())
    return values.astype(np.int64) if short else values


def _bits(values: Array) -> Array:
    return np.array([abs(value).bit_length() for value in values.tolist()], dtype=object)
