"""How two matrices grow that drive each other through a third which stays: W_Q and W_K, W_E and W_U."""

from __future__ import annotations

import functools

import sympy as sp

from theory.symbolic.algebra import symbolic
from theory.symbolic.derivation import Derivation
from theory.symbolic.parts import Argument, Check, Step

VALUE, TIME = sp.symbols("sigma t", positive=True)
FIRST, SECOND = sp.symbols("a b", real=True)


@functools.cache
def two_factors() -> Derivation:
    """Solve the flow along one pair of singular vectors."""
    steps = _steps()
    return Derivation(
        name="two factors",
        equation="Beyond the paper: the growth of W_Q and W_K",
        quantity="uᵀA at time t",
        quantity_latex=r"u^\top A(t)",
        assumptions=(
            "dA/dt = G B and dB/dt = Gᵀ A, where G does not change.",
            "G v = σ u and Gᵀ u = σ v; a is an entry of uᵀA at time 0, b the same entry of vᵀB.",
        ),
        scope="Symbolic, one pair of singular vectors. Across the pairs nothing moves.",
        steps=steps,
        result=steps[-1].expression,
        statement=FIRST * sp.cosh(VALUE * TIME) + SECOND * sp.sinh(VALUE * TIME),
        compare=_as_exponentials,
        further_checks=lambda: (_flow(),),
        arguments=(
            Argument(VALUE, "a singular value of G"),
            Argument(TIME, "Σ learning rate"),
            Argument(FIRST, "uᵀA at time 0"),
            Argument(SECOND, "vᵀB at time 0"),
        ),
    )


def coupling() -> sp.Matrix:
    """Return what takes (uᵀA, vᵀB) to their rates."""
    return sp.Matrix([[0, VALUE], [VALUE, 0]])


def _steps() -> tuple[Step, ...]:
    propagator = (coupling() * TIME).exp().applyfunc(sp.simplify)
    both = propagator * sp.Matrix([FIRST, SECOND])
    return (
        Step("The rates of uᵀA and vᵀB are this matrix times both.", coupling()),
        Step("Its exponential.", propagator),
        Step("Applied to the start: uᵀA.", sp.expand(both[0])),
    )


def _as_exponentials(found: sp.Expr, stated: sp.Expr) -> tuple[Check, ...]:
    """Compare by expanding exponentials."""
    return symbolic(sp.expand(found.rewrite(sp.exp)), sp.expand(stated.rewrite(sp.exp)))


def _flow() -> Check:
    statement = two_factors().statement
    return Check(
        "Its second derivative is σ² times itself.", sp.diff(statement, TIME, 2) - VALUE**2 * statement
    )
