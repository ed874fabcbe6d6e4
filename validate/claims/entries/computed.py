"""Claims 7, 19, 20 and 28: computed from the theory alone."""

from __future__ import annotations

from functools import partial

from validate.claims.measures import propositions
from validate.claims.measures.computed import (
    cliff_mass,
    construction_mass,
    difference_power,
    each_draw,
    error_order,
    kolmogorov_power,
    largest_ratio,
    leading_error,
    once,
    plateau_of_linear_readout,
    ratio_exponent_in_width,
    skewness_share,
    weights,
)
from validate.claims.settings import THEORY, of
from validate.claims.statements import LARGE, SMALL, Claim, Condition, Relation, note, with_control
from validate.judge.stats import ANY, SIZE

BOUND_DRAWS = 20
_TILT = "predicted {}; a further power beside it tilts the slope by less than 0.1"
_ORDER = "power of the weights' scale with which the relative error of eq. 5 falls"


def _leading(draw: int, gamma: float) -> float:
    return leading_error(weights(gamma, draw))


def _bound(gamma: float) -> tuple[Condition, ...]:
    """Return what claim 19 asks of the width at one γ; with γ > 1 the bound cannot hold."""
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
    control = with_control(
        exponent,
        "with γ > 1 the bound falls below what no width changes",
        measure=each_draw(partial(ratio_exponent_in_width, gamma=1.5), BOUND_DRAWS),
        what="the same, γ = 1.5",
    )
    flat = {
        "power of d_m": each_draw(partial(ratio_exponent_in_width, gamma=gamma, shape=False)),
        "largest left side over the bound": each_draw(partial(largest_ratio, gamma=gamma, shape=False)),
    }
    notes = (note(f"{what}, noise alone in place of Theorem 1, γ = {gamma:g}", m) for what, m in flat.items())
    return *control, constant, *notes


def _between(low: float, high: float) -> tuple[tuple[Relation, float], ...]:
    return (">=", low), ("<=", high)


_SYMMETRIC, _SKEWED = partial(kolmogorov_power, skewed=False), partial(kolmogorov_power, skewed=True)
_DISTANCE = "power of q in the distance of the label distribution from the normal, {} anchors"
_IN_Q = (
    *with_control(
        Condition(
            _DISTANCE.format("symmetric"),
            once(_SYMMETRIC),
            "<=",
            -0.9,
            ANY,
            _TILT.format("−1 (Edgeworth: no skewness term)"),
        ),
        "skewed anchors have the term of order q^(−1/2)",
        measure=once(_SKEWED),
        what=_DISTANCE.format("skewed"),
    ),
    *(
        Condition(
            _DISTANCE.format("skewed"),
            once(_SKEWED),
            relation,
            threshold,
            ANY,
            _TILT.format("−1/2 (Berry-Esseen, the order in the bound)"),
        )
        for relation, threshold in _between(-0.6, -0.4)
    ),
    *(
        Condition(
            "that distance over the skewness term |λ|/(6√(2π)), skewed anchors, q = 32",
            once(skewness_share),
            relation,
            threshold,
            SIZE,
            "the leading term; the next one is of relative order q^(−1/2), times a number below one",
        )
        for relation, threshold in _between(0.8, 1.2)
    ),
    *with_control(
        Condition(
            "power of q in the difference of inner products over the largest, no noise, symmetric anchors",
            once(difference_power),
            "<=",
            -0.5,
            ANY,
            "the order in q that bound (13) gives, beyond that with which the inner products fall themselves",
        ),
        "zero in place of Theorem 1's shape comes no nearer",
        measure=once(partial(difference_power, shape=False)),
        what="the same, zero in place of Theorem 1's shape",
    ),
)


def _cliff() -> tuple[Condition, ...]:
    mass = Condition(
        "greatest softmax mass outside the window over ε, q = 1, 2, 3",
        once(cliff_mass),
        "<=",
        1.0,
        SIZE,
        "Lemma 5: less than ε",
    )
    construction = Condition(
        "the same for the construction on drawn reasoning sequences, paper's task, ε = 0.001",
        once(partial(construction_mass, 0, "reasoning")),
        "<=",
        1.0,
        SIZE,
        "App. E: a cliff for every p",
    )
    return (
        *with_control(
            mass,
            "half as steep, they leave more",
            measure=once(partial(cliff_mass, steepness=0.5)),
            what="the same, sequences half as steep",
        ),
        *with_control(
            construction,
            "memory sequences are not tagged",
            measure=once(partial(construction_mass, 0, "memory")),
            what="the same on drawn memory sequences",
        ),
        note(
            "least plateau error, in steps, of a read-out linear in the tag (0 would be a plateau)",
            once(plateau_of_linear_readout),
            within=SIZE,
        ),
    )


def _exact(relation: Relation, threshold: float) -> Condition:
    return Condition(_ORDER, each_draw(error_order), relation, threshold, ANY, _TILT.format("3 (tanh)"))


def _proposition(name: str, kind: str) -> tuple[Condition, ...]:
    """Return what claim 28 asks of one kind of token."""
    power = "power of the embedding's scale with which the relative error of the {} form falls, {}"
    left = "relative error of the {} form at the smallest scale, {}"
    of_form = partial(propositions.error_power, kind=kind)
    error_of = partial(propositions.error, kind=kind)
    printed = Condition(
        f"{name}: {power.format('printed', kind)}",
        each_draw(partial(of_form, form="printed")),
        ">=",
        0.9,
        ANY,
        _TILT.format("1 for a leading order"),
    )
    return (
        printed,
        note(left.format("printed", kind), each_draw(partial(error_of, form="printed")), within=SIZE),
        note(power.format("derived", kind), each_draw(partial(of_form, form="derived"))),
        note(left.format("derived", kind), each_draw(partial(error_of, form="derived")), within=SIZE),
    )


CLAIMS = (
    Claim(
        "Proposition 1 is exact for small weights",
        "The gradient of an embedding approaches r_s (P^s − u) W2ᵀW1ᵀ as the weights become small.",
        of(
            THEORY,
            (
                *with_control(
                    _exact(">=", 2.9),
                    "with another token's label distribution the error does not fall",
                    measure=each_draw(partial(error_order, scramble=True)),
                    what="the same, label distributions scrambled",
                ),
                _exact("<=", 3.1),
                *(
                    note(
                        f"relative error of eq. 5 at initialisation, γ = {gamma:g}",
                        each_draw(partial(_leading, gamma=gamma)),
                        within=SIZE,
                    )
                    for gamma in (LARGE, 0.5, SMALL)
                ),
            ),
        ),
        7,
        "Prop. 1, eq. 5",
    ),
    Claim(
        "the normal shape's inner products",
        "Theorem 1's inner products differ from the exact ones by no more than the order of bound (13), "
        "whose q^(−1/2) is that of skewed anchors; symmetric ones have q^(−1).",
        of(THEORY, (*_bound(LARGE), *_bound(0.5), *_bound(SMALL), *_IN_Q)),
        19,
        "Thm. 1, bound (13)",
    ),
    Claim(
        "cliffs and a construction that has them",
        "A cliff sequence leaves less than any ε outside key and anchors, and matrices exist that make one.",
        of(THEORY, _cliff()),
        20,
        "App. D-E, Lemma 5",
    ),
    Claim(
        "Propositions 2 and 3 as printed",
        "The gradient of an embedding in the one-layer Transformer approaches the printed form, and keys "
        "have a similar result.",
        of(
            THEORY,
            (
                *_proposition("Prop. 2", "memory"),
                *_proposition("Prop. 3", "reasoning"),
                *_proposition("similar result", "keys"),
            ),
        ),
        28,
        "Prop. 2, 3, eq. 10, 11",
    ),
)
