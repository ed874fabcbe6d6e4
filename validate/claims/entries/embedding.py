"""Claims 5, 6, 8, 9, 13 and 26: the embedding's geometry and what predicts it."""

from __future__ import annotations

import itertools
from functools import partial

from validate.claims.measures.attention import preference
from validate.claims.measures.geometry import (
    correlation,
    explained_by_others_width,
    fall_mismatch,
    fitted_width,
    lowest_row_correlation,
    mean_cosine,
    mean_size,
    memory_excess,
    near_error,
    ordering,
    plane_order,
    share_of_fall,
    skill,
)
from validate.claims.measures.rivals import skill_over_best, skill_over_mean
from validate.claims.settings import (
    EMB_MLP,
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
    each,
    if_learned,
    note,
    with_control,
)
from validate.observe import Observations
from validate.predict.predictors import (
    Predict,
    from_counts,
    from_eq14,
    from_frozen_direction,
    from_marginal,
    from_uniform,
)
from validate.stats import COSINE, SHARE, SIZE
from validate.times import early_epoch, last_epoch

HALF_WAY = "half-way between what chance gives and what the theory predicts"
HALF_THE_VARIANCE = "r² of one half: half of the variance"
BETTER = "better than the best rival, paired within a seed"
SKILL = (-float("inf"), 1.0)
_AT_LARGE = "at γ = 0.3 the paper sees none of it"
_WHEN = {"early": early_epoch, "at the end": last_epoch}


def _of_run(function: partial[float]) -> Measure:
    return each(if_learned(function))


def _memory_cosine(run: Observations, when: object = early_epoch) -> float:
    return mean_cosine(run, run.task.memory_anchors, when)  # type: ignore[arg-type]


def _arranged(study: str) -> tuple[Condition, ...]:
    """Return what claim 5 asks of a study."""
    small, large = Needs(study, (SMALL,)), Needs(study, (LARGE,))
    conditions: list[Condition] = []
    for name, when in _WHEN.items():
        order = Condition(
            f"Spearman of distance and cosine, reasoning anchors, {name}",
            _of_run(partial(ordering, when=when)),
            "<=",
            -0.9,
            COSINE,
            "the cosine falls almost without exception; P^s − u gives −0.99",
            small,
        )
        aligned = Condition(
            f"mean cosine among memory anchors, {name}",
            _of_run(partial(_memory_cosine, when=when)),
            ">=",
            0.5,
            COSINE,
            HALF_WAY,
            small,
        )
        conditions += with_control(order, _AT_LARGE, needs=large)
        conditions += with_control(aligned, _AT_LARGE, needs=large)
    fall = Condition(
        "|log2| of the fall of the cosine from nearest to farthest anchors over that of P^s − u, early",
        each(if_learned(fall_mismatch)),
        "<=",
        1.0,
        SIZE,
        "within a factor of two of what the theory predicts, from either side",
        small,
    )
    share = note("the ratio itself", _of_run(partial(share_of_fall)), small)
    return (*conditions, *with_control(fall, _AT_LARGE, needs=large), share)


def _contrast(study: str) -> tuple[Condition, ...]:
    """Return what claim 26 asks of a study."""
    conditions = [
        Condition(
            f"mean cosine among memory anchors minus that among reasoning anchors, {name}",
            _of_run(partial(memory_excess, when=when)),
            ">=",
            0.1,
            (-2.0, 2.0),
            "a tenth of what separates orthogonal from parallel: the sign alone could be noise",
            Needs(study, (SMALL,)),
        )
        for name, when in _WHEN.items()
    ]
    large = Needs(study, (LARGE,))
    return tuple(itertools.chain(*(with_control(c, _AT_LARGE, needs=large) for c in conditions)))


def _tokens(run: Observations, kind: str) -> tuple[int, ...]:
    return run.task.reasoning_anchors if kind == "reasoning anchors" else run.task.anchors


def _pearson(run: Observations, kind: str) -> float:
    return correlation(run, from_uniform, _tokens(run, kind))


def _over_rivals(run: Observations, kind: str) -> float:
    return skill_over_best(run, from_uniform, _tokens(run, kind))


def _over_mean(run: Observations, kind: str) -> float:
    return skill_over_mean(run, from_uniform, _tokens(run, kind))


def _skill(run: Observations, predict: Predict = from_uniform) -> float:
    return skill(run, predict, run.task.anchors)


def _predicted(study: str) -> tuple[Condition, ...]:
    """Return what claim 6 asks of a study, and how well other predictors do."""
    small, large = Needs(study, (SMALL,)), Needs(study, (LARGE,))
    conditions: list[Condition] = []
    for kind in ("reasoning anchors", "all anchors"):
        pearson = Condition(
            f"Pearson of predicted (P^s − u) and observed cosine, {kind}, early",
            _of_run(partial(_pearson, kind=kind)),
            ">=",
            0.7,
            COSINE,
            HALF_THE_VARIANCE,
            small,
        )
        conditions += with_control(pearson, _AT_LARGE, needs=large)
        for rival, measure in (("−|i − j| and same mapping", _over_rivals), ("one mean cosine", _over_mean)):
            what = f"skill of P^s − u over {rival}, {kind}, early"
            conditions.append(
                Condition(what, _of_run(partial(measure, kind=kind)), ">", 0.0, SKILL, BETTER, small)
            )
    better = Condition(
        "skill of P^s − u over orthogonal anchors, all anchors, early",
        _of_run(partial(_skill)),
        ">=",
        0.5,
        SKILL,
        "half of the squared error that assuming orthogonal anchors leaves",
        small,
    )
    others = [("P^s − P̄", from_marginal), ("P̂^s − u of the run's data", from_counts)]
    if study == EMB_MLP.study:
        others.append(("the frozen flow, late", from_frozen_direction))
    notes = (note(f"the same skill of {n}", _of_run(partial(_skill, predict=p)), small) for n, p in others)
    return (*conditions, *with_control(better, _AT_LARGE, needs=large), *notes)


def _order(study: str) -> tuple[Condition, ...]:
    """Return what claim 8 asks of the keys and the reasoning anchors."""
    conditions: list[Condition] = []
    for group in ("keys", "reasoning anchors"):
        condition = Condition(
            f"Spearman of numerical distance and distance in the PCA plane, {group}, early",
            _of_run(partial(plane_order, group=group)),
            ">=",
            0.5,
            COSINE,
            "half-way between no order and a perfect one; P^s − u gives 0.7 for keys, 0.9 for anchors",
            Needs(study, (SMALL,)),
        )
        conditions += with_control(condition, _AT_LARGE, needs=Needs(study, (LARGE,)))
        late = _of_run(partial(plane_order, group=group, when=last_epoch))
        conditions.append(note(f"the same at the end, {group}", late, Needs(study, (SMALL,))))
    return tuple(conditions)


def _eq14_skill(run: Observations) -> float:
    return skill_over_best(run, from_eq14, run.task.reasoning_anchors)


def _shape(study: str) -> tuple[Condition, ...]:
    """Return what claim 9 asks of a study."""
    small, large = Needs(study, (SMALL,)), Needs(study, (LARGE,))
    rows = Condition(
        "lowest over anchors of Pearson of a row, eq. 14 as printed, early",
        _of_run(partial(lowest_row_correlation, predict=from_eq14)),
        ">=",
        0.7,
        COSINE,
        HALF_THE_VARIANCE,
        small,
    )
    beyond = "skill of eq. 14 as printed over −|i − j|, reasoning anchors, early"
    near = Condition(
        "RMS error over the nearer half of distances, eq. 14 as printed, early",
        _of_run(partial(near_error, predict=from_eq14)),
        "<=",
        0.1,
        SIZE,
        "the paper sees differences at great distances only; a tenth of what separates 0 from 1",
        small,
    )
    fitted = Condition(
        "share of the pairs' variance explained by eq. 14, width fitted on the other seeds, early",
        explained_by_others_width,
        ">=",
        0.5,
        SKILL,
        "half of the variance",
        small,
    )
    own = "width of eq. 14 fitted to the run itself (12 printed)"
    return (
        *with_control(rows, _AT_LARGE, needs=large),
        Condition(beyond, _of_run(partial(_eq14_skill)), ">", 0.0, SKILL, BETTER, small),
        *with_control(near, _AT_LARGE, needs=large),
        *with_control(fitted, "at γ = 0.3 no width fits", needs=large),
        *(note(f"{own}, {n}", _of_run(partial(fitted_width, when=w)), small) for n, w in _WHEN.items()),
    )


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
                _of_run(partial(_size, kind=kind)),
                "<=",
                0.2,
                SHARE,
                "random directions in 200 dimensions give 0.06",
                needs,
            )
            conditions += with_control(condition, seen, needs=small)
        order = Condition(
            f"Spearman of distance and cosine, reasoning anchors, γ = {rate:g}, early",
            _of_run(partial(ordering)),
            ">=",
            -0.5,
            COSINE,
            "half-way between no order, tokens taken as independent, and a perfect one",
            needs,
        )
        conditions += with_control(order, seen, needs=small)
        if setup is not EMB_MLP:
            indifferent = Condition(
                f"difference of the two kinds' mean |cosine| with W_V's top vector, γ = {rate:g}, early",
                _of_run(partial(preference)),
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
        "label distributions predict the embedding",
        "Early in training the anchors' geometry is that of their label distributions, P^s − u, and simpler "
        "guesses do worse.",
        at(EVERYWHERE, _predicted),
        6,
        "3.2, Prop. 1-3",
    ),
    Claim(
        "the embedding follows the numbers",
        "With small weights the principal components of keys and reasoning anchors follow numerical order.",
        at(TRANSFORMERS, _order),
        8,
        "3.3, Fig. 5B",
    ),
    Claim(
        "a normal shape predicts each anchor's row",
        "Eq. 14 gives the cosines of every reasoning anchor with the others, except for those far apart.",
        at(TRANSFORMERS, _shape),
        9,
        "Thm. 1, Fig. 5C, 9",
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
