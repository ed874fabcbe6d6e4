"""A derivation: its statement, the steps to it, the differences that have to vanish, and how it is shown."""

from __future__ import annotations

import dataclasses
import functools
import keyword
import re
import textwrap
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from html import escape
from typing import TYPE_CHECKING, Any

from theory.edge.checks import scalar

if TYPE_CHECKING:
    import sympy as sp

WIDTH, MOST_LINES = 78, 12
MOST_ENTRIES, LONGEST_LATEX, MOST_TERMS = 9, 500, 4


@dataclass(frozen=True)
class Step:
    """One step: a sentence that says what was done, and the expression that SymPy made."""

    sentence: str
    expression: sp.Basic

    def __post_init__(self) -> None:
        if hasattr(self.expression, "as_immutable"):
            object.__setattr__(self, "expression", self.expression.as_immutable())


@dataclass(frozen=True)
class Check:
    """A difference between two routes that has to vanish: ``residual``, simplified."""

    sentence: str
    residual: sp.Basic

    @property
    def passed(self) -> bool:
        """Whether the difference is identically zero."""
        flags = ("is_zero_matrix", "is_ZeroMatrix")
        return bool(self.residual == 0 or any(getattr(self.residual, flag, False) for flag in flags))


Compare = Callable[[Any, Any], tuple[Check, ...]]
"""Maps the last step and the statement to the differences between them."""


@dataclass(frozen=True, repr=False, kw_only=True)
class Derivation:
    """A statement of the theory, derived; printed, it is text for a terminal of 80 columns.

    Attributes
    ----------
    name, equation, title : str
        Its name here, its number in the paper, and its subject in one line.
    quantity : str
        The left-hand side of the statement.
    assumptions : tuple of str
        What the derivation takes for granted.
    scope : str
        The sizes for which the steps were made, and those for which the statement is checked.
    steps : tuple of Step
        Each made by SymPy from the ones before.
    statement : sympy.Basic
        The last step in the paper's form; for matrices, of any size.
    arguments : mapping of sympy.Basic to str
        The arguments of ``function()`` in order, each with what to pass for it.
    compare : callable
        Maps ``result`` and ``statement`` to the differences between them.
    further_checks : callable
        Returns differences between the result and independent routes.
    modules : tuple
        Where ``sympy.lambdify`` looks up the statement's functions.
    """

    name: str = ""
    equation: str = ""
    title: str = ""
    quantity: str
    assumptions: tuple[str, ...]
    scope: str
    steps: tuple[Step, ...]
    statement: sp.Basic
    arguments: Mapping[sp.Basic, str]
    compare: Compare
    further_checks: Callable[[], tuple[Check, ...]] = tuple
    modules: tuple[str | Mapping[str, Callable[..., Any]], ...] = ("numpy",)

    @property
    def result(self) -> sp.Basic:
        """The expression of the last step."""
        return self.steps[-1].expression

    @functools.cached_property
    def checks(self) -> tuple[Check, ...]:
        """Every difference that has to vanish, those between result and statement first."""
        return (*self.compare(self.result, self.statement), *self.further_checks())

    @property
    def passed(self) -> bool:
        """Whether every difference vanishes."""
        return all(check.passed for check in self.checks)

    def function(self) -> Callable[..., Any]:
        """Return the statement as a Python function of ``arguments``: arrays for matrices, else numbers.

        Rows are arrays of shape (1, n), as in the formulas. ``help`` of the function lists its arguments.
        """
        import sympy as sp

        # NumPy's printer knows no identity matrix of symbolic size: multiply it out.
        formula = self.statement.expand() if self.statement.has(sp.Identity) else self.statement
        # SymPy would call the parameter λ "Dummy_" and a number: "lambda" is a word of Python's own.
        renamed = {a: sp.Symbol(f"{a}_") for a in self.arguments if keyword.iskeyword(str(a))}
        parameters = [renamed.get(argument, argument) for argument in self.arguments]
        made: Callable[..., Any] = sp.lambdify(parameters, formula.subs(renamed), modules=list(self.modules))
        lines = [f"{renamed.get(symbol, symbol)} : {text}" for symbol, text in self.arguments.items()]

        @functools.wraps(made)
        def of_numbers(*given: Any, **named: Any) -> Any:
            # NumPy's integers have no negative powers, and wrap around.
            return made(*map(scalar, given), **{name: scalar(value) for name, value in named.items()})

        of_numbers.__name__ = re.sub(r"\W", "_", self.name)
        of_numbers.__doc__ = "\n".join(
            [f"{self.equation}: {self.title}.", "", f"Returns {self.quantity}.", "", *lines]
        )
        return of_numbers

    def __str__(self) -> str:
        lines = [*textwrap.wrap(f"{self.equation}: {self.title}", WIDTH), "=" * WIDTH, "", "Statement"]
        lines += [*_filled(f"{self.quantity} ="), *_drawn(self.statement, indent=4), "", "Assumptions"]
        lines += [line for assumption in self.assumptions for line in _filled(f"- {assumption}", hang=2)]
        lines += ["", "Steps"]
        for number, step in enumerate(self.steps, 1):
            sentence, expression = _shortened(step)
            lines += [*_filled(f"{number}. {sentence}", hang=3), *_drawn(expression, indent=7)]
        lines += ["", *textwrap.wrap(f"Scope: {self.scope}", WIDTH), "", "Checks"]
        for check in self.checks:
            lines += _filled(("0 " if check.passed else "NOT ZERO ") + check.sentence, hang=2)
        return "\n".join(lines) + "\n"

    def __repr__(self) -> str:
        return f"Derivation({self.name!r}: {self.equation}, {self.title})"

    def to_latex(self) -> str:
        """Return the whole derivation as a section in MyST Markdown with LaTeX mathematics."""
        parts = [
            f"({anchor(self.name)})=\n## {escaped(self.equation)}: {escaped(self.title)}",
            f"`{self.quantity}` =",
            f"$$\n{_latex(self.statement)}\n$$",
            "**Assumptions.**",
            "\n".join(f"- {escaped(a)}" for a in self.assumptions),
            "**Steps.**",
        ]
        for number, step in enumerate(self.steps, 1):
            sentence, expression = _shortened(step)
            display = textwrap.indent(f"$$\n{_latex(expression)}\n$$", "   ")
            parts += [f"{number}. {escaped(sentence)}", display]
        arguments = ", ".join(f"`{symbol}` ({escaped(text)})" for symbol, text in self.arguments.items())
        parts += [
            f"**Scope.** {escaped(self.scope)}",
            "**Checks** (each difference simplifies to zero).",
            "\n".join(f"- {escaped(c.sentence)}" for c in self.checks),
            f"**As a function:** `find_derivation({self.name!r}).function()` of {arguments}.",
        ]
        return "\n\n".join(parts) + "\n"

    def _repr_html_(self) -> str:
        """Return it with its steps folded; notebooks typeset the LaTeX between dollar signs."""
        steps = "".join(
            f"<li>{escape(sentence)}$${escape(_latex(expression))}$$</li>"
            for sentence, expression in map(_shortened, self.steps)
        )
        return (
            f"<p><strong>{escape(self.equation)}: {escape(self.title)}</strong></p>"
            f"<p>{escape(self.quantity)} =</p>$${escape(_latex(self.statement))}$$"
            f"<details><summary>{len(self.steps)} steps</summary><ol>{steps}</ol></details>"
        )


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


Build = Callable[[], Derivation]
BUILDERS: dict[str, Build] = {}
TITLES: dict[str, str] = {}
OTHER_NAMES: dict[str, str] = {}


def derived(name: str, equation: str, title: str, *also: str) -> Callable[[Build], Build]:
    """Decorate a builder: list its derivation under its name and the other names that find it."""

    def enter(build: Build) -> Build:
        @functools.cache
        @functools.wraps(build)
        def made() -> Derivation:
            return dataclasses.replace(build(), name=name, equation=equation, title=title)

        BUILDERS[name], TITLES[name] = made, title
        OTHER_NAMES.update(dict.fromkeys(also, name))
        return made

    return enter
