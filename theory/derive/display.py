"""Derivations on a terminal, in a notebook, and as a page of the documentation."""

from __future__ import annotations

import textwrap
from html import escape
from typing import TYPE_CHECKING

from theory.derive.statement import Statement, Step

if TYPE_CHECKING:
    import sympy as sp

WIDTH, MOST_LINES = 78, 12
MOST_ENTRIES, LONGEST_LATEX, MOST_TERMS = 9, 500, 4


def show(derivation: Statement) -> str:
    """Return a derivation as text for a terminal of 80 columns."""
    d = derivation
    lines = [*textwrap.wrap(f"{d.equation}: {d.title}", WIDTH), "=" * WIDTH, "", "Statement"]
    lines += [*_filled(f"{d.quantity} ="), *_drawn(d.statement, indent=4), "", "Assumptions"]
    lines += [line for assumption in d.assumptions for line in _filled(f"- {assumption}", hang=2)]
    lines += ["", "Steps"]
    for number, step in enumerate(d.steps, 1):
        sentence, expression = _shortened(step)
        lines += [*_filled(f"{number}. {sentence}", hang=3), *_drawn(expression, indent=7)]
    lines += ["", *textwrap.wrap(f"Scope: {d.scope}", WIDTH), "", "Checks"]
    for check in d.checks:
        lines += _filled(("0 " if check.passed else "NOT ZERO ") + check.sentence, hang=2)
    return "\n".join(lines) + "\n"


def _filled(text: str, hang: int = 0) -> list[str]:
    return textwrap.wrap(text, WIDTH, initial_indent="  ", subsequent_indent=" " * (2 + hang))


def _drawn(expression: sp.Basic, indent: int) -> list[str]:
    """Return SymPy's two-dimensional picture of a formula, wrapped and, where it is very long, cut."""
    import sympy as sp

    width = WIDTH - indent
    lines = str(sp.pretty(expression, use_unicode=True, num_columns=width)).splitlines()
    if len(lines) > MOST_LINES:
        lines = [*lines[:MOST_LINES], f"... ({len(lines)} lines)"]
    return [" " * indent + line.rstrip() for line in lines]


def _shortened(step: Step) -> tuple[str, sp.Basic]:
    """Return a step's sentence and its expression, or only the first entry of a long matrix."""
    matrix = step.expression
    if not hasattr(matrix, "rows") or not hasattr(matrix, "flat"):
        return step.sentence, matrix
    if len(matrix) <= MOST_ENTRIES and matrix.count_ops() < 3 * MOST_ENTRIES:
        return step.sentence, matrix
    return f"{step.sentence} (First entry of {matrix.rows} × {matrix.cols}.)", matrix[0, 0]


def notebook(derivation: Statement) -> str:
    """Return a derivation as HTML, its steps folded; notebooks typeset the LaTeX between dollar signs."""
    d = derivation
    steps = "".join(
        f"<li>{escape(sentence)}$${escape(_latex(expression))}$$</li>"
        for sentence, expression in map(_shortened, d.steps)
    )
    return (
        f"<p><strong>{escape(d.equation)}: {escape(d.title)}</strong></p>"
        f"<p>{escape(d.quantity)} =</p>$${escape(_latex(d.statement))}$$"
        f"<details><summary>{len(d.steps)} steps</summary><ol>{steps}</ol></details>"
    )


def section(derivation: Statement) -> str:
    """Return a derivation as a section in MyST Markdown."""
    d = derivation
    parts = [
        f"({anchor(d.name)})=\n## {escaped(d.equation)}: {escaped(d.title)}",
        f"`{d.quantity}` =",
        f"$$\n{_latex(d.statement)}\n$$",
        "**Assumptions.**",
        "\n".join(f"- {escaped(a)}" for a in d.assumptions),
        "**Steps.**",
    ]
    for number, step in enumerate(d.steps, 1):
        sentence, expression = _shortened(step)
        display = textwrap.indent(f"$$\n{_latex(expression)}\n$$", "   ")
        parts += [f"{number}. {escaped(sentence)}", display]
    arguments = ", ".join(f"`{symbol}` ({escaped(text)})" for symbol, text in d.arguments.items())
    parts += [
        f"**Scope.** {escaped(d.scope)}",
        "**Checks** (each difference simplifies to zero).",
        "\n".join(f"- {escaped(c.sentence)}" for c in d.checks),
        f"**As a function:** `find_derivation({d.name!r}).function()` of {arguments}.",
    ]
    return "\n\n".join(parts) + "\n"


def _latex(expression: sp.Basic) -> str:
    """Return SymPy's LaTeX, or only the first terms of a very long sum."""
    import sympy as sp

    latex = str(sp.latex(expression, mat_symbol_style="bold"))
    if len(latex) <= LONGEST_LATEX or not isinstance(sp.expand(expression), sp.Add):
        return latex
    terms = sp.expand(expression).as_ordered_terms()
    first = " + ".join(sp.latex(term, mat_symbol_style="bold") for term in terms[:MOST_TERMS])
    return first.replace("+ -", "-") + rf" + \cdots \quad \text{{({len(terms)} terms)}}"


def anchor(name: str) -> str:
    """Return the target of links to a derivation's section."""
    return "derivation-" + name.replace(" ", "-").replace("_", "-")


def escaped(text: str) -> str:
    """Escape the underscores, stars, bars and angle brackets of formulas in sentences for Markdown."""
    for character in "\\_*|<>":
        text = text.replace(character, "\\" + character)
    return text
