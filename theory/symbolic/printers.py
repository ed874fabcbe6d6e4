"""SymPy's printers, with all-ones matrices, rows given by a formula and σ' as mathematicians write them."""

from __future__ import annotations

import functools
import textwrap

import sympy as sp
from sympy.printing.latex import LatexPrinter
from sympy.printing.str import StrPrinter

TEXT_WIDTH, MOST_TEXT_LINES = 92, 12
LINE_LATEX, LONGEST_LATEX, MOST_LINES = 160, 1200, 6


class _Latex(LatexPrinter):  # type: ignore[misc]
    def _print_OneMatrix(self, matrix: sp.OneMatrix, mat_symbol_style: str = "plain") -> str:
        rows, columns = (self._print(n) for n in matrix.shape)
        return rf"\mathbf{{1}}_{{{rows} \times {columns}}}"

    def _print_Identity(self, matrix: sp.Identity, mat_symbol_style: str = "plain") -> str:
        return "I"

    def _print_FunctionMatrix(self, matrix: sp.FunctionMatrix) -> str:
        return rf"\left({self._print(matrix.lamda.expr)}\right)_{{i}}"


class _Text(StrPrinter):  # type: ignore[misc]
    def _print_OneMatrix(self, matrix: sp.OneMatrix) -> str:
        return f"ones({matrix.rows}, {matrix.cols})"

    def _print_FunctionMatrix(self, matrix: sp.FunctionMatrix) -> str:
        return f"row_i({self._print(matrix.lamda.expr)})"


@functools.lru_cache(maxsize=1024)
def to_latex(expression: sp.Basic) -> str:
    """Return LaTeX without delimiters."""
    latex: str = _Latex({"mat_str": "bmatrix", "mat_delim": ""}).doprint(expression)
    return latex.replace(r"\operatorname{sigma'}", r"\sigma'")


def in_lines(expression: sp.Basic) -> str:
    """Return LaTeX without delimiters, a long sum broken into lines and a very long one cut short."""
    whole = to_latex(expression)
    if len(whole) <= LINE_LATEX or not isinstance(expression, sp.Expr):
        return whole
    if len(whole) > LONGEST_LATEX:
        expression = sp.expand(expression)
    if not isinstance(expression, sp.Add):
        return whole
    terms = [to_latex(term) for term in expression.as_ordered_terms()]
    lines = [""]
    for number, term in enumerate(terms):
        if len(lines[-1]) + len(term) > LINE_LATEX and lines[-1]:
            lines.append("")
        if len(lines) > MOST_LINES:
            lines[-1] = rf"+ \cdots \quad \text{{({len(terms)} terms)}}"
            break
        lines[-1] += f" {term}" if term.startswith("-") or number == 0 else f" + {term}"
    body = " \\\\\n".join(f"& {line.strip()}" for line in lines)
    return f"\\begin{{aligned}}\n{body}\n\\end{{aligned}}"


@functools.lru_cache(maxsize=1024)
def to_text(expression: sp.Basic) -> str:
    """Return a formula as text: in one line or two-dimensional where that fits, else in wrapped lines."""
    if not expression.has(sp.FunctionMatrix, sp.OneMatrix, sp.MatrixSymbol):
        drawn: str = sp.pretty(expression, use_unicode=True, wrap_line=False)
        if max(len(line) for line in drawn.splitlines()) <= TEXT_WIDTH:
            return drawn
    written = _Text().doprint(expression)
    lines = textwrap.wrap(" ".join(written.split()), TEXT_WIDTH)
    if len(lines) > MOST_TEXT_LINES:
        lines = [*lines[:MOST_TEXT_LINES], f"... ({len(lines)} lines)"]
    return "\n".join(lines)
