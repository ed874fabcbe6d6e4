"""SGD against its flow, to first order in the rate: the shift of its mean, and its covariance."""

from __future__ import annotations

import functools
import itertools

import sympy as sp

from theory.symbolic.algebra import at_sizes, average, replaced, written_out
from theory.symbolic.derivation import Derivation
from theory.symbolic.parts import Argument, Check, Step

N = sp.Symbol("n", integer=True, positive=True)
SIZES = {N: 2}
RATE = sp.Symbol("eta", positive=True)
JACOBIAN, COVARIANCE, NOISE = (sp.MatrixSymbol(name, N, N) for name in ("J", "P", "Sigma"))
DRIVE, SHIFT = (sp.MatrixSymbol(name, N, 1) for name in ("f", "delta"))
CURVATURE, PAIRS = sp.MatrixSymbol("H", N, N**2), sp.MatrixSymbol("p", N**2, 1)
POINT, DEVIATION, XI = (sp.MatrixSymbol(name, N, 1) for name in ("x", "zeta", "xi"))
ASSUMPTIONS = (
    "A step is θ + η (F(θ) + ξ), ξ of mean 0 and independent of θ.",
    "f, J and H are the drive, its Jacobian and its second derivatives at a point of the flow.",
)
JACOBIAN_ARGUMENT = Argument(JACOBIAN, "the Jacobian of the drive, shape (n, n)")
RATE_ARGUMENT = Argument(RATE, "the learning rate")


def drive_at(point: sp.Matrix) -> sp.Matrix:
    """Return the drive at a displacement from the flow, a polynomial of degree two."""
    f, jacobian, curvature = (written_out(m, SIZES) for m in (DRIVE, JACOBIAN, CURVATURE))
    return f + jacobian * point + curvature * sp.Matrix(_pairs(point)) / 2


def _pairs(point: sp.Matrix) -> list[sp.Expr]:
    return [a * b for a, b in itertools.product(point, repeat=2)]


def _first(matrix: sp.Matrix, order: int) -> sp.Matrix:
    """Return a polynomial in η without the orders above."""
    return matrix.applyfunc(
        lambda entry: sum(sp.expand(entry).coeff(RATE, n) * RATE**n for n in range(order + 1))
    )


@functools.cache
def sgd_mean() -> Derivation:
    """Compare a step of SGD's mean with the flow over the same time."""
    steps = _mean_steps()
    return Derivation(
        name="sgd mean",
        equation="Beyond the paper: the mean of SGD beside its flow",
        quantity="dδ/dt, δ = SGD's mean less the flow",
        quantity_latex=r"\frac{d\delta}{dt}",
        assumptions=(
            *ASSUMPTIONS,
            "The deviation ζ of a run from SGD's mean has the covariance P, p is P row after row.",
            "δ and P are of the order of η; terms of the order of η² are left out.",
        ),
        scope="Steps: two weights, general f, J, H. Statement: any number of weights.",
        steps=steps,
        result=steps[-1].expression,
        statement=JACOBIAN * SHIFT + CURVATURE * PAIRS / 2 - RATE * JACOBIAN * DRIVE / 2,
        compare=_compare_symmetric,
        arguments=(
            JACOBIAN_ARGUMENT,
            Argument(SHIFT, "SGD's mean less the flow, shape (n, 1)"),
            Argument(CURVATURE, "the second derivatives of the drive, shape (n, n²)"),
            Argument(PAIRS, "the covariance, row after row, shape (n², 1)"),
            RATE_ARGUMENT,
            Argument(DRIVE, "the drive, shape (n, 1)"),
        ),
    )


def flowed() -> sp.Matrix:
    """Return how far the flow gets in a time η, to order η²: Picard's iteration, twice."""
    time, out = sp.Symbol("t"), sp.zeros(SIZES[N], 1)
    for _ in range(2):
        out = drive_at(out).applyfunc(lambda entry: sp.integrate(sp.expand(entry), (time, 0, time)))
    return _first(out.subs(time, RATE), 2)


def _mean_steps() -> tuple[Step, ...]:
    shift, deviation = (written_out(m, SIZES) for m in (SHIFT, DEVIATION))
    pairs = written_out(PAIRS, SIZES)
    means = dict.fromkeys(deviation, sp.S.Zero) | dict(zip(_pairs(deviation), pairs, strict=True))
    stepped = RATE * drive_at(shift + deviation)
    mean = stepped.applyfunc(lambda entry: average(entry, list(deviation), means))
    # δ and P are of first order: mark them, drop what is of higher order, and take the mark away.
    marked = replaced((mean - flowed()) / RATE, (shift, RATE * shift), (pairs, RATE * pairs))
    kept = _first(sp.Matrix(marked).applyfunc(sp.expand), 1)
    result = replaced(kept, (shift, shift / RATE), (pairs, pairs / RATE))
    return (
        Step("The flow from its point over a time η, to order η².", flowed()),
        Step("A step of SGD from the point δ + ζ away.", stepped.applyfunc(sp.expand)),
        Step("Its mean: ζ has mean 0 and covariance P.", mean),
        Step("Less the flow, over η, to first order.", sp.Matrix(result).applyfunc(sp.expand)),
    )


def _compare_symmetric(result: sp.Basic, statement: sp.Basic) -> tuple[Check, ...]:
    """Compare where P is symmetric."""
    pairs = written_out(PAIRS, SIZES)
    rest = (sp.Matrix(result) - at_sizes(statement, SIZES)).subs(pairs[1], pairs[2])
    return (Check("Last step minus statement, every entry, at n = 2.", rest.applyfunc(sp.expand)),)


@functools.cache
def sgd_covariance() -> Derivation:
    """Average the outer product of the deviation after a step."""
    steps = _covariance_steps()
    return Derivation(
        name="sgd covariance",
        equation="Beyond the paper: the covariance of SGD",
        quantity="dP/dt",
        quantity_latex=r"\frac{dP}{dt}",
        assumptions=(
            *ASSUMPTIONS,
            "ξ has the covariance Σ. P is of the order of η; terms of the order of η² are left out.",
            "The third moments of ζ, with which H would enter, are of that order.",
        ),
        scope="Steps: two weights, general J and Σ. Statement: any number of weights.",
        steps=steps,
        result=steps[-1].expression,
        statement=JACOBIAN * COVARIANCE + COVARIANCE * JACOBIAN.T + RATE * NOISE,
        compare=_compare_covariance,
        arguments=(
            JACOBIAN_ARGUMENT,
            Argument(COVARIANCE, "the covariance P, shape (n, n)"),
            RATE_ARGUMENT,
            Argument(NOISE, "the covariance of a batch's gradient, shape (n, n)"),
        ),
    )


def _compare_covariance(result: sp.Basic, statement: sp.Basic) -> tuple[Check, ...]:
    """Compare where P and Σ are symmetric."""
    rest = sp.Matrix(result) - at_sizes(statement, SIZES)
    for matrix in (COVARIANCE, NOISE):
        entries = written_out(matrix, SIZES)
        rest = rest.subs(entries[1, 0], entries[0, 1])
    return (Check("Last step minus statement, every entry, at n = 2.", rest.applyfunc(sp.expand)),)


def _second_moments(row: sp.Matrix, moments: sp.Matrix) -> dict[sp.Expr, sp.Expr]:
    """Return the mean of every product of two entries: the upper half of a symmetric matrix."""
    products = [(i, j) for i in range(len(row)) for j in range(i, len(row))]
    return {row[i] * row[j]: moments[i, j] for i, j in products}


def _covariance_steps() -> tuple[Step, ...]:
    jacobian, covariance, noise = (written_out(m, SIZES) for m in (JACOBIAN, COVARIANCE, NOISE))
    deviation, xi = (written_out(m, SIZES) for m in (DEVIATION, XI))
    varying = [*deviation, *xi]
    # An independent pair has no covariance, and a pair is given by either of its orders.
    means = {a * b: sp.S.Zero for a, b in itertools.product(deviation, xi)}
    stepped = deviation + RATE * (jacobian * deviation + xi)
    outer = (stepped * stepped.T).applyfunc(sp.expand)
    means |= _second_moments(deviation, covariance) | _second_moments(xi, noise)
    gained = (outer.applyfunc(lambda entry: average(entry, varying, means)) - covariance) / RATE
    marked = sp.Matrix(replaced(gained, (covariance, RATE * covariance))).applyfunc(sp.expand)
    result = sp.Matrix(replaced(_first(marked, 1), (covariance, covariance / RATE)))
    return (
        Step("The deviation after a step, to first order in ζ.", stepped),
        Step("Its outer product.", outer),
        Step("The mean of that, less P, over η.", gained),
        Step("To first order, P being of that order.", result.applyfunc(sp.expand)),
    )
