"""The noise of batches drawn without replacement, and AdamW's moments under noise."""

from __future__ import annotations

import itertools
from collections.abc import Sequence

import sympy as sp

from theory.derive.algebra import symbolic
from theory.derive.derivation import Check, Derivation, Step, derived

N, B = sp.symbols("n b", integer=True, positive=True)
VARIANCE, SQUARE = sp.symbols("V q", positive=True)
MEAN = sp.Symbol("m")


@derived(
    "batch variance",
    "Beyond the paper: the noise of one batch",
    "The variance of a batch's mean, drawn without replacement",
)
def batch_variance() -> Derivation:
    """Average the square of a batch's mean over all batches of b out of n."""
    one, two = share_of_batches(1), share_of_batches(2)
    # Over ordered pairs of different sequences the products sum to (n m)² minus the sum of the squares.
    squared = (one * N * SQUARE + two * ((N * MEAN) ** 2 - N * SQUARE)) / B**2
    variance = squared - (one * N * MEAN / B) ** 2
    return Derivation(
        quantity="variance of a batch's mean",
        assumptions=(
            "A batch is b of n sequences; every such set is equally likely.",
            "V = q − m² is the variance of one sequence's gradient, an entry of it.",
        ),
        scope="Steps: symbolic n and b. All batches are enumerated at n = 4, b = 2 and at n = 5, b = 3.",
        steps=(
            Step("The share of all batches in which a given sequence is.", one),
            Step("The share in which two given sequences are.", two),
            Step("The mean of the square of a batch's mean: n squares, and n (n − 1) products.", squared),
            Step("Minus the square of its mean.", sp.factor(variance)),
            Step("With V = q − m².", sp.factor(sp.expand(variance.subs(SQUARE, VARIANCE + MEAN**2)))),
        ),
        statement=VARIANCE / B * (N - B) / (N - 1),
        compare=symbolic,
        further_checks=lambda: tuple(_enumerated(n, b) for n, b in ((4, 2), (5, 3))),
        arguments={
            VARIANCE: "the variance of one sequence's gradient",
            B: "the size of a batch",
            N: "the number of sequences in an epoch",
        },
    )


def share_of_batches(members: int) -> sp.Expr:
    """Return the share of all batches that contain some given sequences."""
    share = sp.binomial(N - members, B - members) / sp.binomial(N, B)
    return sp.factor(sp.gammasimp(sp.expand_func(sp.combsimp(share))))


def _enumerated(n: int, b: int) -> Check:
    """Compare the statement with the variance over every batch of n symbolic numbers."""
    numbers = sp.symbols(f"g:{n}")
    means = [sum(batch) / sp.Integer(b) for batch in itertools.combinations(numbers, b)]
    stated = batch_variance().statement.subs({N: n, B: b, VARIANCE: _spread(numbers)})
    return Check(
        f"Every batch of {b} out of {n} general numbers, enumerated.", sp.expand(_spread(means) - stated)
    )


def _spread(values: Sequence[sp.Expr]) -> sp.Expr:
    """Return the variance of values that are equally likely."""
    count = sp.Integer(len(values))
    return sum(v**2 for v in values) / count - (sum(values) / count) ** 2


STEPS, STEPS_AGO = sp.symbols("k j", integer=True, nonnegative=True)
BETA, SPREAD, RATE, TIME = sp.symbols("beta s lambda tau", positive=True)
GRADIENT, MOMENT = sp.symbols("g m", real=True)


@derived(
    "adam step",
    "Beyond the paper: AdamW's step under noise",
    "A steady gradient over the root of its mean square: the sign of g without noise",
)
def adam_step() -> Derivation:
    """Sum up the moments of a gradient of constant mean and spread, and divide."""
    steps = _step_steps()
    return Derivation(
        quantity="m/√v",
        assumptions=(
            "The gradient has the mean g and the variance s² in every step. ε of the denominator is 0.",
            "m and v are the means of the two moments; that v scatters about its own is left out.",
        ),
        scope="Symbolic: any step, any β1 and β2.",
        steps=steps,
        statement=GRADIENT / sp.sqrt(GRADIENT**2 + SPREAD**2),
        compare=symbolic,
        further_checks=lambda: (
            Check(
                "Without noise the step is the sign of g.",
                sp.simplify(steps[-1].expression.subs(SPREAD, 0) - GRADIENT / sp.Abs(GRADIENT)),
            ),
            Check(
                "Under much noise it is g over the spread.",
                sp.limit(SPREAD * steps[-1].expression, SPREAD, sp.oo) - GRADIENT,
            ),
        ),
        arguments={
            GRADIENT: "the mean of the gradient",
            SPREAD: "the standard deviation of a batch's gradient",
        },
    )


def corrected(mean: sp.Expr) -> sp.Expr:
    """Return the mean of a moment after k steps from 0, over its bias correction."""
    return sp.simplify(weights() * mean / (1 - BETA**STEPS))


def weights() -> sp.Expr:
    """Return the sum of the weights that k steps have in a moment."""
    return sp.summation((1 - BETA) * BETA**STEPS_AGO, (STEPS_AGO, 0, STEPS - 1))


def _step_steps() -> tuple[Step, ...]:
    first, second = corrected(GRADIENT), corrected(GRADIENT**2 + SPREAD**2)
    return (
        Step("The step j ago has the weight (1 − β) β^j in a moment; k steps together.", weights()),
        Step("The first moment after the correction.", first),
        Step("The second: the mean of the square of a gradient.", second),
        Step("Their quotient.", first / sp.sqrt(second)),
    )


@derived(
    "adam moment",
    "Beyond the paper: AdamW's moments in continuous time",
    "The rate of a bias-corrected moment",
)
def adam_moment() -> Derivation:
    """Differentiate a moment after its bias correction."""
    steps = _moment_steps()
    return Derivation(
        quantity="dm/dτ",
        assumptions=(
            "τ is time in steps and λ = −ln β: what a moment M remembers shrinks by β in a step.",
            "dM/dτ = λ (g − M) from M = 0, and m = M/(1 − β^τ); g may change in time. The same for v.",
        ),
        scope="Symbolic, for any course of g.",
        steps=steps,
        statement=RATE / (1 - sp.exp(-RATE * TIME)) * (GRADIENT - MOMENT),
        compare=symbolic,
        arguments={
            RATE: "−ln β",
            TIME: "the time τ in steps",
            GRADIENT: "the gradient, or its mean square",
            MOMENT: "the moment after bias correction",
        },
    )


def correction() -> sp.Expr:
    """Return what a moment is divided by."""
    return 1 - sp.exp(-RATE * TIME)


def _moment_steps() -> tuple[Step, ...]:
    gathered = sp.Function("M")(TIME)
    moment = gathered / correction()
    rate = sp.diff(moment, TIME)
    put_in = rate.subs(sp.diff(gathered, TIME), RATE * (GRADIENT - gathered))
    named = put_in.subs(gathered, MOMENT * correction())
    return (
        Step("The moment after bias correction.", moment),
        Step("Its rate.", rate),
        Step("With the rate of M.", put_in),
        Step("M by m.", sp.factor(sp.simplify(named))),
    )
