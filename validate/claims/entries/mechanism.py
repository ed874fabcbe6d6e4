"""Claims 10-12, 14, 15, 27 and 29: attention, ranks, outputs, and the shape of the embedding."""

from __future__ import annotations

from functools import partial

from validate.claims.entries.embedding import BETTER, EVERYWHERE, HALF_THE_VARIANCE
from validate.claims.entries.learning import SPEARMAN_7
from validate.claims.measures.attention import (
    alignment,
    average_error,
    cliff_share,
    gentle_share,
    key_mass,
    lemma1_excess,
    lemma1_share,
    positions_rise,
    rise,
    theorem2_selectivity,
    value_gap,
)
from validate.claims.measures.computed import once
from validate.claims.measures.geometry import mean_size, plane_correlation, plane_skill
from validate.claims.measures.order import spearman_step
from validate.claims.measures.outputs import greatest_foreign_mass, least_own_mass
from validate.claims.measures.spectra import MATRICES, rank_left, rank_ratio
from validate.claims.settings import EMB_MLP, FULL_SIZE, PRE, QUARTER, THEORY, TRANSFORMERS, at, of
from validate.claims.statements import (
    LARGE,
    SMALL,
    Claim,
    Condition,
    Needs,
    Seed,
    each,
    each_seed,
    if_learned,
    note,
    with_control,
)
from validate.judge.stats import COSINE, SHARE, SIZE, SKILL
from validate.judge.times import HALF, first_epoch, has_learned, last_epoch
from validate.observe import Observations
from validate.observe.probe import SEQUENCES

_POSITION = 1 / 6
"""The share of one of the six key positions of the paper's task that something follows."""
_ENTRIES = {9: 44, 5: 14}
"""The entries of the first attention by the length of sequences: rows from 2 on, up to the diagonal."""
_NONE_AT_LARGE = "at γ = 0.3 the paper sees no such structure"


def entry_step(study: str) -> float:
    """Return the share of one entry of the first attention, over all of the probe's sequences."""
    return 1 / (SEQUENCES * _ENTRIES[5 if study == QUARTER.study else 9])


def _average(study: str) -> tuple[Condition, ...]:
    """Return what claim 10 asks of a study."""
    small, large = Needs(study, (SMALL,)), Needs(study, (LARGE,))
    conditions: list[Condition] = []
    at_start = partial(lemma1_share, epsilon=0.1, when=first_epoch)
    for name, measure in (
        ("at initialisation", at_start),
        ("early", if_learned(partial(lemma1_share, epsilon=0.1))),
    ):
        condition = Condition(
            f"share of |A_ij − 1/i| <= 0.1, {name}",
            each(measure),
            ">=",
            0.9,
            SHARE,
            "Lemma 1 at ε = 0.1: with probability at least 1 − ε",
            small,
            step=entry_step(study),
        )
        conditions += with_control(condition, "at γ = 0.3 rows are far from averages", needs=large)
    smallest = partial(lemma1_share, epsilon=0.01, when=first_epoch)
    excess, difference = partial(lemma1_excess, epsilon=0.1), "minus its predicted value"
    return (
        *conditions,
        note(f"share of |A_ij − 1/i| <= 0.1 at initialisation {difference}", each(excess), small, COSINE),
        note("share of |A_ij − 1/i| <= 0.01 at initialisation", each(smallest), small, SHARE),
        note("largest |A_ij − 1/i| of the mean attention, early", each(average_error), small, SHARE),
    )


def _value_matrix(study: str) -> tuple[Condition, ...]:
    """Return what claim 11 asks of a study."""
    small, large = Needs(study, (SMALL,)), Needs(study, (LARGE,))
    reasoning, memory = (each(if_learned(partial(alignment, kind=kind))) for kind in ("reasoning", "memory"))
    gap = Condition(
        "first over second singular value of W_V, early",
        each(if_learned(value_gap)),
        ">=",
        2.0,
        (1.0, float("inf")),
        "twice; a random matrix of this shape has 1.03, of a quarter of it 1.08",
        small,
    )
    what = "mean |cosine| of {} anchors with W_V's top vector, early"
    half = "half-way between orthogonal and parallel"
    along = Condition(what.format("reasoning"), reasoning, ">=", 0.5, SHARE, half, small)
    half = "half of what counts as aligned"
    across = Condition(what.format("memory"), memory, "<=", 0.25, SHARE, half, small)
    return (
        *with_control(gap, _NONE_AT_LARGE, needs=large),
        *with_control(along, _NONE_AT_LARGE, needs=large),
        *with_control(
            across,
            "reasoning anchors are not orthogonal to it",
            measure=reasoning,
            what="mean |cosine| of reasoning anchors with it",
        ),
        note("the gap at the end", each(partial(value_gap, when=last_epoch)), small),
        *(
            note(
                f"mean |cosine| of {kind} anchors with the top vector at the end",
                each(partial(alignment, kind=kind, when=last_epoch)),
                small,
                SHARE,
            )
            for kind in ("reasoning", "memory")
        ),
    )


def _cliff(study: str) -> tuple[Condition, ...]:
    """Return what claim 12 asks of a study."""
    small, conditions = Needs(study, (SMALL,)), list[Condition]()
    for what, measure, threshold, within, reason, step in (
        (
            "share of key positions whose steepest fall is right after the anchors, early",
            cliff_share,
            0.56,
            SHARE,
            "half-way between chance, one in eight, and always",
            _POSITION,
        ),
        (
            "share of key positions with a slight fall in the window and a sharper one after it, early",
            gentle_share,
            0.58,
            SHARE,
            "half-way between chance, one order in six of 0 and two falls, and always",
            _POSITION,
        ),
        (
            "Spearman of position and logit up to the key, early",
            rise,
            0.5,
            COSINE,
            "half-way between no order and a perfect one",
            spearman_step(8) / 6,
        ),
    ):
        asked = Condition(what, each(if_learned(measure)), ">=", threshold, within, reason, small, step=step)
        scrambled = each(if_learned(partial(measure, scramble=True)))
        same = "the same, rows or positions scrambled"
        conditions += with_control(asked, "the key's position is lost", measure=scrambled, what=same)
    alone = "attention of the last position to the key, reasoning sequences, early"
    most = "more than to all other positions together; an even spread gives one ninth"
    conditions += with_control(
        Condition(alone, each(if_learned(key_mass)), ">=", 0.5, SHARE, most, small),
        "before training attention is even",
        measure=each(partial(key_mass, when=first_epoch)),
        what="the same at initialisation",
    )
    bare = "Spearman of position and logit from positions alone, early"
    chance = "eight unconnected values reach it once in thirty times"
    conditions += with_control(
        Condition(
            bare,
            each(if_learned(positions_rise)),
            ">=",
            SPEARMAN_7,
            COSINE,
            chance,
            small,
            step=spearman_step(8),  # Nine positions, of which the last is left out.
        ),
        "random positions have no order",
        measure=each(partial(positions_rise, when=first_epoch)),
        what="the same at initialisation",
    )
    return tuple(conditions)


def _both_learned(seed: Seed, matrix: str) -> float:
    return rank_ratio(seed, matrix) if all(map(has_learned, seed.values())) else float("nan")


def _ranks(study: str) -> tuple[Condition, ...]:
    """Return what claim 14 asks of a study: of every weight matrix by itself."""
    conditions: list[Condition] = []
    for name in MATRICES:
        condition = Condition(
            f"effective rank of {name} at γ = 0.8 over that at 0.3, early",
            each_seed(partial(_both_learned, matrix=name)),
            "<=",
            0.5,
            SIZE,
            "half of it: the paper calls the structure pronounced",
            Needs(study, (LARGE, SMALL)),
        )
        # Before training it is 1 whatever is learned: initial weights differ in their scale alone.
        conditions.append(condition)
    return tuple(conditions)


def _own_labels(variant: str) -> tuple[Condition, ...]:
    condition = Condition(
        "least output mass in a group's own label range, early",
        each(least_own_mass),
        ">=",
        0.9,
        SHARE,
        "all but a tenth; outputs that ignore the group would leave the narrowest one far more",
        Needs("fig8-ranges", (SMALL,), (variant,)),
    )
    return with_control(
        condition,
        "a group's outputs must go beyond a narrower group's range",
        measure=each(greatest_foreign_mass),
        what="greatest output mass in the next narrower group's range",
    )


def _plane(study: str) -> tuple[Condition, ...]:
    """Return what claim 27 asks of a study."""
    small, conditions = Needs(study, (SMALL,)), list[Condition]()
    for group in ("keys", "reasoning anchors"):
        like = Condition(
            f"Pearson of distances in the PCA plane, eq. 14 against the embedding, {group}, early",
            each(if_learned(partial(plane_correlation, group=group))),
            ">=",
            0.7,
            COSINE,
            HALF_THE_VARIANCE,
            small,
        )
        conditions += with_control(like, _NONE_AT_LARGE, needs=Needs(study, (LARGE,)))
        beyond = each(if_learned(partial(plane_skill, group=group)))
        what = f"skill of eq. 14 over |i − j| in these distances, {group}, early"
        conditions.append(Condition(what, beyond, ">", 0.0, SKILL, BETTER, small))
    return tuple(conditions)


def _rank_left(run: Observations) -> float:
    return rank_left(run, run.config.model.embedding)


def _alike(run: Observations) -> float:
    """Return the mean |cosine| of two reasoning anchors; undefined where the rank has not fallen by half.

    Over all anchors one direction for each mapping would pass: half of the pairs are of two mappings.
    """
    return mean_size(run, run.task.reasoning_anchors) if _rank_left(run) <= HALF else float("nan")


def _low_rank(study: str) -> tuple[Condition, ...]:
    """Return what claim 29 asks of a study."""
    small = Needs(study, (SMALL,))
    low = Condition(
        "effective rank of the embedding, early, over that before training",
        each(if_learned(_rank_left)),
        "<=",
        0.5,
        SIZE,
        "half of the rank",
        small,
    )
    apart = "mean |cosine| of two reasoning anchors where it is at most half, early"
    reason = "a tenth short of one direction for all, which one direction for each mapping would be as well"
    return (
        *with_control(low, "at γ = 0.3 tokens stay independent", needs=Needs(study, (LARGE,))),
        Condition(apart, each(if_learned(_alike)), "<=", 0.9, SHARE, reason, small),
    )


CLAIMS = (
    Claim(
        "the first attention averages",
        "With small weights the first attention is nearly the average over the positions so far.",
        at(TRANSFORMERS, _average),
        10,
        "3.3, Lemma 1, Fig. 6A-B",
    ),
    Claim(
        "the value matrix marks reasoning anchors",
        "One singular value of W_V stands out; its vector lies along the reasoning anchors and is orthogonal "
        "to the memory anchors.",
        (
            *at(TRANSFORMERS, _value_matrix),
            *of(
                THEORY,
                [
                    note(
                        "Theorem 2's own prediction of the alignments, reasoning over memory",
                        once(theorem2_selectivity),
                        within=SIZE,
                    )
                ],
            ),
        ),
        11,
        "3.3, Thm. 2, Fig. 6C-D",
    ),
    Claim(
        "the second attention is a cliff",
        "The last position's logits climb to the key, fall slightly to the last anchor and sharply after it, "
        "so that attention goes to the key; the climb is in the positions.",
        at(FULL_SIZE, _cliff),
        12,
        "App. D, Fig. 15",
    ),
    Claim(
        "ranks fall as γ grows",
        "The smaller the initial weights, the lower the rank of every weight matrix.",
        at(TRANSFORMERS, _ranks),
        14,
        "App. C.4, Fig. 13",
    ),
    Claim(
        "outputs keep to the labels' range",
        "Early in training a memory group's outputs stay within the range of its labels.",
        (*of(PRE, _own_labels("transformer")), *of(EMB_MLP, _own_labels("emb-mlp"))),
        15,
        "3.5, Fig. 8 right",
    ),
    Claim(
        "eq. 14 draws the plane of keys and anchors",
        "The principal components of eq. 14, for keys as for reasoning anchors, are those of the embedding.",
        at(FULL_SIZE, _plane),
        27,
        "eq. 14, Fig. 5D",
    ),
    Claim(
        "low rank, not condensed",
        "With small weights embeddings depend on each other linearly without becoming alike.",
        at(EVERYWHERE, _low_rank),
        29,
        "4, condensation",
    ),
)
