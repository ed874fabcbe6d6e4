"""What a derivation is: assumptions, steps that SymPy made, the statement, and the checks between them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import sympy as sp


@dataclass(frozen=True)
class Step:
    """One step: a sentence, and the expression that SymPy made of the steps before.

    Attributes
    ----------
    sentence : str
        What was done and why it may be done.
    expression : sympy.Basic
        What came out: an expression, an equation or an explicit matrix.
    numerical : bool
        True where SymPy could not do the step and random points were compared instead.
    """

    sentence: str
    expression: sp.Basic

    def __post_init__(self) -> None:
        if hasattr(self.expression, "as_immutable"):
            object.__setattr__(self, "expression", self.expression.as_immutable())

    numerical: bool = False


@dataclass(frozen=True)
class Check:
    """Something that has to vanish: ``residual`` is the simplified difference of two routes."""

    sentence: str
    residual: sp.Basic

    @property
    def passed(self) -> bool:
        """Whether the difference is identically zero."""
        import sympy as sp

        if isinstance(self.residual, sp.MatrixBase):
            return bool(self.residual.is_zero_matrix)
        return bool(self.residual == 0 or isinstance(self.residual, sp.ZeroMatrix))


Compare = Callable[[Any, Any], tuple[Check, ...]]
"""From the last step and the statement to the differences between them, which have to vanish."""


@dataclass(frozen=True)
class Argument:
    """One argument of a derivation's function: its symbol, and what to pass for it."""

    symbol: sp.Basic
    description: str


@dataclass(frozen=True, repr=False)
class Derivation:
    """One statement of the theory, derived.

    Attributes
    ----------
    name : str
        What the registry calls it, such as "prop 1".
    equation : str
        The number in the paper, such as "Prop. 1, eq. 4-5"; "beyond the paper" where it has none.
    title : str
        One line that says what it is about.
    quantity, quantity_latex : str
        The left-hand side of the statement, as text and as LaTeX.
    assumptions : tuple of str
        What the derivation takes for granted.
    scope : str
        For which sizes the steps were made, and for which the statement is checked.
    steps : tuple of Step
        Each made by SymPy from the ones before.
    result : sympy.Basic
        What the last step says.
    statement : sympy.Basic
        The same in the paper's form; for matrices, of any size.
    compare : callable
        From ``result`` and ``statement`` to the differences between them, which have to vanish.
    further_checks : callable
        Returns other differences that vanish, of the result with independent routes.
    arguments : tuple of Argument
        The arguments of ``function()``, in order.
    modules : tuple
        Where ``sympy.lambdify`` looks the statement's functions up.
    """

    name: str
    equation: str
    title: str
    quantity: str
    quantity_latex: str
    assumptions: tuple[str, ...]
    scope: str
    steps: tuple[Step, ...]
    result: sp.Basic
    statement: sp.Basic
    compare: Compare = field(repr=False)
    arguments: tuple[Argument, ...]
    further_checks: Callable[[], tuple[Check, ...]] = field(default=tuple, repr=False)
    modules: tuple[str | Mapping[str, Callable[..., Any]], ...] = field(default=("numpy",), repr=False)

    @cached_property
    def checks(self) -> tuple[Check, ...]:
        """Every difference that has to vanish, those between result and statement first."""
        return (*self.compare(self.result, self.statement), *self.further_checks())

    @property
    def passed(self) -> bool:
        """Whether every check passed."""
        return all(check.passed for check in self.checks)

    def function(self) -> Callable[..., Any]:
        """Return the statement as a Python function of ``arguments``, for numbers and NumPy arrays.

        Rows are arrays of shape (1, n), as in the formulas. ``help`` of the function lists its arguments.
        """
        import sympy as sp

        # NumPy's printer knows no identity matrix of symbolic size: multiply it out.
        formula = self.statement.expand() if self.statement.has(sp.Identity) else self.statement
        made: Callable[..., Any] = sp.lambdify(
            [a.symbol for a in self.arguments], formula, modules=list(self.modules)
        )
        lines = [f"{_name(a)} : {a.description}" for a in self.arguments]
        made.__name__ = self.name.replace(" ", "_").replace(".", "_")
        made.__doc__ = "\n".join(
            [f"{self.equation}: {self.title}.", "", f"Returns {self.quantity}.", "", *lines]
        )
        return made

    def to_latex(self) -> str:
        """Return the whole derivation as a section in MyST Markdown with LaTeX mathematics."""
        from theory.symbolic.page import section

        return section(self)

    def __repr__(self) -> str:
        return f"Derivation({self.name!r}: {self.equation}, {self.title})"

    def _repr_html_(self) -> str:
        from theory.symbolic.page import notebook

        return notebook(self)

    def __str__(self) -> str:
        """Return what the terminal shows."""
        from theory.symbolic.page import show

        return show(self)


def _name(argument: Argument) -> str:
    return str(getattr(argument.symbol, "name", argument.symbol))
