"""SGD on reshuffled epochs: its scatter within one, and how the correlation of batches bends the mean."""

from __future__ import annotations

import functools
import itertools

import sympy as sp

from theory.symbolic.algebra import symbolic
from theory.symbolic.batches import B, K, N, S, batch_variance, pair_covariance
from theory.symbolic.derivation import Derivation
from theory.symbolic.parts import Argument, Check, Step

RATE, TIME, EPOCH, AGE = sp.symbols("eta t T tau", positive=True)
GROWTH = sp.Symbol("J", real=True, nonzero=True)
NOISE = sp.Symbol("nu", positive=True)
SLOPE_NOISE = sp.Symbol("X", real=True)
BATCH = sp.Symbol("k", integer=True, positive=True)
RATE_ARGUMENT = Argument(RATE, "the learning rate")


@functools.cache
def reshuffled_covariance() -> Derivation:
    """Add up the noise of the batches taken, which are correlated as those of a whole epoch are."""
    steps = _covariance_steps()
    return Derivation(
        name="reshuffled covariance",
        equation="Beyond the paper: the covariance of SGD within a reshuffled epoch",
        quantity="variance P of one direction",
        quantity_latex=r"P",
        assumptions=(
            "The direction obeys dx/dt = J x between batches; t is Σ learning rate since the epoch began.",
            "The K = T/η batches of an epoch add up to the training set; steps are short.",
            "ν is K/(K − 1) times the variance of a batch, n/(n − 1)/b of one sequence's gradient.",
        ),
        scope="Symbolic, one direction.",
        steps=steps,
        result=steps[-1].expression,
        statement=RATE
        * NOISE
        * (
            (sp.exp(2 * GROWTH * TIME) - 1) / (2 * GROWTH)
            - (sp.exp(GROWTH * TIME) - 1) ** 2 / (GROWTH**2 * EPOCH)
        ),
        compare=symbolic,
        further_checks=lambda: (_short_epochs(), _many_epochs()),
        arguments=(
            Argument(GROWTH, "the rate at which the direction grows"),
            Argument(TIME, "Σ learning rate since the epoch began"),
            Argument(EPOCH, "that of a whole epoch"),
            RATE_ARGUMENT,
            Argument(NOISE, "n/(n − 1)/b times the variance of one sequence's gradient"),
        ),
    )


def correlation() -> sp.Expr:
    """Return the covariance of two batches of an epoch, over what ν stands for."""
    return sp.simplify(pair_covariance() / (S**2 * K / (K - 1)))


def _covariance_steps() -> tuple[Step, ...]:
    alone = sp.integrate(sp.exp(2 * GROWTH * (TIME - AGE)), (AGE, 0, TIME))
    moved = sp.integrate(sp.exp(GROWTH * (TIME - AGE)), (AGE, 0, TIME))
    shared = correlation().subs(K, EPOCH / RATE)
    # A batch's own variance is ν less ν/K, so that the covariance holds for every pair of times.
    both = RATE * NOISE * alone + shared * NOISE * moved**2
    return (
        Step("What independent batches of variance ν leave, over η ν: A.", sp.simplify(alone)),
        Step("What a steady push of size one leaves: M.", sp.simplify(moved)),
        Step("The covariance of any two batches, over ν.", shared),
        Step("The double sum: η ν A, and that covariance times M².", sp.simplify(both)),
    )


def _short_epochs() -> Check:
    statement = reshuffled_covariance().statement
    leading = sp.limit(statement, GROWTH, 0)
    return Check(
        "Short epochs: a Brownian bridge, which returns to 0.",
        sp.simplify(leading - RATE * NOISE * TIME * (1 - TIME / EPOCH)),
    )


def _many_epochs() -> Check:
    from theory.symbolic import scatter

    end = reshuffled_covariance().statement.subs({TIME: EPOCH, GROWTH: -scatter.DECAY})
    # There ν λ is the variance over the rate: curvature and noise are the same matrix.
    named = end.subs(NOISE, scatter.NOISE * scatter.DECAY / RATE)
    total = named / (1 - sp.exp(-2 * scatter.DECAY * EPOCH))
    rest = total - scatter.reshuffled_scatter().statement.rewrite(sp.exp).subs(scatter.EPOCH, EPOCH)
    return Check("Over many epochs it is the scatter of the weights.", sp.simplify(rest))


@functools.cache
def reshuffled_shift() -> Derivation:
    """Add up what a batch's slope has in common with the displacement by those before it in its epoch."""
    steps = _shift_steps()
    return Derivation(
        name="reshuffled shift",
        equation="Beyond the paper: how reshuffling bends the mean of SGD",
        quantity="mean of dδ/dt over an epoch, its own part",
        quantity_latex=r"\frac{d\delta}{dt}",
        assumptions=(
            "A step adds η (F_i + F_i' ζ), ζ what the noise of the batches before it in its epoch moved.",
            "X = E (F_i' − F') (F_i − F) over sequences. Epochs are short: ζ is η times that noise's sum.",
            "Terms of the order of η² are left out.",
        ),
        scope="Symbolic n and b. All orders are enumerated at n = 4, b = 1 and b = 2.",
        steps=steps,
        result=steps[-1].expression,
        statement=-RATE * SLOPE_NOISE / 2 * (N - B) / (B * (N - 1)),
        compare=symbolic,
        further_checks=lambda: (_enumerated(1), _enumerated(2), _as_a_gradient()),
        arguments=(
            RATE_ARGUMENT,
            Argument(SLOPE_NOISE, "E (F_i' − F') (F_i − F), an entry of it"),
            Argument(N, "the number of sequences in an epoch"),
            Argument(B, "the size of a batch"),
        ),
    )


def common() -> sp.Expr:
    """Return the mean product of one batch's slope and another's noise, given X for one sequence."""
    of_one_batch = batch_variance().function()(SLOPE_NOISE, B, N)
    return sp.factor(pair_covariance().subs(S, sp.sqrt(of_one_batch)))


def _shift_steps() -> tuple[Step, ...]:
    at_step = RATE**2 * (BATCH - 1) * common()
    epoch = sp.factor(sp.summation(at_step, (BATCH, 1, K)))
    return (
        Step("The mean product of a batch's slope and another batch's noise.", common()),
        Step("What the step of the k-th batch gains by the k − 1 before it.", at_step),
        Step("All K steps of an epoch.", epoch),
        Step("Over the length K η of an epoch.", sp.simplify(epoch / (K * RATE))),
    )


def _enumerated(size: int) -> Check:
    """Average over all orders of four general sequences, in batches of one size."""
    slopes, pushes = sp.symbols("h:4"), sp.symbols("f:4")
    mean = sum(pushes) / 4
    orders = list(itertools.permutations(range(4)))
    gained = sp.S.Zero
    for order in orders:
        batches = [order[first : first + size] for first in range(0, 4, size)]
        for later, earlier in itertools.combinations(reversed(batches), 2):
            push = sum(pushes[i] - mean for i in earlier) / sp.Integer(size)
            gained += sum(slopes[i] for i in later) / sp.Integer(size) * push
    together = sum(h * (f - mean) for h, f in zip(slopes, pushes, strict=True)) / 4
    stated = reshuffled_shift().statement.subs({SLOPE_NOISE: together, N: 4, B: size})
    rate = RATE * gained / len(orders) / (4 // size)
    return Check(f"Every order of 4 general sequences in batches of {size}.", sp.expand(rate - stated))


def _as_a_gradient() -> Check:
    """Compare X with a gradient, for three quadratic losses of two weights."""
    weights = sp.Matrix(sp.symbols("x y"))
    losses = []
    for i in range(3):
        a, b, c, d, e = sp.symbols(f"a{i} b{i} c{i} d{i} e{i}")
        x, y = weights
        losses.append(a * x**2 + b * x * y + c * y**2 + d * x + e * y)
    slopes = [-sp.Matrix([loss]).jacobian(weights).T for loss in losses]
    mean = (slopes[0] + slopes[1] + slopes[2]) / 3
    away = [slope - mean for slope in slopes]
    together = sum(
        (slope.jacobian(weights) * rest for slope, rest in zip(slopes, away, strict=True)), sp.zeros(2, 1)
    )
    squares = sum((rest.T * rest)[0] for rest in away)
    half = sp.Matrix([squares]).jacobian(weights).T / 2
    return Check(
        "X is ∇E|∇L_i − ∇L|²/2: three quadratic losses.", ((together - half) / 3).applyfunc(sp.expand)
    )
