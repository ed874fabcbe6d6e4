"""Reading a label expression: Python's own parser gives a tree, and only what is listed here may occur.

Nothing is compiled or run. Every refusal names the column, counted from 1.
"""

from __future__ import annotations

import ast
import re
import warnings

from theory.errors import InputError
from theory.task.expression_conditions import Comparison, Connective
from theory.task.expression_nodes import (
    Binary,
    Call,
    Choice,
    Condition,
    Constant,
    Name,
    Number,
    Shifted,
)
from theory.task.intervals import INT64

MAX_LENGTH = 1000
MAX_DEPTH = 100
ANCHOR = re.compile(r"a([1-9][0-9]{0,5})")
_FOREIGN = re.compile(r"[^A-Za-z0-9_+\-*/%()<>=!, \n]")
_FUNCTIONS = {"min": (1, MAX_LENGTH), "max": (1, MAX_LENGTH), "abs": (1, 1), "g": (1, 1)}
_BINARY: dict[type[ast.operator], str] = {
    ast.Add: "+",
    ast.Sub: "-",
    ast.Mult: "*",
    ast.FloorDiv: "//",
    ast.Mod: "%",
    ast.Pow: "**",
}
_COMPARISONS: dict[type[ast.cmpop], str] = {
    ast.Lt: "<",
    ast.LtE: "<=",
    ast.Gt: ">",
    ast.GtE: ">=",
    ast.Eq: "==",
    ast.NotEq: "!=",
}
_GRAMMAR = "use integers, key, a1, a2, ..., total, + - * // % **, min, max, abs and 'a if b < c else d'"
Table = tuple[tuple[int, int], ...]


def parse(text: str, table: Table) -> tuple[Number, str, frozenset[str]]:
    """Return an expression's tree, its text in canonical form, and the names in it.

    Columns in the tree count in the canonical form.

    Raises
    ------
    InputError
        If the text is longer than 1000 characters (as given or in canonical form), nested deeper than 100,
        or outside the grammar.
    """
    _, canonical, _ = _Reader(text, table).read()
    return _Reader(canonical, table).read()


class _Reader:
    def __init__(self, text: str, table: Table) -> None:
        self.text, self.table = text, table
        self.names: set[str] = set()
        self.indent = len(text) - len(text.lstrip(" \n"))

    def read(self) -> tuple[Number, str, frozenset[str]]:
        if len(self.text) > MAX_LENGTH:
            problem = f"{len(self.text)} characters, and the limit is {MAX_LENGTH}"
            raise InputError("label", self.text[:40] + "...", problem, "write it shorter, or as a function")
        foreign = _FOREIGN.search(self.text)
        if foreign:
            raise self.error(foreign.start() - self.indent, f"{foreign[0]!r} is not part of the grammar")
        tree = self._tree()
        root = self.number(tree.body, 1)
        return root, ast.unparse(tree), frozenset(self.names)

    def error(self, offset: int, problem: str, remedy: str = _GRAMMAR) -> InputError:
        return InputError("label", self.text, f"column {offset + self.indent + 1}: {problem}", remedy)

    def _tree(self) -> ast.Expression:
        source = self.text.replace("\n", " ").strip(" ")
        if not source:
            raise self.error(0, "the expression is empty")
        try:
            # Python warns of what it will one day refuse, such as "1if a1 < 2 else 3"; refused here.
            with warnings.catch_warnings():
                warnings.simplefilter("error")
                return ast.parse(source, mode="eval")
        except (SyntaxError, ValueError, RecursionError, MemoryError, Warning) as error:
            offset = max((getattr(error, "offset", None) or 1) - 1, 0)
            problem = getattr(error, "msg", None) or "nested too deeply"
            raise self.error(offset, f"not an expression ({problem})") from None

    def number(self, node: ast.expr, depth: int) -> Number:
        if depth > MAX_DEPTH:
            raise self.error(node.col_offset, f"nested deeper than {MAX_DEPTH}", "write it in fewer steps")
        match node:
            case ast.Constant(value=value):
                return self._constant(node, value)
            case ast.Name(id=name):
                return self._name(node, name)
            case ast.BinOp():
                return self._binary(node, depth)
            case ast.UnaryOp(op=ast.USub(), operand=operand):
                return Call("-", (self.number(operand, depth + 1),))
            case ast.UnaryOp(op=ast.UAdd(), operand=operand):
                return self.number(operand, depth + 1)
            case ast.IfExp(test=test, body=body, orelse=otherwise):
                sides = self.number(body, depth + 1), self.number(otherwise, depth + 1)
                return Choice(self.condition(test, depth + 1), *sides)
            case ast.Call(func=ast.Name(id=name), args=arguments, keywords=[]):
                return self._call(node, name, arguments, depth)
            case ast.Compare() | ast.BoolOp() | ast.UnaryOp(op=ast.Not()):
                remedy = "write '1 if ... else 0' to make it a number"
                raise self.error(node.col_offset, "a condition where a number belongs", remedy)
            case _:
                raise self.error(node.col_offset, f"{type(node).__name__} is not part of the grammar")

    def condition(self, node: ast.expr, depth: int) -> Condition:
        if depth > MAX_DEPTH:
            raise self.error(node.col_offset, f"nested deeper than {MAX_DEPTH}", "write it in fewer steps")
        match node:
            case ast.Compare(left=left, ops=operators, comparators=others):
                names = [_COMPARISONS.get(type(op)) for op in operators]
                if None in names:
                    raise self.error(
                        node.col_offset, "a comparison outside the grammar", "use < <= > >= == !="
                    )
                operands = [self.number(operand, depth + 1) for operand in (left, *others)]
                return Comparison(tuple(n for n in names if n), tuple(operands))
            case ast.BoolOp(op=op, values=values):
                parts = tuple(self.condition(value, depth + 1) for value in values)
                return Connective("and" if isinstance(op, ast.And) else "or", parts)
            case ast.UnaryOp(op=ast.Not(), operand=operand):
                return Connective("not", (self.condition(operand, depth + 1),))
            case _:
                remedy = "compare it, for example with != 0"
                raise self.error(node.col_offset, "a number where a condition belongs", remedy)

    def _constant(self, node: ast.expr, value: object) -> Number:
        if type(value) is not int:
            raise self.error(node.col_offset, f"{value!r} is not an integer", "use integers only")
        if value > INT64.max:
            raise self.error(node.col_offset, "an integer of more than 64 bits", f"use at most {INT64.max}")
        return Constant(value)

    def _name(self, node: ast.expr, name: str) -> Number:
        if name not in ("key", "total") and not ANCHOR.fullmatch(name):
            raise self.error(
                node.col_offset, f"unknown name {name!r}", "the names are key, a1, a2, ... and total"
            )
        self.names.add(name)
        return Name(name)

    def _binary(self, node: ast.BinOp, depth: int) -> Number:
        symbol = _BINARY.get(type(node.op))
        # The operator stands after the left side and whatever closes it.
        end = node.left.end_col_offset or 0
        source = self.text.lstrip(" \n")
        offset = len(source) - len(source[end:].lstrip(" )\n"))
        if symbol is None:
            remedy = "use // to divide" if isinstance(node.op, ast.Div) else "use + - * // % **"
            raise self.error(offset, "an operator outside the grammar", remedy)
        left, right = self.number(node.left, depth + 1), self.number(node.right, depth + 1)
        return Binary(symbol, left, right, offset + self.indent + 1)

    def _call(self, node: ast.expr, name: str, arguments: list[ast.expr], depth: int) -> Number:
        if name not in _FUNCTIONS:
            raise self.error(
                node.col_offset, f"unknown function {name!r}", "the functions are min, max, abs, g"
            )
        fewest, most = _FUNCTIONS[name]
        if not fewest <= len(arguments) <= most:
            wanted = "one argument" if most == 1 else "at least one argument"
            raise self.error(node.col_offset, f"{name} has {len(arguments)} arguments", f"give {wanted}")
        inside = tuple(self.number(argument, depth + 1) for argument in arguments)
        if name != "g":
            return Call(name, inside)
        if not self.table:
            raise self.error(node.col_offset, "g needs a table", "add table = { anchor = shift, ... }")
        return Shifted(self.table, inside[0], node.col_offset + self.indent + 1)
