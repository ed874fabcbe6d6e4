"""Claims 7, 19 and 20: computed from the theory alone."""

from __future__ import annotations

from functools import partial

from validate.claims.measures.computed import (
    cliff_mass,
    construction_mass,
    each_draw,
    error_order,
    largest_ratio,
    leading_error,
    plateau_of_linear_readout,
    ratio_exponent_in_width,
    weights,
)
from validate.claims.statements import LARGE, SMALL, Claim, Condition, with_control
from validate.stats import ANY, SIZE

BOUND_DRAWS = 20
_TILT = "predicted 3 (tanh); a further power beside it tilts the slope by less than 0.1"
_ORDER = "power of the weights' scale with which the relative error of eq. 5 falls"
_SCRAMBLED = each_draw(partial(error_order, scramble=True))


def _error_at(gamma: float) -> Condition:
    def error(draw: int) -> float:
        return leading_error(weights(gamma, draw))

    return Condition(
        f"relative error of eq. 5 at initialisation, γ = {gamma:g}",
        each_draw(error),
        within=SIZE,
        role="note",
    )


def _bound(gamma: float) -> tuple[Condition, ...]:
    """Return what claim 19 asks at one γ."""
    exponent = Condition(
        f"power of d_m in the left side over the bound, γ = {gamma:g}",
        each_draw(partial(ratio_exponent_in_width, gamma=gamma), BOUND_DRAWS),
        "<=",
        0.0,
        ANY,
        "the bound has to hold for all d_m with one constant",
    )
    constant = Condition(
        f"largest left side over the bound, d_m to 1600 and q to 32, γ = {gamma:g}",
        each_draw(partial(largest_ratio, gamma=gamma), BOUND_DRAWS),
        "<=",
        1.0,
        SIZE,
        "with one as the constant that the O leaves open",
    )
    return (
        *with_control(
            exponent,
            "a bound two powers of d_m lower cannot hold",
            measure=each_draw(partial(ratio_exponent_in_width, gamma=gamma, steeper=2.0), BOUND_DRAWS),
            what=f"the same, the bound two powers of d_m lower, γ = {gamma:g}",
        ),
        constant,
    )


_CLIFF = Condition(
    "greatest softmax mass outside the window over ε, q = 1, 2, 3",
    each_draw(cliff_mass),
    "<=",
    1.0,
    SIZE,
    "Lemma 5: less than ε",
)
_CONSTRUCTION = Condition(
    "the same for the construction on drawn reasoning sequences, paper's task, ε = 0.001",
    each_draw(partial(construction_mass, kind="reasoning")),
    "<=",
    1.0,
    SIZE,
    "App. E: a cliff for every p",
)
COMPUTED = (
    Claim(
        "Proposition 1 is exact for small weights",
        "The gradient of an embedding approaches r_s (P^s − u) W2ᵀW1ᵀ as the weights become small.",
        (
            *with_control(
                Condition(_ORDER, each_draw(error_order), ">=", 2.9, ANY, _TILT),
                "with another token's label law the error does not fall",
                measure=_SCRAMBLED,
                what="the same, label laws scrambled",
            ),
            Condition(_ORDER, each_draw(error_order), "<=", 3.1, ANY, _TILT),
            *(_error_at(gamma) for gamma in (LARGE, 0.5, SMALL)),
        ),
        7,
        "Prop. 1, eq. 5",
    ),
    Claim(
        "the normal shape's inner products",
        "Theorem 1's inner products differ from the exact ones by no more than the order of bound (13).",
        (*_bound(LARGE), *_bound(0.5), *_bound(SMALL)),
        19,
        "Thm. 1, bound (13)",
    ),
    Claim(
        "cliffs and a construction that has them",
        "A cliff sequence leaves less than any ε outside key and anchors, and matrices exist that make one.",
        (
            *with_control(
                _CLIFF,
                "half as steep, they leave more",
                measure=each_draw(partial(cliff_mass, steepness=0.5)),
                what="the same, sequences half as steep",
            ),
            *with_control(
                _CONSTRUCTION,
                "memory sequences are not tagged",
                measure=each_draw(partial(construction_mass, kind="memory")),
                what="the same on drawn memory sequences",
            ),
            Condition(
                "least plateau error, in steps, of a read-out linear in the tag (0 would be a plateau)",
                lambda _: [plateau_of_linear_readout()],
                within=SIZE,
                role="note",
            ),
        ),
        20,
        "App. D-E, Lemma 5",
    ),
)
