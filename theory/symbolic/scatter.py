"""The scatter of a direction that relaxes while reshuffled batches shake it."""

from __future__ import annotations

import functools

import sympy as sp

from theory.symbolic.algebra import symbolic
from theory.symbolic.derivation import Derivation
from theory.symbolic.parts import Argument, Check, Step

DECAY, EPOCH, NOISE = sp.symbols("lambda T nu", positive=True)
AGE = sp.Symbol("tau", positive=True)


@functools.cache
def reshuffled_scatter() -> Derivation:
    """Add up what every epoch before has left of the noise of its batches."""
    steps = _steps()
    half = DECAY * EPOCH / 2
    return Derivation(
        name="reshuffled scatter",
        equation="Beyond the paper: the scatter of weights under reshuffled batches",
        quantity="variance at the end of an epoch",
        quantity_latex=r"\operatorname{Var} y",
        assumptions=(
            "dy = −λ y dt + √(ν λ) dW: curvature and noise are the same matrix (information identity), "
            "seen along one of its eigenvectors.",
            "Within each epoch of length T, W is a Brownian motion less its mean rate: it returns to zero.",
            "Epochs are independent, and many have passed.",
        ),
        scope="Symbolic.",
        steps=steps,
        result=steps[-1].expression,
        statement=NOISE / 2 * (1 - sp.tanh(half) / half),
        compare=_as_exponentials,
        further_checks=lambda: (_long_epochs(), _short_epochs()),
        arguments=(
            Argument(DECAY, "λ, the rate at which the direction relaxes"),
            Argument(EPOCH, "T, the length of an epoch"),
            Argument(NOISE, "ν = ηs, the learning rate over the batch size, n/(n − 1) times"),
        ),
    )


def left_of_mean() -> sp.Expr:
    """Return what the mean rate, taken from every part of an epoch, takes from the variance."""
    return sp.integrate(sp.exp(-DECAY * AGE), (AGE, 0, EPOCH)) ** 2 / EPOCH


def _steps() -> tuple[Step, ...]:
    free = sp.integrate(sp.exp(-2 * DECAY * AGE), (AGE, 0, EPOCH))
    own = NOISE * DECAY * (free - left_of_mean())
    return (
        Step("What independent noise leaves of one epoch, at its end, over ν λ.", free),
        Step("Less what the mean rate, times the same decay, would have: an epoch's own share.", own),
        Step("The epochs before, each e^{−2λT} of the one after it.", own / (1 - sp.exp(-2 * DECAY * EPOCH))),
    )


def _as_exponentials(found: sp.Expr, stated: sp.Expr) -> tuple[Check, ...]:
    """Compare by simplifying exponentials."""
    return symbolic(sp.simplify(found), sp.simplify(stated.rewrite(sp.exp)))


def _long_epochs() -> Check:
    limit = sp.limit(reshuffled_scatter().statement, EPOCH, sp.oo)
    return Check("Long epochs: the variance ν/2 of independent batches.", sp.simplify(limit - NOISE / 2))


def _short_epochs() -> Check:
    statement = reshuffled_scatter().statement
    leading = sp.series(statement, EPOCH, 0, 3).removeO()
    return Check(
        "Short ones: their noise cancels, ν (λT)²/24 is left.",
        sp.simplify(leading - NOISE * (DECAY * EPOCH) ** 2 / 24),
    )
