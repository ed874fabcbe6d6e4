"""AdamW's moments after bias correction: in continuous time, and what a step is for a steady gradient."""

from __future__ import annotations

import functools

import sympy as sp

from theory.symbolic.algebra import symbolic
from theory.symbolic.derivation import Derivation
from theory.symbolic.parts import Argument, Check, Step

STEPS, AGE = sp.symbols("k j", integer=True, nonnegative=True)
BETA = sp.Symbol("beta", positive=True)
GRADIENT = sp.Symbol("g", real=True)
SPREAD = sp.Symbol("s", positive=True)
RATE, TIME = sp.Symbol("lambda", positive=True), sp.Symbol("tau", positive=True)
MOMENT = sp.Symbol("m", real=True)


@functools.cache
def adam_step() -> Derivation:
    """Sum up the moments of a gradient of constant mean and spread, and divide."""
    steps = _step_steps()
    return Derivation(
        name="adam step",
        equation="Beyond the paper: AdamW's step under noise",
        quantity="m/√v",
        quantity_latex=r"\frac{m}{\sqrt{v}}",
        assumptions=(
            "The gradient has the mean g and the variance s² in every step. ε of the denominator is 0.",
            "m and v are the means of the two moments; that v scatters about its own is left out.",
        ),
        scope="Symbolic: any step, any β1 and β2.",
        steps=steps,
        result=steps[-1].expression,
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
        arguments=(
            Argument(GRADIENT, "the mean of the gradient"),
            Argument(SPREAD, "the standard deviation of a batch's gradient"),
        ),
    )


def corrected(mean: sp.Expr) -> sp.Expr:
    """Return the mean of a moment after k steps from 0, over its bias correction."""
    return sp.simplify(weights() * mean / (1 - BETA**STEPS))


def weights() -> sp.Expr:
    """Return the sum of the weights that k steps have in a moment."""
    return sp.summation((1 - BETA) * BETA**AGE, (AGE, 0, STEPS - 1))


def _step_steps() -> tuple[Step, ...]:
    first, second = corrected(GRADIENT), corrected(GRADIENT**2 + SPREAD**2)
    return (
        Step("The step j ago has the weight (1 − β) β^j in a moment; k steps together.", weights()),
        Step("The first moment after the correction.", first),
        Step("The second: the mean of the square of a gradient.", second),
        Step("Their quotient.", first / sp.sqrt(second)),
    )


@functools.cache
def adam_moment() -> Derivation:
    """Differentiate a moment after its bias correction."""
    steps = _moment_steps()
    return Derivation(
        name="adam moment",
        equation="Beyond the paper: AdamW's moments in continuous time",
        quantity="dm/dτ",
        quantity_latex=r"\frac{dm}{d\tau}",
        assumptions=(
            "τ is time in steps and λ = −ln β: what a moment M remembers shrinks by β in a step.",
            "dM/dτ = λ (g − M) from M = 0, and m = M/(1 − β^τ); g may change in time. The same for v.",
        ),
        scope="Symbolic, for any course of g.",
        steps=steps,
        result=steps[-1].expression,
        statement=RATE / (1 - sp.exp(-RATE * TIME)) * (GRADIENT - MOMENT),
        compare=symbolic,
        arguments=(
            Argument(RATE, "−ln β"),
            Argument(TIME, "the time τ in steps"),
            Argument(GRADIENT, "the gradient, or its mean square"),
            Argument(MOMENT, "the moment after bias correction"),
        ),
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
