"""How one derivation is displayed: on a terminal, in a notebook, and as a section in MyST Markdown."""

from __future__ import annotations

import itertools
import textwrap
from dataclasses import dataclass
from html import escape
from typing import TYPE_CHECKING

from theory.symbolic.titles import TITLES

if TYPE_CHECKING:
    import sympy as sp

    from theory.symbolic.parts import Argument, Check, Step

WIDTH = 78
_LONGEST_LATEX = 220


@dataclass(frozen=True, repr=False)
class Displayed:
    """The fields of a derivation that are displayed, documented there, and the methods that display them."""

    name: str
    equation: str
    quantity: str
    quantity_latex: str
    assumptions: tuple[str, ...]
    scope: str
    steps: tuple[Step, ...]
    statement: sp.Basic
    arguments: tuple[Argument, ...]

    @property
    def title(self) -> str:
        """One line that says what it is about."""
        return TITLES[self.name]

    @property
    def checks(self) -> tuple[Check, ...]:
        """Every difference that has to vanish."""
        raise NotImplementedError

    def to_latex(self) -> str:
        """Return the whole derivation as a section in MyST Markdown with LaTeX mathematics."""
        return section(self)

    def __repr__(self) -> str:
        return f"Derivation({self.name!r}: {self.equation}, {self.title})"

    def _repr_html_(self) -> str:
        return notebook(self)

    def __str__(self) -> str:
        """Return what the terminal shows."""
        return show(self)


def show(derivation: Displayed) -> str:
    """Return a derivation as text for a terminal of 80 columns."""
    from theory.symbolic.printers import to_text

    lines = [*textwrap.wrap(f"{derivation.equation}: {derivation.title}", WIDTH), "=" * WIDTH, ""]
    lines += [
        "Statement",
        *_indented(f"{derivation.quantity} =", to_text(derivation.statement)),
        "",
        "Assumptions",
    ]
    for assumption in derivation.assumptions:
        lines += textwrap.wrap(assumption, WIDTH, initial_indent="  - ", subsequent_indent="    ")
    lines += ["", "Steps"]
    for number, step in enumerate(derivation.steps, 1):
        sentence, expression = _shown(step)
        lines += textwrap.wrap(f"{number}. {sentence}", WIDTH, initial_indent="  ", subsequent_indent="     ")
        lines += _indented("", to_text(expression), indent=7)
    lines += ["", *textwrap.wrap(f"Scope: {derivation.scope}", WIDTH), "", "Checks"]
    for check in derivation.checks:
        mark = "0 " if check.passed else "NOT ZERO "
        lines += textwrap.wrap(mark + check.sentence, WIDTH, initial_indent="  ", subsequent_indent="    ")
    return "\n".join(lines) + "\n"


def _indented(head: str, text: str, indent: int = 4) -> list[str]:
    body = [" " * indent + line for line in text.splitlines()]
    return [*textwrap.wrap(head, WIDTH, initial_indent="  ", subsequent_indent="  "), *body]


def _shown(step: Step) -> tuple[str, sp.Basic]:
    """Return a step's sentence and what of its expression is shown: of a long matrix the first entry."""
    import sympy as sp

    matrix = step.expression
    if not isinstance(matrix, sp.MatrixBase) or not _is_long(matrix):
        return step.sentence, matrix
    rows, columns = matrix.shape
    return f"{step.sentence} (First entry of {rows} × {columns}.)", matrix[0, 0]


def _is_long(matrix: sp.MatrixBase) -> bool:
    """Return whether a matrix is too long to be shown, from as few of its entries as decide it."""
    from theory.symbolic.printers import to_latex

    written = itertools.accumulate(len(to_latex(entry)) for entry in matrix)
    return any(length > _LONGEST_LATEX for length in written) or len(to_latex(matrix)) > _LONGEST_LATEX


def notebook(derivation: Displayed) -> str:
    """Return a derivation as HTML with LaTeX between dollars, which notebooks typeset; the steps folded."""
    from theory.symbolic.printers import in_lines

    steps = "".join(
        f"<li>{escape(sentence)}$${escape(in_lines(expression))}$$</li>"
        for sentence, expression in map(_shown, derivation.steps)
    )
    return (
        f"<p><strong>{escape(derivation.equation)}: {escape(derivation.title)}</strong></p>"
        f"$${escape(derivation.quantity_latex)} = {escape(in_lines(derivation.statement))}$$"
        f"<details><summary>{len(derivation.steps)} steps</summary><ol>{steps}</ol></details>"
    )


def section(derivation: Displayed) -> str:
    """Return a derivation as a MyST section."""
    from theory.symbolic.printers import in_lines

    parts = [
        f"({anchor(derivation.name)})=\n## {derivation.equation}: {derivation.title}",
        _display(f"{derivation.quantity_latex} = {in_lines(derivation.statement)}"),
        "**Assumptions.**",
        "\n".join(f"- {escaped(a)}" for a in derivation.assumptions),
        "**Steps.**",
    ]
    for number, step in enumerate(derivation.steps, 1):
        sentence, expression = _shown(step)
        parts += [f"{number}. {escaped(sentence)}", textwrap.indent(_display(in_lines(expression)), "   ")]
    parts += [
        f"**Scope.** {escaped(derivation.scope)}",
        "**Checks** (each difference simplifies to zero).",
        "\n".join(f"- {escaped(c.sentence)}" for c in derivation.checks),
        f"**As a function:** `find_derivation({derivation.name!r}).function()` of "
        + ", ".join(f"`{a.symbol}` ({escaped(a.description)})" for a in derivation.arguments)
        + ".",
    ]
    return "\n\n".join(parts) + "\n"


def _display(latex: str) -> str:
    return f"$$\n{latex}\n$$"


def anchor(name: str) -> str:
    """Return the target of links to a derivation's section."""
    return "derivation-" + name.replace(" ", "-").replace("_", "-")


def escaped(text: str) -> str:
    """Keep Markdown from reading the underscores, stars and bars of formulas in sentences."""
    for character in "\\_*|<>":
        text = text.replace(character, "\\" + character)
    return text
