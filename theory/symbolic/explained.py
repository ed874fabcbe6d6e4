"""What of the labels a sum over tokens explains: the share that compares memory with reasoning."""

from __future__ import annotations

import functools
import itertools

import sympy as sp

from theory.symbolic.algebra import D, at_sizes, average, replaced, settled, written_out
from theory.symbolic.derivation import Derivation
from theory.symbolic.parts import Argument, Check, Step

LABELS = sp.Symbol("k", integer=True, positive=True)
SIZES = {D: 2, LABELS: 2}
COUNTS, REST = sp.MatrixSymbol("c", 1, D), sp.MatrixSymbol("y", 1, LABELS)
TOGETHER, DRIVE = sp.MatrixSymbol("S", D, D), sp.MatrixSymbol("G", D, LABELS)
FIT = sp.MatrixSymbol("A", D, LABELS)
VARIANCE = sp.Symbol("V", positive=True)


@functools.cache
def explained() -> Derivation:
    """Fit the labels by a sum over tokens, least squares, and compare what is left with their variance."""
    steps = _steps()
    return Derivation(
        name="explained share",
        equation="Beyond the paper: a scalar of the task",
        quantity="share of the labels' variance that a sum over tokens explains",
        quantity_latex=r"1 - \frac{\min_A E|y - \bar P - cA|^2}{E|y - \bar P|^2}",
        assumptions=(
            "c are a sequence's token counts, y its one-hot label less the mean label distribution.",
            "S = E cᵀc, G = E cᵀy and V = E|y|², over the training sequences of one kind.",
            "S has an inverse: of tokens whose counts have a fixed sum one is left out.",
        ),
        scope="Steps: general entries, two tokens and two labels. Statement: any size.",
        steps=steps,
        result=steps[-1].expression,
        statement=_trace_of_product(DRIVE, TOGETHER.inverse() * DRIVE) / VARIANCE,
        compare=_compare,
        further_checks=lambda: (_variance_of_labels(),),
        arguments=(
            Argument(DRIVE, "what still pulls on the tokens, G, shape (d, k)"),
            Argument(TOGETHER, "the tokens' second moment S, shape (d, d)"),
            Argument(VARIANCE, "the variance of the labels"),
            Argument(D, "the number of tokens"),
            Argument(LABELS, "the number of labels"),
        ),
    )


def _trace_of_product(first: sp.MatrixExpr, second: sp.MatrixExpr) -> sp.MatrixExpr:
    """Return tr(AᵀB) as a 1 × 1 matrix: the sum of the products of their entries."""
    rows, columns = first.shape
    return sp.OneMatrix(1, rows) * sp.HadamardProduct(first, second) * sp.OneMatrix(columns, 1)


def symmetric() -> sp.Matrix:
    """Return S entry by entry: it is symmetric."""
    entries = written_out(TOGETHER, SIZES)
    return sp.Matrix(entries.shape[0], entries.shape[1], lambda i, j: entries[min(i, j), max(i, j)])


def means() -> dict[sp.Basic, sp.Basic]:
    """Return the mean of every product of counts and labels that the square has."""
    c, y = (list(written_out(m, SIZES)) for m in (COUNTS, REST))
    S, G = symmetric(), written_out(DRIVE, SIZES)
    found = {c[i] * c[j]: S[i, j] for i, j in itertools.product(range(len(c)), repeat=2)}
    found |= {c[i] * y[k]: G[i, k] for i, k in itertools.product(range(len(c)), range(len(y)))}
    # V is the sum over labels; an equal part of it stands for each.
    return found | {entry**2: VARIANCE / len(y) for entry in y}


def _steps() -> tuple[Step, ...]:
    c, y, fit = (written_out(m, SIZES) for m in (COUNTS, REST, FIT))
    left = sp.expand(sum(entry**2 for entry in y - c * fit))
    mean = average(left, [*c, *y], means())
    best = sp.solve([sp.diff(mean, entry) for entry in fit], list(fit), dict=True)[0]
    least = sp.factor(mean.subs(best))
    share = sp.factor(1 - least / VARIANCE)
    return (
        Step("What a sum over tokens leaves of one label, squared.", left),
        Step("Its mean.", mean),
        Step("The A at which its derivatives vanish.", sp.Matrix(fit.subs(best)).applyfunc(sp.factor)),
        Step("What is left there.", least),
        Step("The share that is gone: tr(Gᵀ S⁻¹ G)/V.", sp.Matrix([[share]])),
    )


def _compare(result: sp.Basic, statement: sp.Basic) -> tuple[Check, ...]:
    """Compare where S is symmetric."""
    stated = replaced(at_sizes(statement, SIZES), (written_out(TOGETHER, SIZES), symmetric()))
    sentence = "Last step minus statement, at d = k = 2, S symmetric."
    return (Check(sentence, (sp.Matrix(result) - stated).applyfunc(settled)),)


def _variance_of_labels() -> Check:
    """Sum a one-hot label's square over three labels."""
    first, second = sp.symbols("p_1 p_2", positive=True)
    shares = sp.Matrix([[first, second, 1 - first - second]])
    squares = [sum(entry**2 for entry in sp.eye(3)[label, :] - shares) for label in range(3)]
    mean = sum(share * square for share, square in zip(shares, squares, strict=True))
    stated = 1 - sum(share**2 for share in shares)
    return Check("V is 1 − |P̄|² for one-hot labels, three of them.", sp.expand(mean - stated))
