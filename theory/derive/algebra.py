"""Operations that several derivations share: small explicit matrices, the softmax, averages, and checks."""

from __future__ import annotations

import functools
import operator
import random
from collections.abc import Mapping, Sequence

import sympy as sp
from sympy.matrices.expressions.matexpr import MatrixElement

from theory.derive.derivation import Check, Compare

EPS = sp.Symbol("epsilon", positive=True)
R_S = sp.Symbol("r_s", positive=True)
D, D_M, D_F, D_K = sp.symbols("d d_m d_f d_k", integer=True, positive=True)
SIZES = {D: 3, D_M: 2, D_F: 2}
"""The sizes at which matrices are written out; d > 2, so that none holds only because p_2 = 1 - p_1."""


def written_out(matrix: sp.MatrixSymbol, sizes: Mapping[sp.Symbol, int]) -> sp.Matrix:
    """Return a matrix symbol entry by entry, at the given sizes."""
    return sp.Matrix(matrix.subs(sizes).as_explicit())


def replaced(expression: sp.Basic, *pairs: tuple[sp.Matrix, sp.Matrix]) -> sp.Basic:
    """Return the expression with each pair's first matrix replaced, entry by entry, by the second."""
    by_entry = {a: b for old, new in pairs for a, b in zip(old, new, strict=True)}
    return expression.xreplace(by_entry)


def softmax(logits: sp.Matrix) -> sp.Matrix:
    """Return the softmax of a row of logits."""
    weights = logits.applyfunc(sp.exp)
    return weights / sum(weights)


def cross_entropy(y: sp.Matrix, logits: sp.Matrix) -> sp.Expr:
    """Return the loss −Σ_k y_k log softmax(o)_k of one sequence."""
    return -sum(a * sp.log(b) for a, b in zip(y, softmax(logits), strict=True))


def negative_gradient(loss: sp.Expr, y: sp.Matrix, p: sp.Matrix, logits: sp.Matrix) -> sp.Matrix:
    """Return −∂ℓ/∂o, writing p for the softmax and using that y and p each sum to one.

    Component k is differentiated, every exp(o_j) is written as p_j times the common normalisation, and the
    two sums eliminate one entry other than k from y and from p.
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
    """Return the average over sequences of a polynomial in the quantities that vary among them.

    Every monomial is replaced by its mean; a monomial whose mean is not given is a bug (KeyError).
    """
    averaged = []
    for term in sp.Add.make_args(sp.expand(expression)):
        fixed, monomial = term.as_independent(*varying, as_Add=False)
        averaged.append(fixed * (means[monomial] if monomial != 1 else 1))
    return sp.Add(*averaged)


def average_drive(drive: sp.Matrix, counts: sp.Matrix, y: sp.Matrix, *moments: sp.Matrix) -> sp.Matrix:
    """Average a matrix of products of counts, labels and, where a second moment is given, pairs of counts.

    ``moments`` are the means of the counts, C = E[cᵀ(y − u)], and optionally S = E[cᵀc].
    """
    ratios, matrix, *pairs = moments
    means = {count: ratios[x] for x, count in enumerate(counts)}
    for x, count in enumerate(counts):
        means |= {count * y[k]: matrix[x, k] + ratios[x] / len(y) for k in range(len(y))}
        for S in pairs:
            means |= {count * other: S[min(x, z), max(x, z)] for z, other in enumerate(counts)}
    return drive.applyfunc(lambda entry: sp.expand(average(entry, [*counts, *y], means)))


def taylor(expression: sp.Expr, variable: sp.Symbol, order: int) -> sp.Expr:
    """Return the Taylor polynomial in ``variable`` about 0, by differentiating ``order`` times."""
    out, derivative = sp.S.Zero, expression
    for n in range(order + 1):
        out += derivative.subs(variable, 0) * variable**n / sp.factorial(n)
        derivative = sp.diff(derivative, variable)
    return sp.expand(out)


def truncated(matrix: sp.Matrix, variable: sp.Symbol, order: int) -> sp.Matrix:
    """Return a matrix of polynomials without the powers of ``variable`` above ``order``."""
    return matrix.applyfunc(
        lambda entry: sum(sp.expand(entry).coeff(variable, n) * variable**n for n in range(order + 1))
    )


def at_sizes(statement: sp.Basic, sizes: Mapping[sp.Symbol, int]) -> sp.Matrix:
    """Return a statement about matrices of any size, written out at given sizes."""
    return sp.Matrix(_explicit(statement.subs(sizes)))


def _explicit(expression: sp.Basic) -> sp.Basic:
    """Multiply matrices out from the inside: SymPy's ``as_explicit`` starts afresh for each entry."""
    if isinstance(expression, sp.MatMul | sp.MatAdd | sp.Transpose | sp.HadamardProduct):
        parts = [_explicit(part) if part.is_Matrix else part for part in expression.args]
        if isinstance(expression, sp.HadamardProduct):
            return functools.reduce(lambda a, b: a.multiply_elementwise(b), parts)
        if isinstance(expression, sp.Transpose):
            return parts[0].T
        return functools.reduce(operator.mul if isinstance(expression, sp.MatMul) else operator.add, parts)
    return expression.as_explicit()


def entrywise(sizes: Mapping[sp.Symbol, int], *pairs: tuple[sp.Matrix, sp.Matrix]) -> Compare:
    """Return the check of an explicit result against a statement about matrices of any size.

    In the statement each pair's first matrix is replaced, entry by entry, by the second: this imposes
    constraints that the matrices of the derivation meet, such as symmetry.
    """
    written = ", ".join(f"{symbol} = {value}" for symbol, value in sizes.items())

    def compare(result: sp.Basic, statement: sp.Basic) -> tuple[Check, ...]:
        stated = at_sizes(statement, sizes).applyfunc(lambda entry: entry.rewrite(sp.Sum))
        rest = sp.Matrix(result) - sp.Matrix(replaced(stated, *pairs))
        different = any(map(_differs_somewhere, rest))
        sentence = f"Last step minus statement, every entry, at {written}."
        return (Check(sentence, rest if different else rest.applyfunc(_simplified)),)

    return compare


def symbolic(result: sp.Basic, statement: sp.Basic) -> tuple[Check, ...]:
    """Return the check that two scalar formulas agree."""
    return (Check("Last step minus statement, symbolic.", settled(result - statement)),)


def settled(rest: sp.Expr) -> sp.Expr:
    """Simplify a difference, or return it unchanged if it differs from 0 at some point."""
    return rest if _differs_somewhere(rest) else _simplified(rest)


def _simplified(rest: sp.Expr) -> sp.Expr:
    expanded = sp.expand(rest)
    return expanded if expanded == 0 else sp.simplify(expanded)


def _differs_somewhere(rest: sp.Expr) -> bool:
    """Return whether the expression differs from 0 at one of three points of small random numbers."""
    if rest == 0:
        return False
    draw = random.Random(0)
    entries = sorted(rest.atoms(MatrixElement), key=str)
    numbers = rest.xreplace({entry: sp.Rational(n + 3, n + 2) for n, entry in enumerate(entries)})
    symbols = sorted(numbers.free_symbols, key=str)
    for _ in range(3):
        point = {s: sp.Integer(draw.randint(2 if s.is_positive else -3, 5)) for s in symbols}
        value = sp.N(numbers.xreplace(point).doit())
        if value.is_number and value.is_finite and abs(value) > 1e-9:
            return True
    return False
