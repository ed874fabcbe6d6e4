"""The noise of batches drawn without replacement: of one batch's mean, and of part of an epoch."""

from __future__ import annotations

import functools
import itertools

import sympy as sp

from theory.symbolic.algebra import average, entrywise, symbolic, written_out
from theory.symbolic.derivation import Derivation
from theory.symbolic.parts import Argument, Check, Step

N, B = sp.symbols("n b", integer=True, positive=True)
VARIANCE, SQUARE, MEAN = sp.Symbol("V", positive=True), sp.Symbol("q", positive=True), sp.Symbol("m")
K = sp.Symbol("K", integer=True, positive=True)
S = sp.Symbol("s", positive=True)
TAKEN = sp.Symbol("k", integer=True, positive=True)
SIZES = {TAKEN: 3}
EFFECTS = sp.MatrixSymbol("a", 1, TAKEN)


@functools.cache
def batch_variance() -> Derivation:
    """Average the square of a batch's mean over all batches of b out of n."""
    steps = _batch_steps()
    return Derivation(
        name="batch variance",
        equation="Beyond the paper: the noise of one batch",
        quantity="variance of a batch's mean",
        quantity_latex=r"s^2",
        assumptions=(
            "A batch is b of n sequences; every such set is equally likely.",
            "V = q − m² is the variance of one sequence's gradient, an entry of it.",
        ),
        scope="Steps: symbolic n and b. All batches are enumerated at n = 4, b = 2 and at n = 5, b = 3.",
        steps=steps,
        result=steps[-1].expression,
        statement=VARIANCE / B * (N - B) / (N - 1),
        compare=symbolic,
        further_checks=lambda: tuple(_enumerated(n, b) for n, b in ((4, 2), (5, 3))),
        arguments=(
            Argument(VARIANCE, "the variance of one sequence's gradient"),
            Argument(B, "the size of a batch"),
            Argument(N, "the number of sequences in an epoch"),
        ),
    )


def share_of_batches(members: int) -> sp.Expr:
    """Return the share of all batches that contain some given sequences."""
    share = sp.binomial(N - members, B - members) / sp.binomial(N, B)
    return sp.factor(sp.gammasimp(sp.expand_func(sp.combsimp(share))))


def _batch_steps() -> tuple[Step, ...]:
    one, two = share_of_batches(1), share_of_batches(2)
    # Over ordered pairs of different sequences the products sum to (n m)² less the sum of the squares.
    squared = (one * N * SQUARE + two * ((N * MEAN) ** 2 - N * SQUARE)) / B**2
    spread = squared - (one * N * MEAN / B) ** 2
    return (
        Step("The share of all batches in which a given sequence is.", one),
        Step("The share in which two given sequences are.", two),
        Step("The mean of the square of a batch's mean: n squares, and n (n − 1) products.", squared),
        Step("Less the square of its mean.", sp.factor(spread)),
        Step("With V = q − m².", sp.factor(sp.expand(spread.subs(SQUARE, VARIANCE + MEAN**2)))),
    )


def _enumerated(n: int, b: int) -> Check:
    """Compare the statement with the variance over every batch of n symbolic numbers."""
    numbers = sp.symbols(f"g:{n}")
    means = [sum(batch) / sp.Integer(b) for batch in itertools.combinations(numbers, b)]
    stated = batch_variance().statement.subs({N: n, B: b, VARIANCE: spread(numbers)})
    return Check(
        f"Every batch of {b} out of {n} general numbers, enumerated.", sp.expand(spread(means) - stated)
    )


def spread(values: list[sp.Expr] | tuple[sp.Symbol, ...]) -> sp.Expr:
    """Return the variance of values that are equally likely."""
    count = sp.Integer(len(values))
    return sum(v**2 for v in values) / count - (sum(values) / count) ** 2


@functools.cache
def epoch_variance() -> Derivation:
    """Add some of an epoch's batches; all of them together have no noise."""
    steps = _epoch_steps()
    ones = sp.OneMatrix(TAKEN, TAKEN)
    return Derivation(
        name="epoch variance",
        equation="Beyond the paper: the noise of part of an epoch",
        quantity="variance of the sum of the a_i ξ_i",
        quantity_latex=r"\operatorname{Var} \sum_i a_i \xi_i",
        assumptions=(
            "An epoch has K batches of the same size; their deviations ξ from the mean sum to 0.",
            "Each has the variance s², and every pair of them the same covariance.",
            "k of them have been taken; a_i is the effect of the i-th.",
        ),
        scope="Steps: symbolic K and general effects at k = 3. Statement: any k.",
        steps=steps,
        result=steps[-1].expression,
        statement=S**2 * K / (K - 1) * (EFFECTS * EFFECTS.T - EFFECTS * ones * EFFECTS.T / K),
        compare=entrywise(SIZES),
        further_checks=lambda: (_ordered(),),
        arguments=(
            Argument(EFFECTS, "the effects of the batches taken, shape (1, k)"),
            Argument(S, "the standard deviation of one batch"),
            Argument(K, "the number of batches in an epoch"),
            Argument(TAKEN, "the number of batches taken"),
        ),
    )


def pair_covariance() -> sp.Expr:
    """Return the covariance of two batches, from the variance of a whole epoch, which is 0."""
    common = sp.Symbol("c")
    return sp.solve(K * S**2 + K * (K - 1) * common, common)[0]


def _epoch_steps() -> tuple[Step, ...]:
    effects, common = written_out(EFFECTS, SIZES), pair_covariance()
    noises = sp.symbols(f"xi:{SIZES[TAKEN]}")
    square = sp.expand(sum(a * x for a, x in zip(effects, noises, strict=True)) ** 2)
    means = {x**2: S**2 for x in noises}
    means |= {x * y: common for x, y in itertools.combinations(noises, 2)}
    return (
        Step("The covariance of two batches: K variances and K (K − 1) covariances sum to 0.", common),
        Step("The square of the displacement.", square),
        Step("Its mean.", sp.Matrix([[sp.expand(average(square, noises, means))]])),
    )


def _ordered() -> Check:
    """Average the square over all orders of three of four symbolic deviations."""
    first = sp.symbols("x:3")
    deviations = (*first, -sum(first))
    effects = written_out(EFFECTS, SIZES)
    orders = list(itertools.permutations(deviations, 3))
    mean = sum(sum(a * x for a, x in zip(effects, order, strict=True)) ** 2 for order in orders) / len(orders)
    stated = sp.Matrix(epoch_variance().result)[0].subs({K: 4}).subs(S, sp.sqrt(spread(deviations)))
    return Check("Every order of four batches with general deviations.", sp.expand(mean - stated))
