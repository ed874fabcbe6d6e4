"""The mean course of minibatch training: what clipping leaves of a batch, Adam's memory of it, a step."""

from __future__ import annotations

import functools
import itertools

import sympy as sp

from theory.symbolic.adam import corrected
from theory.symbolic.algebra import symbolic
from theory.symbolic.batches import VARIANCE, B, N, batch_variance, share_of_batches, spread
from theory.symbolic.derivation import Derivation
from theory.symbolic.parts import Argument, Check, Step

GRADIENT, WEIGHT = sp.symbols("g theta", real=True)
NORM, SQUARES = sp.Symbol("c", positive=True), sp.Symbol("Q", positive=True)
DIVISOR = sp.Symbol("D", positive=True)
BETA, RATE = sp.symbols("beta eta", positive=True)
MEMORY, SQUARE = sp.symbols("v q", positive=True)
STEPS, TIME = sp.Symbol("k", integer=True, nonnegative=True), sp.Symbol("t", nonnegative=True)
DECAY, EPSILON = sp.Symbol("lambda", nonnegative=True), sp.Symbol("epsilon", positive=True)
GRADIENT_ARGUMENT = Argument(GRADIENT, "the mean gradient, an entry of it")


@functools.cache
def clipped_square() -> Derivation:
    """Divide the mean square of a batch's gradient by that of what clipping divides by."""
    steps = _clipped_steps()
    return Derivation(
        name="clipped square",
        equation="Beyond the paper: the second moment of a clipped batch",
        quantity="mean square of an entry of a clipped batch's gradient",
        quantity_latex=r"\frac{E \hat g^2}{D^2}",
        assumptions=(
            "A batch is b of n sequences; V is the variance of one sequence's gradient in this entry.",
            "Q is the sum of E ĝ² over all entries, the mean square of the norm; √Q is above c.",
            "Clipping at norm c divides a batch's gradient by D = √Q/c: that norms scatter is left out.",
        ),
        scope="Symbolic. All batches are enumerated at n = 4, b = 2, with two entries.",
        steps=steps,
        result=steps[-1].expression,
        statement=NORM**2 / SQUARES * (GRADIENT**2 + VARIANCE / B * (N - B) / (N - 1)),
        compare=symbolic,
        further_checks=lambda: (_enumerated(),),
        arguments=(
            GRADIENT_ARGUMENT,
            Argument(VARIANCE, "the variance of one sequence's gradient, in the same entry"),
            Argument(B, "the size of a batch"),
            Argument(N, "the number of sequences in an epoch"),
            Argument(SQUARES, "the sum of E ĝ² over all entries"),
            Argument(NORM, "the norm at which clipping binds"),
        ),
    )


def divisor() -> sp.Expr:
    """Return what clipping divides by: the root mean square of the norm over the norm allowed."""
    return sp.sqrt(SQUARES) / NORM


def _clipped_steps() -> tuple[Step, ...]:
    square = GRADIENT**2 + batch_variance().statement
    return (
        Step("The mean square of a batch's gradient: that of its mean, and the noise of a batch.", square),
        Step("What clipping divides by.", divisor()),
        Step("The mean square over the square of that.", square / divisor() ** 2),
    )


def _enumerated() -> Check:
    """Compare with the mean over every batch of 2 of 4 general gradients of two entries."""
    entries = [sp.symbols(f"{name}:4") for name in "xy"]
    squares = [_mean_square(entry) for entry in entries]
    stated = clipped_square().statement.subs({N: 4, B: 2, SQUARES: sum(squares)})
    mean, variance = sum(entries[0]) / 4, spread(entries[0])
    left = squares[0] * NORM**2 / sum(squares) - stated.subs({GRADIENT: mean, VARIANCE: variance})
    return Check("Every batch of 2 out of 4 general gradients with two entries.", sp.simplify(left))


def _mean_square(numbers: tuple[sp.Symbol, ...]) -> sp.Expr:
    """Return the mean square of the means of all pairs."""
    pairs = list(itertools.combinations(numbers, 2))
    return sp.expand(sum((sum(pair) / sp.Integer(2)) ** 2 for pair in pairs) / len(pairs))


@functools.cache
def second_moment() -> Derivation:
    """Solve the recursion of Adam's v, and take its rate in units of Σ learning rate."""
    steps = _memory_steps()
    return Derivation(
        name="second moment",
        equation="Beyond the paper: Adam's second moment in Σ learning rate",
        quantity="dv/dt",
        quantity_latex=r"\frac{dv}{dt}",
        assumptions=(
            "A step is v → β v + (1 − β) q, with q the mean square of a batch's gradient.",
            "q stays what it is; t = k η after k steps of the learning rate η.",
            "1 − β is small: its square is left out.",
        ),
        scope="Symbolic.",
        steps=steps,
        result=steps[-1].expression,
        statement=(1 - BETA) / RATE * (SQUARE - MEMORY),
        compare=symbolic,
        further_checks=lambda: (_first_step(), _two_stretches()),
        arguments=(
            Argument(BETA, "β2"),
            Argument(RATE, "the learning rate"),
            Argument(SQUARE, "the mean square of a batch's gradient"),
            Argument(MEMORY, "v before bias correction"),
        ),
    )


def after(count: sp.Expr) -> sp.Expr:
    """Return v after some steps, by solving the recursion."""
    v = sp.Function("v")
    found = sp.rsolve(v(STEPS + 1) - BETA * v(STEPS) - (1 - BETA) * SQUARE, v(STEPS), {v(0): MEMORY})
    return sp.expand(sp.simplify(found)).subs(STEPS, count)


def _memory_steps() -> tuple[Step, ...]:
    small = sp.Symbol("a", positive=True)
    rate = sp.simplify(sp.diff(after(TIME / RATE), TIME).subs(TIME, 0))
    first = sp.series(rate.subs(BETA, 1 - small), small, 0, 2).removeO()
    return (
        Step("v after k steps, from the recursion.", after(STEPS)),
        Step("Its rate at the start of a stretch, t = k η.", rate),
        Step("To first order in 1 − β.", sp.factor(first.subs(small, 1 - BETA))),
    )


def _first_step() -> Check:
    step = BETA * MEMORY + (1 - BETA) * SQUARE
    return Check("One step is Adam's own.", sp.expand(after(sp.S.One) - step))


def _two_stretches() -> Check:
    other = sp.Symbol("l", integer=True, nonnegative=True)
    twice = after(STEPS).subs(MEMORY, after(other))
    return Check("k steps behind l are k + l.", sp.simplify(sp.expand(twice - after(STEPS + other))))


@functools.cache
def mean_course() -> Derivation:
    """Average a step of AdamW over batches whose denominators are known."""
    steps = _course_steps()
    return Derivation(
        name="mean course",
        equation="Beyond the paper: the mean course of minibatch training",
        quantity="dθ/dt",
        quantity_latex=r"\frac{d\theta}{dt}",
        assumptions=(
            "A step of AdamW is θ → (1 − η λ) θ − η m/(√v + ε), m and v after bias correction.",
            "Clipping divides every batch by D, which changes little from batch to batch; so does v.",
            "g changes little while m remembers it. The weights do not scatter. t is Σ learning rate.",
        ),
        scope="Symbolic: any step, any n, b and β1.",
        steps=steps,
        result=steps[-1].expression,
        statement=-(GRADIENT / DIVISOR) / (sp.sqrt(MEMORY) + EPSILON) - DECAY * WEIGHT,
        compare=symbolic,
        further_checks=lambda: (_without_clipping(), _plain_descent()),
        arguments=(
            GRADIENT_ARGUMENT,
            Argument(DIVISOR, "what clipping divides by"),
            Argument(MEMORY, "the second moment after bias correction"),
            Argument(EPSILON, "what Adam adds to its root"),
            Argument(DECAY, "the weight decay"),
            Argument(WEIGHT, "the weight"),
        ),
    )


def _course_steps() -> tuple[Step, ...]:
    # n sequences of mean gradient g, each in the same share of all batches.
    mean = sp.simplify(share_of_batches(1) * N * GRADIENT / B)
    moment = corrected(mean / DIVISOR)
    stepped = (1 - RATE * DECAY) * WEIGHT - RATE * moment / (sp.sqrt(MEMORY) + EPSILON)
    return (
        Step("The mean of a batch's gradient over all batches.", mean),
        Step("The mean of m after k clipped batches.", moment),
        Step("The mean of the weight after a step.", stepped),
        Step("Less the weight before, over η.", sp.expand((stepped - WEIGHT) / RATE)),
    )


def _without_clipping() -> Check:
    clipped = mean_course().result.subs(MEMORY, SQUARE / DIVISOR**2).subs(EPSILON, 0)
    return Check(
        "With v = E ĝ²/D² and ε = 0 clipping drops out: Adam divides it away.",
        sp.simplify(sp.diff(clipped, DIVISOR)),
    )


def _plain_descent() -> Check:
    step = (1 - RATE * DECAY) * WEIGHT - RATE * GRADIENT / DIVISOR
    divided = mean_course().result.subs(EPSILON, 1 - sp.sqrt(MEMORY))
    return Check(
        "Where √v + ε is 1 it is SGD's, λ θ being part of the gradient.",
        sp.simplify((step - WEIGHT) / RATE - divided),
    )
