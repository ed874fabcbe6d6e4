r"""Sums of independent uniform integers by generating functions, for symbolic sizes.

:math:`\binom{n}{k}_+` is the binomial that is 0 when its top is below its bottom; SymPy's own continues
to negative tops with other values, which would be wrong here.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from math import comb
from typing import Any

import sympy as sp
from sympy.printing.pretty.stringpict import prettyForm

X, K, M = sp.Symbol("x"), sp.Symbol("k", integer=True, nonnegative=True), sp.Symbol("m", integer=True)
J = sp.Symbol("j", integer=True, nonnegative=True)
R = sp.Symbol("r", integer=True)
Q, N_Z, N_A = sp.symbols("q N_Z N_A", integer=True, positive=True)
Z_MIN, A_MIN = sp.Symbol("zeta_min", integer=True), sp.Symbol("alpha_min", integer=True)


class CutBinomial(sp.Function):  # type: ignore[misc]
    """The binomial coefficient of integers, 0 when the top is below the (non-negative) bottom."""

    nargs = 2

    @classmethod
    def eval(cls, top: sp.Expr, bottom: sp.Expr) -> sp.Expr | None:
        """Evaluate where the order of top and bottom is known, or the bottom is 1."""
        if (top - bottom).is_negative:
            return sp.S.Zero
        if (top - bottom).is_nonnegative:
            return sp.binomial(top, bottom)
        return sp.Max(top, 0) if bottom == 1 else None

    def _latex(self, printer: Any) -> str:
        top, bottom = (printer._print(a) for a in self.args)
        return rf"\binom{{{top}}}{{{bottom}}}_{{\!+}}"

    def _pretty(self, printer: Any) -> Any:
        drawn = printer._print(sp.binomial(*self.args, evaluate=False))
        return prettyForm(*drawn.right("₊"))


def _count(top: int, bottom: int) -> int:
    return comb(int(top), int(bottom)) if top >= bottom else 0


INTEGER_MODULES: tuple[Mapping[str, Callable[..., Any]] | str, ...] = (
    {"CutBinomial": _count, "binomial": _count},
    "math",
)
"""Exact counting with Python integers, for one label at a time."""


def one_uniform(size: sp.Symbol) -> sp.Expr:
    """Return the generating function of a uniform integer in 0..size−1, summed by SymPy (x ≠ 1)."""
    return sp.Sum(X**K, (K, 0, size - 1)).doit().args[-1][0] / size


def of_sum(n_keys: int, n_anchors: sp.Expr) -> sp.Expr:
    """Return the generating function of ``n_keys`` keys plus ``n_anchors`` anchors, as one product."""
    product = one_uniform(N_Z) ** n_keys * one_uniform(N_A) ** n_anchors
    return sp.powsimp(sp.expand_power_base(product, force=True), force=True)


def binomial_theorem(power: sp.Expr) -> sp.Sum:
    """Return (1 − x^{N_A})^power as a sum over j; ``residuals`` sums it back."""
    return sp.Sum((-1) ** J * sp.binomial(power, J) * X ** (J * N_A), (J, 0, power))


def negative_power(power: sp.Expr) -> sp.Sum:
    """Return (1 − x)^{−power} as a power series; ``residuals`` sums it back."""
    return sp.Sum(sp.binomial(M + power - 1, power - 1) * X**M, (M, 0, sp.oo))


def residuals() -> tuple[sp.Expr, sp.Expr]:
    """Sum both expansions back for a symbolic power n, and subtract (1 + y)^n and (1 − y)^−(n+1)."""
    n, y = sp.Symbol("n", integer=True, nonnegative=True), sp.Symbol("y")
    theorem = sp.Sum(sp.binomial(n, J) * y**J, (J, 0, n)).doit().args[0][0]
    series = sp.Sum(sp.binomial(K + n, n) * y**K, (K, 0, sp.oo)).doit().args[0][0]
    return sp.simplify(theorem - (1 + y) ** n), sp.simplify(series - (1 - y) ** (-n - 1))


def coefficient(n_keys: int, n_anchors: sp.Expr) -> sp.Expr:
    """Return the coefficient of x^r in the generating function, from the two expansions.

    A power x^t of the numerator pairs with the power m of 1/(1−x)^n for which t + m = r, if m ≥ 0.
    """
    series = negative_power(n_keys + n_anchors)
    theorem = binomial_theorem(n_anchors)
    numerator = sp.expand((1 - X**N_Z) ** n_keys)
    total = sp.S.Zero
    for term in sp.Add.make_args(numerator):
        shift = _power(term) + _power(theorem.function)
        solved = sp.solve(sp.Eq(shift + M, R), M)[0]
        total += term.subs(X, 1) * CutBinomial(*series.function.subs(X, 1).subs(M, solved).args)
    summand = theorem.function.subs(X, 1) * total
    return sp.Sum(summand, theorem.limits[0]) / (N_Z**n_keys * N_A**n_anchors)


def _power(term: sp.Expr) -> sp.Expr:
    """Return the power of x in a monomial."""
    return sp.simplify(sp.diff(term, X) * X / term)


def equal_weight() -> sp.Expr:
    """Return the probability of each of N_Z equally likely labels: the solution of N_Z p = 1."""
    p = sp.Symbol("p", positive=True)
    return sp.solve(sp.Sum(p, (K, 1, N_Z)).doit() - 1, p)[0]
