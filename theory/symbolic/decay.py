"""Weight decay on the coupled flow: another clock, a later blow-up, and conserved quantities that decay."""

from __future__ import annotations

import functools

import sympy as sp

from theory.symbolic.algebra import SIZES, at_sizes, entrywise, replaced, settled, symbolic, written_out
from theory.symbolic.derivation import Derivation
from theory.symbolic.emb_mlp import W1, W1_ARGUMENT, W2
from theory.symbolic.flows import EMBEDDING_ARGUMENT, W_EMB, flow_of_product
from theory.symbolic.parts import Argument, Check, Step

DECAY = sp.Symbol("lambda", positive=True)
TIME = sp.Symbol("t", nonnegative=True)
BLOW_UP = sp.Symbol("T_star", positive=True)
SPEED, FACTOR = sp.symbols("v a", positive=True)
MATRICES = (W_EMB, W1, W2)
ASSUMPTIONS = (
    "All matrices move, σ is the identity and the softmax uniform: the drive R = C is constant.",
    "Weight decay adds λ times every weight to its gradient.",
)
DECAY_ARGUMENT = Argument(DECAY, "the weight decay λ > 0")


def factor() -> sp.Expr:
    """Return the factor a by which decay alone shrinks a weight."""
    return sp.exp(-DECAY * TIME)


@functools.cache
def clock() -> Derivation:
    """Put the flow without decay, shrunk and on another clock, into the flow with decay."""
    steps = _clock_steps()
    return Derivation(
        name="decay clock",
        equation="Beyond the paper: weight decay on the coupled flow",
        quantity="T: the weights are e^(−λt) times the flow without decay at T",
        quantity_latex=r"\theta(t) = e^{-\lambda t} \phi(T), \quad T",
        assumptions=(*ASSUMPTIONS, "φ is the flow without decay from the same start; dφ/dT is its velocity."),
        scope="Steps: all three matrices with general entries at d = 3, d_m = d_f = 2.",
        steps=steps,
        result=steps[-1].expression,
        statement=(1 - sp.exp(-DECAY * TIME)) / DECAY,
        compare=symbolic,
        further_checks=lambda: (
            Check(
                "With v = a the difference vanishes in every entry of the three matrices.",
                _difference(_velocities()).subs(SPEED, FACTOR).applyfunc(sp.expand),
            ),
        ),
        arguments=(DECAY_ARGUMENT, Argument(TIME, "the time t of the flow with decay")),
    )


def _velocities() -> sp.Matrix:
    """Return the flow of all three matrices as one column."""
    return sp.Matrix([entry for by in flow_of_product() for entry in at_sizes(by, SIZES)])


def _weights() -> sp.Matrix:
    return sp.Matrix([entry for matrix in MATRICES for entry in written_out(matrix, SIZES)])


def _shrunk(velocities: sp.Matrix) -> sp.Matrix:
    """Return the velocities at the weights times a."""
    weights = _weights()
    return sp.Matrix(replaced(velocities, (weights, FACTOR * weights))).applyfunc(sp.expand)


def _difference(velocities: sp.Matrix) -> sp.Matrix:
    """Return the rate of a φ(T), where da/dt = −λ a and dT/dt = v, less that of the flow with decay."""
    made = -DECAY * FACTOR * _weights() + FACTOR * velocities * SPEED
    asked = _shrunk(velocities) - DECAY * FACTOR * _weights()
    return (made - asked).applyfunc(sp.expand)


def _clock_steps() -> tuple[Step, ...]:
    velocities = _velocities()
    rest = _difference(velocities)
    speed = sp.cancel(-rest[0].coeff(SPEED, 0) / rest[0].coeff(SPEED, 1))
    running = speed.subs(FACTOR, factor())
    return (
        Step("The flow without decay, of the three matrices.", velocities),
        Step("At weights times a: every term has two of the other matrices.", _shrunk(velocities)),
        Step("The rate of a φ(T), with da/dt = −λ a and dT/dt = v, less that of the flow with decay.", rest),
        Step("The v at which the first entry vanishes.", speed),
        Step("In time, a = 1 at the start.", running),
        Step("Its integral from 0, T.", sp.expand(sp.integrate(running, (TIME, 0, TIME)))),
    )


@functools.cache
def blow_up() -> Derivation:
    """Solve for the time at which the clock reaches the blow-up of the flow without decay."""
    reached = clock().result
    result = sp.solve(reached - BLOW_UP, TIME)[0]
    return Derivation(
        name="decay blow up",
        equation="Beyond the paper: the blow-up under weight decay",
        quantity="the time of the blow-up",
        quantity_latex=r"t^*",
        assumptions=(
            *ASSUMPTIONS,
            "Without decay the flow blows up at T_star. If λ T_star ≥ 1 the clock never gets there.",
        ),
        scope="Symbolic.",
        steps=(
            Step("The clock of the flow with decay.", reached),
            Step("Its limit at late times: it never passes 1/λ.", sp.limit(reached, TIME, sp.oo)),
            Step("The time at which it shows T_star.", result),
        ),
        result=result,
        statement=-sp.log(1 - DECAY * BLOW_UP) / DECAY,
        compare=_same_factor,
        arguments=(DECAY_ARGUMENT, Argument(BLOW_UP, "the blow-up time without decay")),
    )


def _same_factor(result: sp.Expr, statement: sp.Expr) -> tuple[Check, ...]:
    """Compare e^(−λt), which has no branches, of two times."""
    rest = settled(sp.exp(-DECAY * result) - sp.exp(-DECAY * statement))
    return (Check("e^(−λt) of the last step minus that of the statement.", rest),)


@functools.cache
def decayed_conserved() -> Derivation:
    """Differentiate the conserved matrices along the flow with decay."""
    first, second = _rate(W_EMB, W1), _rate(W1, W2)
    return Derivation(
        name="decay conserved",
        equation="Beyond the paper: the conserved matrices under weight decay",
        quantity="dQ/dt of Q = W_embᵀ W_emb − W1 W1ᵀ",
        quantity_latex=r"\frac{dQ}{dt}",
        assumptions=(
            "All matrices move, σ is the identity; the drive R of the product may be anything.",
            ASSUMPTIONS[1],
        ),
        scope="Steps: general entries at d = 3, d_m = d_f = 2. Statement: any size.",
        steps=(
            Step("The flow of W_emb with decay.", _with_decay(W_EMB)),
            Step("The flow of W1 with decay.", _with_decay(W1)),
            Step("The rate of change of Q.", first),
        ),
        result=first,
        statement=-2 * DECAY * (W_EMB.T * W_EMB - W1 * W1.T),
        compare=entrywise(SIZES),
        further_checks=lambda: (
            Check(
                "The other one, W1ᵀ W1 − W2 W2ᵀ, does the same.",
                (second + 2 * DECAY * at_sizes(W1.T * W1 - W2 * W2.T, SIZES)).applyfunc(sp.expand),
            ),
        ),
        arguments=(EMBEDDING_ARGUMENT, W1_ARGUMENT, DECAY_ARGUMENT),
    )


def _with_decay(matrix: sp.MatrixSymbol) -> sp.Matrix:
    by = flow_of_product()[MATRICES.index(matrix)]
    return at_sizes(by, SIZES) - DECAY * written_out(matrix, SIZES)


def _rate(left: sp.MatrixSymbol, right: sp.MatrixSymbol) -> sp.Matrix:
    """Return d/dt of leftᵀ left − right rightᵀ, by the product rule."""
    a, b = (written_out(m, SIZES) for m in (left, right))
    da, db = _with_decay(left), _with_decay(right)
    return (da.T * a + a.T * da - db * b.T - b * db.T).applyfunc(sp.expand)
