"""The parts of a derivation: its statement, the steps to it, and the differences that have to vanish."""

from __future__ import annotations

import functools
import keyword
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import sympy as sp


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
class Statement:
    """One statement of the theory, with its steps and checks; a ``Derivation`` can also show itself.

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
        lines = [f"{symbol} : {description}" for symbol, description in self.arguments.items()]
        made.__name__ = re.sub(r"\W", "_", self.name)
        made.__doc__ = "\n".join(
            [f"{self.equation}: {self.title}.", "", f"Returns {self.quantity}.", "", *lines]
        )
        return made
