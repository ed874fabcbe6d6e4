"""The grammar of label expressions: Python's own parser gives a tree, and only listed parts may occur.

Nothing is compiled or run. Every refusal names the column, counted from 1.
"""

from __future__ import annotations

import ast
import re
import warnings

from theory.errors import InputError

MAX_LENGTH = 1000
MAX_DEPTH = 100
ANCHOR = re.compile(r"a[1-9][0-9]{0,5}")
_ARGUMENTS = {"min": MAX_LENGTH, "max": MAX_LENGTH, "abs": 1, "g": 1}
"""The functions, and the most arguments that each takes."""
_OPERATORS = (ast.Add, ast.Sub, ast.Mult, ast.FloorDiv, ast.Mod, ast.Pow)
_REMEDIES: dict[type[ast.operator], str] = {
    ast.Div: "use // to divide",
    ast.BitXor: "use ** for powers",
}
_COMPARISONS = (ast.Lt, ast.LtE, ast.Gt, ast.GtE, ast.Eq, ast.NotEq)
_GRAMMAR = "use integers, key, a1, a2, ..., total, + - * // % **, min, max, abs and 'a if b < c else d'"


def parse(text: str, *, has_table: bool) -> tuple[ast.expr, frozenset[str]]:
    """Return an expression's tree and the names in it.

    Parameters
    ----------
    text : str
        At most 1000 characters, as given and as Python would write it, and nested at most 100 deep.
    has_table : bool
        Whether there is a table for ``g(x)``.
    """
    source = text.replace("\n", " ").strip(" ")
    reader = _Reader(source, has_table)
    root = reader.tree()
    reader.number(root, 1)
    reader.check_length(ast.unparse(root))
    return root, frozenset(reader.names)


class _Reader:
    def __init__(self, text: str, has_table: bool) -> None:
        self.text, self.has_table = text, has_table
        self.names: set[str] = set()

    def error(self, column: int, problem: str, remedy: str = _GRAMMAR) -> InputError:
        return InputError("label", self.text, f"column {column + 1}: {problem}", remedy)

    def check_length(self, text: str) -> None:
        if len(text) > MAX_LENGTH:
            problem = f"{len(text)} characters, and the limit is {MAX_LENGTH}"
            raise InputError("label", text[:40] + "...", problem, "write it shorter, or as a function")

    def tree(self) -> ast.expr:
        self.check_length(self.text)
        if not self.text:
            raise self.error(0, "the expression is empty")
        try:
            # Python warns of text that it will one day refuse, such as "1if a1 < 2 else 3"; refused here.
            with warnings.catch_warnings():
                warnings.simplefilter("error")
                return ast.parse(self.text, mode="eval").body
        except (SyntaxError, ValueError, RecursionError, MemoryError, Warning) as error:
            column = max((getattr(error, "offset", None) or 1) - 1, 0)
            problem = getattr(error, "msg", None) or "nested too deeply"
            raise self.error(column, f"not an expression ({problem})") from None

    def number(self, node: ast.expr, depth: int) -> None:
        """Refuse a tree whose value is not an integer."""
        if depth > MAX_DEPTH:
            raise self.error(node.col_offset, f"nested deeper than {MAX_DEPTH}", "write it in fewer steps")
        match node:
            case ast.Constant(value=value):
                self._constant(node, value)
            case ast.Name(id=name):
                if name not in ("key", "total") and not ANCHOR.fullmatch(name):
                    remedy = "the names are key, a1, a2, ... and total"
                    raise self.error(node.col_offset, f"unknown name {name!r}", remedy)
                self.names.add(name)
            case ast.BinOp(left=left, op=operator, right=right):
                if not isinstance(operator, _OPERATORS):
                    remedy = _REMEDIES.get(type(operator), "use + - * // % **")
                    raise self.error(left.end_col_offset or 0, "an operator outside the grammar", remedy)
                self.number(left, depth + 1)
                self.number(right, depth + 1)
            case ast.UnaryOp(op=ast.USub() | ast.UAdd(), operand=operand):
                self.number(operand, depth + 1)
            case ast.IfExp(test=test, body=body, orelse=otherwise):
                self.condition(test, depth + 1)
                self.number(body, depth + 1)
                self.number(otherwise, depth + 1)
            case ast.Call(func=ast.Name(id=name), args=arguments, keywords=[]):
                self._call(node, name, arguments, depth)
            case ast.Compare() | ast.BoolOp() | ast.UnaryOp(op=ast.Not()):
                remedy = "write '1 if ... else 0' to make it a number"
                raise self.error(node.col_offset, "a condition where a number belongs", remedy)
            case _:
                raise self.error(node.col_offset, f"{type(node).__name__} is not part of the grammar")

    def condition(self, node: ast.expr, depth: int) -> None:
        """Refuse a tree that is neither true nor false."""
        if depth > MAX_DEPTH:
            raise self.error(node.col_offset, f"nested deeper than {MAX_DEPTH}", "write it in fewer steps")
        match node:
            case ast.Compare(left=left, ops=ops, comparators=others):
                if not all(isinstance(op, _COMPARISONS) for op in ops):
                    raise self.error(
                        node.col_offset, "a comparison outside the grammar", "use < <= > >= == !="
                    )
                for operand in (left, *others):
                    self.number(operand, depth + 1)
            case ast.BoolOp(values=parts):
                for part in parts:
                    self.condition(part, depth + 1)
            case ast.UnaryOp(op=ast.Not(), operand=operand):
                self.condition(operand, depth + 1)
            case _:
                remedy = "compare it, for example with != 0"
                raise self.error(node.col_offset, "a number where a condition belongs", remedy)

    def _constant(self, node: ast.Constant, value: object) -> None:
        if type(value) is not int:
            raise self.error(node.col_offset, f"{value!r} is not an integer", "use integers only")
        written = self.text.encode()[node.col_offset : node.end_col_offset].decode()
        if not written.isdecimal():
            raise self.error(node.col_offset, f"{written} is not in decimal digits", f"write {value}")
        if value >= 2**63:
            raise self.error(node.col_offset, "an integer of more than 64 bits", f"use at most {2**63 - 1}")

    def _call(self, node: ast.expr, name: str, arguments: list[ast.expr], depth: int) -> None:
        if name not in _ARGUMENTS:
            remedy = "the functions are min, max, abs, g"
            raise self.error(node.col_offset, f"unknown function {name!r}", remedy)
        most = _ARGUMENTS[name]
        if not 1 <= len(arguments) <= most:
            wanted = "one argument" if most == 1 else "at least one argument"
            raise self.error(node.col_offset, f"{name} has {len(arguments)} arguments", f"give {wanted}")
        if name == "g" and not self.has_table:
            raise self.error(node.col_offset, "g needs a table", "add table = { anchor = shift, ... }")
        for argument in arguments:
            self.number(argument, depth + 1)
