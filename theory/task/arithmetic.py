"""Label expressions: Python's parser builds a tree, and the parts that are allowed are evaluated row by row.

Nothing is compiled or run. Values are int64 where they are short enough and Python's integers elsewhere, so
that nothing wraps around. Parsing an expression also evaluates it on zero rows, which visits every part.
"""

from __future__ import annotations

import ast
import functools
import operator
import re
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from theory.edge.errors import InputError

MAX_LENGTH = 1000
MAX_DEPTH = 100
MAX_BITS = 4096
"""The longest integer that a part of an expression may reach."""
FUNCTIONS = frozenset({"min", "max", "abs", "g"})
ANCHOR = re.compile(r"a[1-9][0-9]{0,5}")
_FITS = 2**62
"""Numbers below this are kept in int64; an operation that might reach it is done in Python's integers."""
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
_INSTEAD: dict[type[ast.operator], str] = {
    ast.Div: "use // to divide",
    ast.BitXor: "use ** for powers",
}
_COMPARISONS: dict[type[ast.cmpop], Callable[[Any, Any], Any]] = {
    ast.Lt: operator.lt,
    ast.LtE: operator.le,
    ast.Gt: operator.gt,
    ast.GtE: operator.ge,
    ast.Eq: operator.eq,
    ast.NotEq: operator.ne,
}
_GRAMMAR = "use integers, key, a1, a2, ..., total, + - * // % **, min, max, abs and 'a if b < c else d'"


def parse(text: str, table: dict[int, int]) -> ast.expr:
    """Return an expression's tree, whose columns refer to the text as Python would write it.

    The text has at most 1000 characters, both as given and as Python writes it, and is nested at most 100
    deep. An error names the column, counted from 1, of the first part that is not allowed. ``table`` is g.
    """
    source = re.sub(r"\s", " ", re.sub("#.*", "", text)).strip()
    rows = _Rows(source, {}, table)
    _check_length(source)
    try:
        # Text that Python warns it will one day refuse, such as "1if a1 < 2 else 3", is refused already.
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            root = ast.parse(source, mode="eval").body
    except (SyntaxError, ValueError, RecursionError, MemoryError, Warning) as error:
        column = getattr(error, "offset", None) or 1
        problem = getattr(error, "msg", None) or "nested too deeply"
        remedy = _GRAMMAR if source else "write one, such as '(key + a1) % 97'"
        raise InputError("label", source, f"column {column}: not an expression ({problem})", remedy) from None
    rows.number(root)
    canonical = ast.unparse(root)
    _check_length(canonical)
    return ast.parse(canonical, mode="eval").body


def value_of(root: ast.expr, names: dict[str, Array], table: dict[int, int]) -> Array:
    """Return the value of a tree from ``parse`` in every row, shape (n,): int64, or object for long numbers.

    ``names`` gives ``key`` and the other names in the expression, row by row.
    """
    return _Rows(ast.unparse(root), names, table).number(root)


def names_in(root: ast.expr) -> frozenset[str]:
    """Return the names that stand for numbers; to the parser, functions' names are names too."""
    return frozenset(node.id for node in ast.walk(root) if isinstance(node, ast.Name)) - FUNCTIONS


def _check_length(text: str) -> None:
    if len(text) > MAX_LENGTH:
        problem = f"{len(text)} characters, and the limit is {MAX_LENGTH}"
        raise InputError("label", text[:40] + "...", problem, "write it shorter, or as a function")


@dataclass(frozen=True)
class _Rows:
    """The values of the names, row by row; no names while an expression is parsed."""

    text: str
    names: dict[str, Array]
    table: dict[int, int]
    depth: int = 0

    def __len__(self) -> int:
        return len(self.names["key"]) if self.names else 0

    def where(self, mask: Mask) -> _Rows:
        names = {name: values[mask] for name, values in self.names.items()}
        return _Rows(self.text, names, self.table, self.depth)

    def inside(self, node: ast.expr) -> _Rows:
        """Return the same rows one level deeper, or refuse a part that is nested too deeply."""
        if self.depth >= MAX_DEPTH:
            raise self.error(node, f"nested deeper than {MAX_DEPTH}", "write it in fewer steps")
        return _Rows(self.text, self.names, self.table, self.depth + 1)

    def error(self, node: ast.expr, problem: str, remedy: str = _GRAMMAR) -> InputError:
        return InputError("label", self.text, f"column {node.col_offset + 1}: {problem}", remedy)

    def number(self, node: ast.expr) -> Array:
        """Return the value of a part in every row, or refuse a part that is not a number."""
        inner = self.inside(node)
        match node:
            case ast.Constant(value=value):
                return self._constant(node, value)
            case ast.Name(id=name):
                if name not in ("key", "total", "position") and not ANCHOR.fullmatch(name):
                    remedy = "the names are key, a1, a2, ... and total"
                    raise self.error(node, f"unknown name {name!r}", remedy)
                return self.names[name] if self.names else np.zeros(0, np.int64)
            case ast.BinOp(left=left, op=op, right=right):
                if type(op) not in _OPERATORS:
                    remedy = _INSTEAD.get(type(op), "use + - * // % **")
                    raise self.error(right, "the operator before it is not supported", remedy)
                return self._combined(node, type(op), inner.number(left), inner.number(right))
            case ast.UnaryOp(op=ast.USub() | ast.UAdd() as sign, operand=operand):
                inside = inner.number(operand)
                return _narrow(-inside) if isinstance(sign, ast.USub) else inside
            case ast.IfExp(test=test, body=body, orelse=otherwise):
                taken = inner.condition(test)
                one, other = inner.where(taken).number(body), inner.where(~taken).number(otherwise)
                out = np.zeros(len(taken), np.result_type(one, other))
                out[taken], out[~taken] = one, other
                return _narrow(out)
            case ast.Call(func=ast.Name(id=name), args=arguments, keywords=[]):
                return self._called(node, name, [inner.number(argument) for argument in arguments])
            case ast.Compare() | ast.BoolOp() | ast.UnaryOp(op=ast.Not()):
                remedy = "write '1 if ... else 0' to make it a number"
                raise self.error(node, "a condition where a number belongs", remedy)
        raise self.error(node, f"{type(node).__name__} is not part of the grammar")

    def condition(self, node: ast.expr) -> Mask:
        """Return whether a part is true, row by row; as in Python, parts that cannot matter are skipped."""
        inner = self.inside(node)
        match node:
            case ast.Compare(left=first, ops=ops, comparators=others):
                true, left = np.ones(len(self), np.bool_), inner.number(first)
                for op, other in zip(ops, others, strict=True):
                    if type(op) not in _COMPARISONS:
                        raise self.error(node, "this comparison is not supported", "use < <= > >= == !=")
                    right = _filled(true, inner.where(true).number(other))
                    true = true & _COMPARISONS[type(op)](left, right).astype(np.bool_)
                    left = right
                return true
            case ast.BoolOp(op=op, values=parts):
                undecided = isinstance(op, ast.And)
                out = np.full(len(self), undecided)
                for part in parts:
                    still = out == undecided
                    out[still] = inner.where(still).condition(part)
                return out
            case ast.UnaryOp(op=ast.Not(), operand=operand):
                return ~inner.condition(operand)
        raise self.error(node, "a number where a condition belongs", "compare it, for example with != 0")

    def _constant(self, node: ast.Constant, value: object) -> Array:
        if type(value) is not int:
            raise self.error(node, f"{value!r} is not an integer", "use integers only")
        written = self.text.encode()[node.col_offset : node.end_col_offset].decode()
        if not written.isdecimal():
            raise self.error(node, f"{written} is not in decimal digits", f"write {value}")
        if value >= 2**63:
            raise self.error(node, "an integer of more than 64 bits", f"use at most {2**63 - 1}")
        return np.full(len(self), value, dtype=np.int64 if value < _FITS else object)

    def _called(self, node: ast.expr, name: str, values: list[Array]) -> Array:
        if name not in FUNCTIONS:
            raise self.error(node, f"unknown function {name!r}", "the functions are min, max, abs, g")
        if not values or (len(values) > 1 and name in ("abs", "g")):
            wanted = "one argument" if name in ("abs", "g") else "at least one argument"
            raise self.error(node, f"{name} has {len(values)} arguments", f"give {wanted}")
        if name == "abs":
            return np.asarray(abs(values[0]))
        if name != "g":
            return _narrow(functools.reduce(np.minimum if name == "min" else np.maximum, values))
        if not self.table:
            raise self.error(node, "g needs a table", "add table = { anchor = shift, ... }")
        keys = values[0].tolist()
        missing = np.array([key not in self.table for key in keys], dtype=np.bool_)
        self._refuse(missing, node, "g has no entry", "give one in table for every value that occurs")
        return _narrow(np.array([self.table[key] for key in keys], dtype=object))

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

    def _refuse_long(self, node: ast.expr, bits: Array) -> None:
        problem = f"a number of more than {MAX_BITS} bits"
        self._refuse(bits > MAX_BITS, node, problem, "reduce with % earlier, or use smaller powers")

    def _refuse(self, bad: Mask, node: ast.expr, problem: str, remedy: str) -> None:
        """Raise InputError with the part of the expression and the first bad row, if there is one."""
        if bad.any():
            row = int(np.argmax(bad))
            values = ", ".join(f"{name} = {values[row]}" for name, values in self.names.items())
            raise InputError("label", self.text, f"{ast.unparse(node)}: {problem} for {values}", remedy)


def _filled(mask: Mask, values: Array) -> Array:
    out = np.zeros(len(mask), dtype=values.dtype)
    out[mask] = values
    return out


def _stays_short(op: type[ast.operator], left: Array, right: Array) -> bool:
    """Return whether no value of the operation can reach 2^62."""
    a, b = (max(-int(values.min(initial=0)), int(values.max(initial=0))) for values in (left, right))
    if op is ast.Pow:
        return a.bit_length() * b < 62
    return op in (ast.FloorDiv, ast.Mod) or (a * b if op is ast.Mult else a + b) < _FITS


def _narrow(values: Array) -> Array:
    """Return Python integers in int64 if all are short enough."""
    short = values.dtype != object or all(-_FITS < value < _FITS for value in values.tolist())
    return values.astype(np.int64, copy=False) if short else values


def _bits(values: Array) -> Array:
    return np.array([abs(value).bit_length() for value in values.tolist()], dtype=object)
