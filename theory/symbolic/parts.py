"""The parts of a derivation: steps, checks and the arguments of its function."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
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
    numerical: bool = False

    def __post_init__(self) -> None:
        if hasattr(self.expression, "as_immutable"):
            object.__setattr__(self, "expression", self.expression.as_immutable())


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

    @property
    def name(self) -> str:
        """The symbol's name."""
        return str(getattr(self.symbol, "name", self.symbol))
