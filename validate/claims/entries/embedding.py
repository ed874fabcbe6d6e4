"""Claims 5, 8, 13 and 26: the embedding's geometry."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from functools import partial

from validate.claims.measures.attention import preference
from validate.claims.measures.geometry import (
    fall_mismatch,
    mean_cosine,
    mean_size,
    memory_excess,
    ordering,
    plane_order,
    share_of_fall,
)
from validate.claims.measures.order import spearman_step
from validate.claims.settings import (
    EMB_MLP,
    QUARTER,
    TRANSFORMERS,
    Setup,
    at,
    of,
)
from validate.claims.statements import (
    LARGE,
    SMALL,
    Claim,
    Condition,
    Measure,
    Needs,
    Relation,
    each,
    if_learned,
    note,
    with_control,
)
from validate.judge.bounds import Value
from validate.judge.stats import COSINE, SHARE, SIZE
from validate.judge.times import early_epoch, last_epoch
from validate.observe import Observations

HALF_WAY = "half-way between what chance gives and what the theory predicts"
HALF_THE_VARIANCE = "r² of one half: half of the variance"
BETTER = "better than the best rival, paired within a seed"
_AT_LARGE = "at γ = 0.3 the paper sees none of it"
WHEN = {"early": early_epoch, "at the end": last_epoch}


def of_run(function: partial[float]) -> Measure:
    """Return the measure of every run that learned."""
    return each(if_learned(function))


def _memory_cosine(run: Observations, when: object = early_epoch) -> float:
    return mean_cosine(run, run.task.memory_anchors, when)  # type: ignore[arg-type]


def rank_step(study: str, group: str) -> float:
    """Return the step of Spearman's correlation over all pairs of keys, or of reasoning anchors."""
    keys = 25 if study == QUARTER.study else 100
    n = keys if group == "keys" else 10
    return spearman_step(n * (n - 1) // 2)


def at_small_alone(
    study: str,
    what: str,
    function: Callable[[Observations], Value],
    relation: Relation,
    threshold: float,
    within: tuple[float, float],
    reason: str,
    step: float = 0.0,
) -> tuple[Condition, Condition]:
    """Return a condition on the runs at γ = 0.8 that learned, and its control: the same at γ = 0.3."""
    measure, small = each(if_learned(function)), Needs(study, (SMALL,))
    condition = Condition(what, measure, relation, threshold, within, reason, small, step=step)
    return with_control(condition, _AT_LARGE, needs=Needs(study, (LARGE,)))


def _arranged(study: str) -> tuple[Condition, ...]:
    """Return what claim 5 asks of a study."""
    conditions: list[Condition] = []
    for name, when in WHEN.items():
        conditions += at_small_alone(
            study,
            f"Spearman of distance and cosine, reasoning anchors, {name}",
            partial(ordering, when=when),
            "<=",
            -0.9,
            COSINE,
            "the cosine falls almost without exception; P^s − u gives −0.99",
            step=rank_step(study, "reasoning anchors"),
        )
        conditions += at_small_alone(
            study,
            f"mean cosine among memory anchors, {name}",
            partial(_memory_cosine, when=when),
            ">=",
            0.5,
            COSINE,
            HALF_WAY,
        )
    conditions += at_small_alone(
        study,
        "|log2| of the fall of the cosine from nearest to farthest anchors over that of P^s − u, early",
        fall_mismatch,
        "<=",
        1.0,
        SIZE,
        "within a factor of two of what the theory predicts, from either side",
    )
    return (*conditions, note("the ratio itself", of_run(partial(share_of_fall)), Needs(study, (SMALL,))))


def _contrast(study: str) -> tuple[Condition, ...]:
    """Return what claim 26 asks of a study."""
    conditions: list[Condition] = []
    for name, when in WHEN.items():
        conditions += at_small_alone(
            study,
            f"mean cosine among memory anchors minus that among reasoning anchors, {name}",
            partial(memory_excess, when=when),
            ">=",
            0.1,
            (-2.0, 2.0),
            "a tenth of what separates orthogonal from parallel: the sign alone could be noise",
        )
    return tuple(conditions)


def _order(study: str) -> tuple[Condition, ...]:
    """Return what claim 8 asks of the keys and the reasoning anchors."""
    conditions: list[Condition] = []
    for group in ("keys", "reasoning anchors"):
        conditions += at_small_alone(
            study,
            f"Spearman of numerical distance and distance in the PCA plane, {group}, early",
            partial(plane_order, group=group),
            ">=",
            0.5,
            COSINE,
            "half-way between no order and a perfect one; P^s − u gives from 0.7 for keys, 0.9 for anchors",
            step=rank_step(study, group),
        )
        late = of_run(partial(plane_order, group=group, when=last_epoch))
        conditions.append(note(f"the same at the end, {group}", late, Needs(study, (SMALL,))))
    return tuple(conditions)


def _size(run: Observations, kind: str) -> float:
    return mean_size(run, run.task.reasoning_anchors if kind == "reasoning" else run.task.memory_anchors)


def _orthogonal(setup: Setup) -> tuple[Condition, ...]:
    """Return what claim 13 asks at one setting, for γ = 0.3 and 0.5."""
    small, conditions = Needs(setup.study, (SMALL,)), list[Condition]()
    seen = "the paper sees it at γ = 0.8"
    for rate in (LARGE, 0.5):
        needs = Needs(setup.study, (rate,))
        for kind in ("reasoning", "memory"):
            condition = Condition(
                f"mean |cosine| among {kind} anchors, γ = {rate:g}, early",
                of_run(partial(_size, kind=kind)),
                "<=",
                0.2,
                SHARE,
                "random directions in 200 dimensions give 0.06, in 50 they give 0.11",
                needs,
            )
            conditions += with_control(condition, seen, needs=small)
        order = Condition(
            f"Spearman of distance and cosine, reasoning anchors, γ = {rate:g}, early",
            of_run(partial(ordering)),
            ">=",
            -0.5,
            COSINE,
            "half-way between no order, tokens taken as independent, and a perfect one",
            needs,
            step=rank_step(setup.study, "reasoning anchors"),
        )
        conditions += with_control(order, seen, needs=small)
        if setup is not EMB_MLP:
            indifferent = Condition(
                f"difference of the two kinds' mean |cosine| with W_V's top vector, γ = {rate:g}, early",
                of_run(partial(preference)),
                "<=",
                0.1,
                SHARE,
                "a tenth of the largest preference there can be",
                needs,
            )
            conditions += with_control(indifferent, seen, needs=small)
    return of(setup, conditions)


EVERYWHERE = (*TRANSFORMERS, EMB_MLP)
CLAIMS = (
    Claim(
        "anchors are arranged by kind",
        "With small weights the cosine of reasoning anchors falls with their distance as that of P^s − u, "
        "and memory anchors are aligned, early and late.",
        at(EVERYWHERE, _arranged),
        5,
        "3.2, 3.3, Fig. 4A, 5A",
    ),
    Claim(
        "the embedding follows the numbers",
        "With small weights the principal components of keys and reasoning anchors follow numerical order.",
        at(TRANSFORMERS, _order),
        8,
        "3.3, Fig. 5B",
    ),
    Claim(
        "large weights keep tokens orthogonal",
        "With γ = 0.3 and 0.5 embeddings are orthogonal and without order, and the first attention prefers "
        "no kind of anchor.",
        tuple(itertools.chain.from_iterable(map(_orthogonal, EVERYWHERE))),
        13,
        "App. C.1-C.3, Fig. 10-12",
    ),
    Claim(
        "memory anchors are the more alike",
        "With small weights memory anchors are more alike than reasoning anchors, early and late.",
        at(EVERYWHERE, _contrast),
        26,
        "3.2, 3.3, Fig. 4A, 5A",
    ),
)
