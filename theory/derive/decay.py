"""Weight decay on the coupled flow: another clock, a later blow-up, and conserved quantities that decay."""

from __future__ import annotations

import sympy as sp

from theory.derive.algebra import SIZES, at_sizes, entrywise, replaced, settled, symbolic, written_out
from theory.derive.derivation import Check, Derivation, Step, derived
from theory.derive.emb_mlp import W1, W2
from theory.derive.flows import MATRIX_ARGUMENTS, W_EMB, flow_of_product

DECAY, SPEED, FACTOR, BLOW_UP = sp.symbols("lambda v a T_star", positive=True)
TIME = sp.Symbol("t", nonnegative=True)
MATRICES = (W_EMB, W1, W2)
ASSUMPTIONS = (
    "All matrices move, σ is the identity and the softmax uniform: the drive R = C is constant.",
    "Weight decay adds λ times every weight to its gradient.",
)
DECAY_ARGUMENT = {DECAY: "the weight decay λ > 0"}


def factor() -> sp.Expr:
    """Return the factor a by which decay alone shrinks a weight."""
    return sp.exp(-DECAY * TIME)


@derived(
    "decay clock",
    "Beyond the paper: weight decay on the coupled flow",
    "Weight decay changes the clock and the scale of the coupled flow, and nothing else",
)
def clock() -> Derivation:
    """Put the flow without decay, shrunk and on another clock, into the flow with decay."""
    weights = sp.Matrix([entry for matrix in MATRICES for entry in written_out(matrix, SIZES)])
    velocities = sp.Matrix([entry for by in flow_of_product() for entry in at_sizes(by, SIZES)])
    shrunk = sp.Matrix(replaced(velocities, (weights, FACTOR * weights))).applyfunc(sp.expand)
    # da/dt = −λ a and dT/dt = v; the flow with decay at the weights a φ is subtracted.
    made = -DECAY * FACTOR * weights + FACTOR * velocities * SPEED
    rest = (made - (shrunk - DECAY * FACTOR * weights)).applyfunc(sp.expand)
    speed = sp.cancel(-rest[0].coeff(SPEED, 0) / rest[0].coeff(SPEED, 1))
    running = speed.subs(FACTOR, factor())
    return Derivation(
        quantity="T: the weights are e^(−λt) times the flow without decay at T",
        assumptions=(*ASSUMPTIONS, "φ is the flow without decay from the same start; dφ/dT is its velocity."),
        scope="Steps: all three matrices with general entries at d = 3, d_m = d_f = 2.",
        steps=(
            Step("The flow without decay, of the three matrices.", velocities),
            Step("At weights times a: every term has two of the other matrices.", shrunk),
            Step("The rate of a φ(T), da/dt = −λ a and dT/dt = v, minus the flow with decay.", rest),
            Step("The v at which the first entry vanishes.", speed),
            Step("In time, a = 1 at the start.", running),
            Step("Its integral from 0, T.", sp.expand(sp.integrate(running, (TIME, 0, TIME)))),
        ),
        statement=(1 - sp.exp(-DECAY * TIME)) / DECAY,
        compare=symbolic,
        further_checks=lambda: (
            Check(
                "With v = a the difference vanishes in every entry of the three matrices.",
                rest.subs(SPEED, FACTOR).applyfunc(sp.expand),
            ),
        ),
        arguments=DECAY_ARGUMENT | {TIME: "the time t of the flow with decay"},
    )


@derived(
    "decay blow up",
    "Beyond the paper: the blow-up under weight decay",
    "When the coupled flow blows up under weight decay",
)
def blow_up() -> Derivation:
    """Solve for the time at which the clock reaches the blow-up of the flow without decay."""
    reached = clock().result
    return Derivation(
        quantity="the time of the blow-up",
        assumptions=(
            *ASSUMPTIONS,
            "Without decay the flow blows up at T_star. If λ T_star ≥ 1 the clock never gets there.",
        ),
        scope="Symbolic.",
        steps=(
            Step("The clock of the flow with decay.", reached),
            Step("Its limit at late times: it never passes 1/λ.", sp.limit(reached, TIME, sp.oo)),
            Step("The time at which it shows T_star.", sp.solve(reached - BLOW_UP, TIME)[0]),
        ),
        statement=-sp.log(1 - DECAY * BLOW_UP) / DECAY,
        compare=_same_factor,
        arguments=DECAY_ARGUMENT | {BLOW_UP: "the blow-up time without decay"},
    )


def _same_factor(result: sp.Expr, statement: sp.Expr) -> tuple[Check, ...]:
    """Compare e^(−λt), which has no branches, of two times."""
    rest = settled(sp.exp(-DECAY * result) - sp.exp(-DECAY * statement))
    return (Check("e^(−λt) of the last step minus that of the statement.", rest),)


@derived(
    "decay conserved",
    "Beyond the paper: the conserved matrices under weight decay",
    "What the joint flow conserves decays at twice the rate of the weights",
)
def decayed_conserved() -> Derivation:
    """Differentiate the conserved matrices along the flow with decay."""
    second = _rate(W1, W2)
    return Derivation(
        quantity="dQ/dt of Q = W_embᵀ W_emb − W1 W1ᵀ",
        assumptions=(
            "All matrices move, σ is the identity; the drive R of the product may be anything.",
            ASSUMPTIONS[1],
        ),
        scope="Steps: general entries at d = 3, d_m = d_f = 2. Statement: any size.",
        steps=(
            Step("The flow of W_emb with decay.", _with_decay(W_EMB)),
            Step("The flow of W1 with decay.", _with_decay(W1)),
            Step("The rate of change of Q.", _rate(W_EMB, W1)),
        ),
        statement=-2 * DECAY * (W_EMB.T * W_EMB - W1 * W1.T),
        compare=entrywise(SIZES),
        further_checks=lambda: (
            Check(
                "The other one, W1ᵀ W1 − W2 W2ᵀ, does the same.",
                (second + 2 * DECAY * at_sizes(W1.T * W1 - W2 * W2.T, SIZES)).applyfunc(sp.expand),
            ),
        ),
        arguments={m: MATRIX_ARGUMENTS[m] for m in (W_EMB, W1)} | DECAY_ARGUMENT,
    )


def _with_decay(matrix: sp.MatrixSymbol) -> sp.Matrix:
    by = flow_of_product()[MATRICES.index(matrix)]
    return at_sizes(by, SIZES) - DECAY * written_out(matrix, SIZES)


def _rate(left: sp.MatrixSymbol, right: sp.MatrixSymbol) -> sp.Matrix:
    """Return d/dt of leftᵀ left − right rightᵀ, by the product rule."""
    a, b = (written_out(m, SIZES) for m in (left, right))
    da, db = _with_decay(left), _with_decay(right)
    return (da.T * a + a.T * da - db * b.T - b * db.T).applyfunc(sp.expand)
