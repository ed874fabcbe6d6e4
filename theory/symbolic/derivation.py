"""What a derivation is: assumptions, steps that SymPy made, the statement, and the checks between them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any

from theory.symbolic.display import Displayed
from theory.symbolic.parts import Check, Compare

if TYPE_CHECKING:
    import sympy as sp


@dataclass(frozen=True, repr=False)
class Derivation(Displayed):
    """One statement of the theory, derived.

    Attributes
    ----------
    name : str
        What the registry calls it, such as "prop 1".
    equation : str
        The number in the paper, such as "Prop. 1, eq. 4-5"; "beyond the paper" where it has none.
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

    result: sp.Basic
    compare: Compare
    further_checks: Callable[[], tuple[Check, ...]] = field(default_factory=lambda: tuple)
    modules: tuple[str | Mapping[str, Callable[..., Any]], ...] = ("numpy",)

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
        lines = [f"{a.name} : {a.description}" for a in self.arguments]
        made.__name__ = self.name.replace(" ", "_").replace(".", "_")
        made.__doc__ = "\n".join(
            [f"{self.equation}: {self.title}.", "", f"Returns {self.quantity}.", "", *lines]
        )
        return made
