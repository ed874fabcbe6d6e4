"""Claims 5, 6, 8, 9 and 13: the embedding's geometry and what predicts it."""

from __future__ import annotations

from functools import partial

from validate.claims.measures.attention import preference
from validate.claims.measures.geometry import (
    correlation,
    explained_by_others_width,
    fitted_width,
    lowest_row_correlation,
    mean_cosine,
    mean_size,
    memory_excess,
    near_error,
    ordering,
    plane_order,
    share_of_fall,
    share_of_snapshots,
    shuffled,
    skill,
)
from validate.claims.statements import LARGE, SMALL, Claim, Condition, Measure, Needs, each, with_control
from validate.observe import Observations
from validate.predictors import (
    Predict,
    from_counts,
    from_eq14,
    from_frozen_direction,
    from_marginal,
    from_uniform,
)
from validate.stats import ANY, COSINE, SHARE, SIZE
from validate.times import early_epoch, last_epoch

HALF_WAY = "half-way between what chance gives and what the theory predicts"
HALF_THE_VARIANCE = "r² of one half: half of the variance"
SKILL = (-float("inf"), 1.0)
_WHEN = {"early": early_epoch, "at the end": last_epoch}


def _memory_cosine(run: Observations) -> float:
    return mean_cosine(run, run.task.memory_anchors)


def _geometry(study: str) -> tuple[Condition, ...]:
    """Return what claim 5 asks of a study."""
    small, large = Needs(study, (SMALL,)), Needs(study, (LARGE,))
    conditions: list[Condition] = []
    for name, when in _WHEN.items():
        order = Condition(
            f"Spearman of distance and cosine, reasoning anchors, {name}",
            each(partial(ordering, when=when)),
            "<=",
            -0.9,
            COSINE,
            "the cosine falls almost without exception; P^s − u gives −0.99",
            small,
        )
        scrambled = each(partial(ordering, when=when, scramble=True))
        conditions += with_control(
            order, "the anchors' order is gone", measure=scrambled, what="the same, anchors scrambled"
        )
    fall = Condition(
        "fall of the cosine from nearest to farthest anchors, over that of P^s − u, early",
        each(share_of_fall),
        ">=",
        0.5,
        ANY,
        HALF_WAY,
        small,
    )
    alike = Condition(
        "mean cosine among memory anchors, early",
        each(_memory_cosine),
        ">=",
        0.5,
        COSINE,
        HALF_WAY,
        small,
    )
    # P^s − u leaves the sign of this one open: a finite table costs memory anchors about what
    # their distance costs reasoning anchors.
    more_alike = Condition(
        "mean cosine among memory anchors minus that among reasoning anchors, early",
        each(memory_excess),
        within=(-2.0, 2.0),
        needs=small,
        role="note",
    )
    return (
        *conditions,
        *with_control(fall, "at γ = 0.3 the anchors stay orthogonal", needs=large),
        *with_control(alike, "at γ = 0.3 they stay orthogonal", needs=large),
        more_alike,
    )


def _reasoning(predict: Predict, run: Observations) -> float:
    return correlation(run, predict, run.task.reasoning_anchors)


def _all_anchors(predict: Predict, run: Observations) -> float:
    return correlation(run, predict, run.task.anchors)


def _skill(predict: Predict, run: Observations) -> float:
    return skill(run, predict, run.task.anchors)


def _prediction(study: str) -> tuple[Condition, ...]:
    """Return what claim 6 asks of a study, and how well other predictors do."""
    small, large = Needs(study, (SMALL,)), Needs(study, (LARGE,))
    conditions: list[Condition] = []
    for name, measure in (("reasoning anchors", _reasoning), ("all anchors", _all_anchors)):
        condition = Condition(
            f"Pearson of predicted (P^s − u) and observed cosine, {name}, early",
            each(partial(measure, from_uniform)),
            ">=",
            0.7,
            COSINE,
            HALF_THE_VARIANCE,
            small,
        )
        conditions += with_control(
            condition,
            "every anchor has another one's prediction",
            measure=each(partial(measure, shuffled(from_uniform))),
            what="the same, predictions scrambled",
        )
    better = Condition(
        "skill of P^s − u against orthogonal anchors, all anchors, early",
        each(partial(_skill, from_uniform)),
        ">=",
        0.5,
        SKILL,
        "half of the squared error that assuming orthogonal anchors leaves",
        small,
    )
    conditions += with_control(better, "at γ = 0.3 they are orthogonal", needs=large)
    others = [("P^s − P̄", from_marginal), ("P̂^s − u of the run's data", from_counts)]
    if study == "emb-mlp":
        others.append(("the frozen flow, late", from_frozen_direction))
    return (*conditions, *(_note(f"the same skill of {n}", partial(_skill, p), small) for n, p in others))


def _note(what: str, measure: partial[float], needs: Needs) -> Condition:
    return Condition(what, each(measure), needs=needs, role="note")


_SMALL, _LARGE = Needs("transformer", (SMALL,)), Needs("transformer", (LARGE,))


def _order(group: str) -> tuple[Condition, ...]:
    """Return what claim 8 asks of the keys or the reasoning anchors."""
    condition = Condition(
        f"Spearman of numerical distance and distance in the PCA plane, {group}, early",
        each(partial(plane_order, group=group)),
        ">=",
        0.5,
        COSINE,
        "half-way between no order and a perfect one; P^s − u gives 0.7 for keys, 0.9 for anchors",
        _SMALL,
    )
    scrambled = each(partial(plane_order, group=group, scramble=True))
    own, other = with_control(condition, "the order is gone", measure=scrambled, what="the same, scrambled")
    return (
        own,
        other,
        with_control(condition, "the paper sees no order at γ = 0.3", needs=_LARGE)[1],
        _note(f"the same at the end, {group}", partial(plane_order, group=group, when=last_epoch), _SMALL),
    )


def _shape() -> tuple[Condition, ...]:
    """Return what claim 9 asks."""
    rows = Condition(
        "lowest over anchors of Pearson of a row, eq. 14 as printed, early",
        each(partial(lowest_row_correlation, predict=from_eq14)),
        ">=",
        0.7,
        COSINE,
        HALF_THE_VARIANCE,
        _SMALL,
    )
    near = Condition(
        "RMS error over the nearer half of distances, eq. 14 as printed, early",
        each(partial(near_error, predict=from_eq14)),
        "<=",
        0.1,
        SIZE,
        "the paper sees differences at great distances only; a tenth of what separates 0 from 1",
        _SMALL,
    )
    fitted = Condition(
        "share of the pairs' variance explained by eq. 14, width fitted on the other seeds, early",
        explained_by_others_width,
        ">=",
        0.5,
        SKILL,
        "half of the variance",
        _SMALL,
    )
    span = partial(share_of_snapshots, predict=from_eq14, least=0.7)
    return (
        *with_control(
            rows,
            "every anchor has another one's row",
            measure=each(partial(lowest_row_correlation, predict=shuffled(from_eq14))),
            what="the same, predictions scrambled",
        ),
        *with_control(near, "at γ = 0.3 the anchors stay orthogonal", needs=_LARGE),
        *with_control(
            fitted,
            "no width orders scrambled anchors",
            measure=partial(explained_by_others_width, scramble=True),
            what="the same, anchors scrambled",
        ),
        Condition(
            "share of the snapshots in training whose every row correlates at least 0.7",
            each(span),
            within=SHARE,
            needs=_SMALL,
            role="note",
        ),
        _note("width of eq. 14 fitted to the run itself (12 printed), early", partial(fitted_width), _SMALL),
        _note("the same at the end", partial(fitted_width, when=last_epoch), _SMALL),
        _note("RMS error over the nearer half, P^s − u", partial(near_error, predict=from_uniform), _SMALL),
        _note("the same, P^s − P̄", partial(near_error, predict=from_marginal), _SMALL),
    )


def _size(kind: str) -> Measure:
    def size(run: Observations) -> float:
        tokens = run.task.reasoning_anchors if kind == "reasoning" else run.task.memory_anchors
        return mean_size(run, tokens)

    return each(size)


def _orthogonal(rate: float) -> tuple[Condition, ...]:
    """Return what claim 13 asks at one γ."""
    needs = Needs("transformer", (rate,))
    conditions: list[Condition] = []
    for kind in ("reasoning", "memory"):
        condition = Condition(
            f"mean |cosine| among {kind} anchors, early",
            _size(kind),
            "<=",
            0.2,
            SHARE,
            "random directions in 200 dimensions give 0.06",
            needs,
        )
        conditions += with_control(condition, "at γ = 0.8 they are not orthogonal", needs=_SMALL)
    indifferent = Condition(
        "difference of the two kinds' mean |cosine| with W_V's top vector, early",
        each(preference),
        "<=",
        0.1,
        SHARE,
        "a tenth of the largest preference there can be",
        needs,
    )
    return (*conditions, *with_control(indifferent, "at γ = 0.8 the paper sees a preference", needs=_SMALL))


EMBEDDING = (
    Claim(
        "anchors are arranged by kind",
        "With small weights the cosine of reasoning anchors falls with their distance, and memory anchors "
        "stay aligned.",
        (*_geometry("emb-mlp"), *_geometry("transformer")),
        5,
        "3.2, 3.3, Fig. 4A, 5A",
    ),
    Claim(
        "label distributions shape the embedding",
        "Early in training the anchors' geometry is that of their label distributions, P^s − u.",
        (*_prediction("emb-mlp"), *_prediction("transformer")),
        6,
        "3.2, Prop. 1-3",
    ),
    Claim(
        "the embedding follows the numbers",
        "With small weights the principal components of keys and reasoning anchors follow numerical order.",
        (*_order("keys"), *_order("reasoning anchors")),
        8,
        "3.3, Fig. 5B",
    ),
    Claim(
        "a normal shape predicts each anchor's row",
        "Eq. 14 gives the cosines of every reasoning anchor with the others, but for those far apart.",
        _shape(),
        9,
        "Thm. 1, Fig. 5C, 9",
    ),
    Claim(
        "large weights keep tokens orthogonal",
        "With γ = 0.3 and 0.5 embeddings are orthogonal, and the first attention prefers no kind of anchor.",
        (*_orthogonal(LARGE), *_orthogonal(0.5)),
        13,
        "App. C.1-C.3, Fig. 10-12",
    ),
)
