"""Claims 10-12, 14 and 15: attention, value matrix, ranks and outputs."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from functools import partial

from validate.claims.entries.learning import SPEARMAN_7
from validate.claims.measures.attention import (
    alignment,
    average_error,
    cliff_share,
    lemma1_excess,
    lemma1_share,
    positions_rise,
    rise,
    theorem2_selectivity,
    value_gap,
    window_mass,
)
from validate.claims.measures.outputs import before_memorising, greatest_foreign_mass, least_own_mass
from validate.claims.measures.spectra import share_of_falling, weakest_rank_trend
from validate.claims.statements import (
    LARGE,
    SMALL,
    Claim,
    Condition,
    Needs,
    each,
    each_seed,
    with_control,
)
from validate.observe import Observations
from validate.stats import COSINE, SHARE, SIZE
from validate.times import first_epoch

_NORMS = ("transformer", "post-norm")
"""The mechanism is looked for with norms in front of attention and FFN, and with norms behind them."""


def _average(study: str) -> tuple[Condition, ...]:
    """Return what claim 10 asks of a study."""
    small, large = Needs(study, (SMALL,)), Needs(study, (LARGE,))
    conditions: list[Condition] = []
    lemma = "Lemma 1 at ε = 0.1: with probability at least 1 − ε"
    for name, measure in (
        ("at initialisation", partial(lemma1_share, epsilon=0.1, when=first_epoch)),
        ("early", partial(lemma1_share, epsilon=0.1)),
    ):
        condition = Condition(
            f"share of |A_ij − 1/i| <= 0.1, {name}", each(measure), ">=", 0.9, SHARE, lemma, small
        )
        conditions += with_control(condition, "at γ = 0.3 rows are far from averages", needs=large)
    smallest = partial(lemma1_share, epsilon=0.01, when=first_epoch)
    excess = partial(lemma1_excess, epsilon=0.1)
    return (
        *conditions,
        _note(
            small, "share of |A_ij − 1/i| <= 0.1 at initialisation minus its predicted value", excess, COSINE
        ),
        _note(small, "share of |A_ij − 1/i| <= 0.01 at initialisation", smallest, SHARE),
        _note(small, "largest |A_ij − 1/i| of the mean attention, early", average_error, SHARE),
    )


def _note(
    needs: Needs, what: str, measure: Callable[[Observations], float], within: tuple[float, float]
) -> Condition:
    return Condition(what, each(measure), within=within, needs=needs, role="note")


def _value_matrix(study: str) -> tuple[Condition, ...]:
    """Return what claim 11 asks of a study."""
    small, large = Needs(study, (SMALL,)), Needs(study, (LARGE,))
    reasoning, memory = (partial(alignment, kind=kind) for kind in ("reasoning", "memory"))
    gap = Condition(
        "first over second singular value of W_V, early",
        each(value_gap),
        ">=",
        2.0,
        (1.0, float("inf")),
        "twice; a random matrix of this shape has 1.03",
        small,
    )
    along = Condition(
        "mean |cosine| of reasoning anchors with W_V's top vector, early",
        each(reasoning),
        ">=",
        0.5,
        SHARE,
        "half-way between orthogonal and parallel",
        small,
    )
    across = Condition(
        "mean |cosine| of memory anchors with W_V's top vector, early",
        each(memory),
        "<=",
        0.25,
        SHARE,
        "half of what counts as aligned",
        small,
    )
    return (
        *with_control(gap, "at γ = 0.3 the paper sees no such structure", needs=large),
        *with_control(along, "at γ = 0.3 the paper sees no such structure", needs=large),
        *with_control(
            across,
            "reasoning anchors are not orthogonal to it",
            measure=each(reasoning),
            what="mean |cosine| of reasoning anchors with it",
        ),
    )


_SELECTIVITY = Condition(
    "Theorem 2's own prediction of the alignments, reasoning over memory",
    lambda _: [theorem2_selectivity()],
    within=SIZE,
    role="note",
)


def _cliff(study: str) -> tuple[Condition, ...]:
    """Return what claim 12 asks of a study."""
    small = Needs(study, (SMALL,))
    shifted = "each key place has another one's row"
    share = Condition(
        "share of key places whose steepest fall is right after the anchors, early",
        each(cliff_share),
        ">=",
        0.56,
        SHARE,
        "half-way between chance, one in eight, and always",
        small,
    )
    mass = Condition(
        "attention of the last place on key and anchors, early",
        each(window_mass),
        ">=",
        0.67,
        SHARE,
        "half-way between an even spread, a third, and all",
        small,
    )
    climb = Condition(
        "Spearman of place and logit up to the key, early",
        each(rise),
        ">=",
        0.5,
        COSINE,
        "half-way between no order and a perfect one",
        small,
    )
    positions = Condition(
        "Spearman of place and logit from positions alone, early",
        each(positions_rise),
        ">=",
        SPEARMAN_7,
        COSINE,
        "eight unconnected values reach it once in thirty times",
        small,
    )
    return (
        *with_control(
            share, shifted, measure=each(partial(cliff_share, scramble=True)), what="the same, rows scrambled"
        ),
        *with_control(
            mass, shifted, measure=each(partial(window_mass, scramble=True)), what="the same, rows scrambled"
        ),
        *with_control(
            climb, "the order is gone", measure=each(partial(rise, scramble=True)), what="the same, scrambled"
        ),
        *with_control(
            positions,
            "random positions have no order",
            measure=each(partial(positions_rise, when=first_epoch)),
            what="the same at initialisation",
        ),
    )


def _own_mass(run: Observations) -> float:
    return least_own_mass(run, before_memorising(run))


def _foreign_mass(run: Observations) -> float:
    return greatest_foreign_mass(run, before_memorising(run))


def _own_labels(variant: str) -> tuple[Condition, ...]:
    condition = Condition(
        "least output mass in a group's own label range, accuracy at most 0.25",
        each(_own_mass),
        ">=",
        0.9,
        SHARE,
        "all but a tenth; outputs that ignore the group would leave the narrowest one far more",
        Needs("fig8-ranges", (SMALL,), (variant,)),
    )
    return with_control(
        condition,
        "a group's outputs must go beyond a narrower group's range",
        measure=each(_foreign_mass),
        what="greatest output mass in the next narrower group's range",
    )


_SCAN = Needs("scan", least_rates=7)
_RANKS = Condition(
    "greatest over weight matrices of Spearman of γ and effective rank, early",
    each_seed(weakest_rank_trend),
    "<=",
    -SPEARMAN_7,
    COSINE,
    "every matrix: seven unconnected values reach it once in twenty times",
    _SCAN,
)
MECHANISM = (
    Claim(
        "the first attention averages",
        "With small weights the first attention is nearly the average over the places so far.",
        tuple(itertools.chain.from_iterable(map(_average, _NORMS))),
        10,
        "3.3, Lemma 1, Fig. 6A-B",
    ),
    Claim(
        "the value matrix marks reasoning anchors",
        "One singular value of W_V stands out, its vector along reasoning and across memory anchors.",
        (*itertools.chain.from_iterable(map(_value_matrix, _NORMS)), _SELECTIVITY),
        11,
        "3.3, Thm. 2, Fig. 6C-D",
    ),
    Claim(
        "the second attention is a cliff",
        "The last place's logits climb to the key and fall after the anchors; the climb is in the positions.",
        tuple(itertools.chain.from_iterable(map(_cliff, _NORMS))),
        12,
        "App. D, Fig. 15",
    ),
    Claim(
        "ranks fall as γ grows",
        "The smaller the initial weights, the lower the rank of every weight matrix.",
        (
            *with_control(
                _RANKS,
                "before training the spectrum's shape does not depend on its scale",
                measure=each_seed(partial(weakest_rank_trend, when=first_epoch)),
                what="the same before training",
            ),
            Condition(
                "share of weight matrices of which this is true",
                each_seed(partial(share_of_falling, threshold=-SPEARMAN_7)),
                within=SHARE,
                needs=_SCAN,
                role="note",
            ),
        ),
        14,
        "App. C.4, Fig. 13",
    ),
    Claim(
        "outputs keep to the labels' range",
        "While accuracy is still low, a memory group's outputs stay within the range of its labels.",
        (*_own_labels("emb-mlp"), *_own_labels("transformer")),
        15,
        "3.5, Fig. 8 right",
    ),
)
