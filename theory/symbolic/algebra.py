"""Operations that several derivations share: small explicit matrices, the softmax, averages over data."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import sympy as sp

from theory.symbolic.derivation import Check

EPS = sp.Symbol("epsilon", positive=True)
R_S = sp.Symbol("r_s", positive=True)
D, D_M, D_F, D_K = sp.symbols("d d_m d_f d_k", integer=True, positive=True)
SIZES = {D: 3, D_M: 2, D_F: 2}
"""The sizes at which matrices are written out; d > 2, so that p_2 = 1 - p_1 helps no identity along."""


def written_out(matrix: sp.MatrixSymbol, sizes: Mapping[sp.Symbol, int]) -> sp.Matrix:
    """Return a matrix symbol entry by entry, at the given sizes."""
    return sp.Matrix(matrix.subs(sizes).as_explicit())


def replaced(expression: sp.Basic, *pairs: tuple[sp.Matrix, sp.Matrix]) -> sp.Basic:
    """Return the expression with every entry of each first matrix replaced by that of the second."""
    by_entry = {a: b for old, new in pairs for a, b in zip(old, new, strict=True)}
    return expression.subs(by_entry, simultaneous=True)


def softmax(logits: sp.Matrix) -> sp.Matrix:
    """Return the softmax of a row of logits."""
    weights = logits.applyfunc(sp.exp)
    return weights / sum(weights)


def cross_entropy(y: sp.Matrix, logits: sp.Matrix) -> sp.Expr:
    """Return the loss −Σ_k y_k log softmax(o)_k of one sequence."""
    return -sum(a * sp.log(b) for a, b in zip(y, softmax(logits), strict=True))


def negative_gradient(loss: sp.Expr, y: sp.Matrix, p: sp.Matrix, logits: sp.Matrix) -> sp.Matrix:
    """Return −∂ℓ/∂o with the softmax called p, using that y and p each sum to one.

    Component k is differentiated, every exp(o_j) is written as p_j times the common normalisation, and one
    entry other than k is removed from y and from p by the two sums.
    """
    normalisation = sp.Symbol("Z", positive=True)
    by_name = {sp.exp(o): a * normalisation for o, a in zip(logits, p, strict=True)}
    out = []
    for k, o in enumerate(logits):
        slope = -sp.diff(loss, o).subs(by_name)
        gone = (k + 1) % len(logits)
        sums = {row[gone]: 1 - sum(row) + row[gone] for row in (y, p)}
        out.append(sp.cancel(sp.simplify(slope.subs(sums))))
    return sp.Matrix([out])


def average(expression: sp.Expr, varying: Sequence[sp.Basic], means: Mapping[sp.Basic, sp.Basic]) -> sp.Expr:
    """Return the average over sequences of a polynomial in what varies between sequences.

    Every monomial is replaced by its mean; a monomial whose mean is not given is an error of ours.
    """
    total = sp.S.Zero
    for powers, coefficient in sp.Poly(sp.expand(expression), *varying).terms():
        monomial = sp.Mul(*(v**n for v, n in zip(varying, powers, strict=True)))
        total += coefficient * (means[monomial] if monomial != 1 else 1)
    return total


def taylor(expression: sp.Expr, variable: sp.Symbol, order: int) -> sp.Expr:
    """Return the Taylor polynomial in ``variable`` about 0, by differentiating ``order`` times."""
    out, derivative = sp.S.Zero, expression
    for n in range(order + 1):
        out += derivative.subs(variable, 0) * variable**n / sp.factorial(n)
        derivative = sp.diff(derivative, variable)
    return sp.expand(out)


def at_sizes(statement: sp.Basic, sizes: Mapping[sp.Symbol, int]) -> sp.Matrix:
    """Return a statement about matrices of any size, written out at given sizes."""
    return sp.Matrix(statement.subs(sizes).as_explicit())


def statement_check(result: sp.Matrix, statement: sp.Basic, sizes: Mapping[sp.Symbol, int]) -> Check:
    """Compare the last step with the statement, entry by entry, at the sizes of the steps."""
    written = ", ".join(f"{symbol} = {value}" for symbol, value in sizes.items())
    residual = (result - at_sizes(statement, sizes)).applyfunc(_vanish)
    return Check(f"Last step minus statement, every entry, at {written}.", residual)


def _vanish(entry: sp.Expr) -> sp.Expr:
    expanded = sp.expand(entry)
    return expanded if expanded == 0 else sp.simplify(expanded)
