"""SymPy's printers, with all-ones matrices, rows given by a formula and σ' as mathematicians write them."""

from __future__ import annotations

import functools
import re
import textwrap

import sympy as sp
from sympy.printing.latex import LatexPrinter
from sympy.printing.precedence import PRECEDENCE
from sympy.printing.pretty.pretty_symbology import pretty_symbol
from sympy.printing.str import StrPrinter

_SUBSCRIPTS, _SUPERSCRIPTS = (str.maketrans("0123456789", digits) for digits in ("₀₁₂₃₄₅₆₇₈₉", "⁰¹²³⁴⁵⁶⁷⁸⁹"))
TEXT_WIDTH, MOST_TEXT_LINES = 70, 3
LINE_LATEX, LONGEST_LATEX, MOST_LINES = 160, 1200, 2


class _Latex(LatexPrinter):  # type: ignore[misc]
    def _print_OneMatrix(self, matrix: sp.OneMatrix, mat_symbol_style: str = "plain") -> str:
        rows, columns = (self._print(n) for n in matrix.shape)
        return rf"\mathbf{{1}}_{{{rows} \times {columns}}}"

    def _print_Identity(self, matrix: sp.Identity, mat_symbol_style: str = "plain") -> str:
        return "I"

    def _print_FunctionMatrix(self, matrix: sp.FunctionMatrix) -> str:
        return rf"\left({self._print(matrix.lamda.expr)}\right)_{{i}}"


def _function_name(name: str) -> str:
    """Return a function's name in the paper's letters: σ' for sigma'."""
    plain = name.rstrip("'")
    return str(pretty_symbol(plain)) + name[len(plain) :]


class _Text(StrPrinter):  # type: ignore[misc]
    """Formulas in one line as the paper writes them: r_s (P − 𝟏/d) W₂ᵀ W₁ᵀ."""

    def _print_Symbol(self, symbol: sp.Symbol) -> str:
        return str(pretty_symbol(symbol.name))

    def _print_MatrixSymbol(self, matrix: sp.MatrixSymbol) -> str:
        return str(pretty_symbol(matrix.name))

    def _print_MatrixElement(self, entry: sp.Expr) -> str:
        row, column = (str(int(n) + 1).translate(_SUBSCRIPTS) for n in (entry.i, entry.j))
        name = self._print(entry.parent)
        if entry.parent.rows == 1:
            return f"{name}{column}"
        return f"({name}){row}{column}" if len(name) > 1 else f"{name}{row}{column}"

    def _print_OneMatrix(self, matrix: sp.OneMatrix) -> str:
        return "𝟏"

    def _print_Identity(self, matrix: sp.Identity) -> str:
        return "I"

    def _print_DiagMatrix(self, matrix: sp.DiagMatrix) -> str:
        return f"diag({self._print(matrix.args[0])})"

    def _print_Transpose(self, matrix: sp.Transpose) -> str:
        return f"{self.parenthesize(matrix.arg, PRECEDENCE['Pow'])}ᵀ"

    def _print_Inverse(self, matrix: sp.Inverse) -> str:
        return f"{self.parenthesize(matrix.arg, PRECEDENCE['Pow'])}⁻¹"

    def _print_MatrixBase(self, matrix: sp.MatrixBase) -> str:
        rows = (", ".join(map(self._print, matrix.row(n))) for n in range(matrix.rows))
        return f"[{'; '.join(rows)}]"

    def _print_HadamardProduct(self, product: sp.HadamardProduct) -> str:
        return f"({' ⊙ '.join(self._print(part) for part in product.args)})"

    def _print_MatMul(self, product: sp.MatMul) -> str:
        scalar, matrices = product.as_coeff_matrices()
        factors = " ".join(self.parenthesize(m, PRECEDENCE["Mul"]) for m in matrices)
        above, below = sp.fraction(scalar)
        if above == -1:
            factors = f"−{factors}"
        elif above != 1:
            factors = f"{self.parenthesize(above, PRECEDENCE['Mul'])} {factors}"
        return factors if below == 1 else f"{factors}/{self.parenthesize(below, PRECEDENCE['Pow'])}"

    def _print_MatAdd(self, total: sp.MatAdd) -> str:
        terms = sorted((self._print(term) for term in total.args), key=lambda term: term.startswith("−"))
        return " + ".join(terms).replace("+ −", "− ")

    def _print_Function(self, function: sp.Function) -> str:
        return f"{_function_name(function.func.__name__)}({self.stringify(function.args, ', ')})"

    def _print_FunctionMatrix(self, matrix: sp.FunctionMatrix) -> str:
        return str(self._print(matrix.lamda.expr))

    def _print_ReasoningDistribution(self, distribution: sp.Expr) -> str:
        return f"P^{self._print(distribution.args[1])}({self._print(distribution.args[0])})"


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
    terms = expression.as_ordered_terms()
    lines = [""]
    for number, term in enumerate(map(to_latex, terms)):
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
        drawn = str(sp.pretty(expression, use_unicode=True, wrap_line=False))
        if max(len(line) for line in drawn.splitlines()) <= TEXT_WIDTH:
            return drawn
    written = _spoken(_Text().doprint(expression))
    lines = textwrap.wrap(" ".join(written.split()), TEXT_WIDTH)
    if len(lines) > MOST_TEXT_LINES:
        lines = [*lines[:MOST_TEXT_LINES], f"... ({len(lines)} lines)"]
    return "\n".join(lines)


def _spoken(code: str) -> str:
    """Write SymPy's operators as formulas have them: no stars, powers raised, true minus signs."""
    raised = re.sub(r"\*\*(\d+)", lambda power: power.group(1).translate(_SUPERSCRIPTS), code)
    return raised.replace("**", "^").replace("*", " ").replace("-", "−")
