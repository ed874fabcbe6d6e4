"""Claims 6 and 9: what predicts the embedding's geometry, and simpler guesses beside it."""

from __future__ import annotations

from functools import partial

from validate.claims.entries.embedding import (
    BETTER,
    EVERYWHERE,
    HALF_THE_VARIANCE,
    WHEN,
    at_small_alone,
    of_run,
)
from validate.claims.measures.geometry import (
    correlation,
    explained_by_others_width,
    fitted_width,
    lowest_row_correlation,
    near_error,
    skill,
)
from validate.claims.measures.rivals import skill_over_best, skill_over_mean, skill_over_prediction
from validate.claims.settings import EMB_MLP, FULL_SIZE, at
from validate.claims.statements import LARGE, SMALL, Claim, Condition, Needs, note, with_control
from validate.judge.stats import COSINE, SIZE, SKILL
from validate.observe import Observations
from validate.predict.predictors import (
    Predict,
    from_counts,
    from_eq14,
    from_frozen_direction,
    from_marginal,
    from_uniform,
)


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
    small, conditions = Needs(study, (SMALL,)), list[Condition]()
    for kind in ("reasoning anchors", "all anchors"):
        conditions += at_small_alone(
            study,
            f"Pearson of predicted (P^s − u) and observed cosine, {kind}, early",
            partial(_pearson, kind=kind),
            ">=",
            0.7,
            COSINE,
            HALF_THE_VARIANCE,
        )
        for rival, measure in (("−|i − j| and same mapping", _over_rivals), ("one mean cosine", _over_mean)):
            what = f"skill of P^s − u over {rival}, {kind}, early"
            conditions.append(
                Condition(what, of_run(partial(measure, kind=kind)), ">", 0.0, SKILL, BETTER, small)
            )
    conditions += at_small_alone(
        study,
        "skill of P^s − u over orthogonal anchors, all anchors, early",
        _skill,
        ">=",
        0.5,
        SKILL,
        "half of the squared error that assuming orthogonal anchors leaves",
    )
    others = [("P^s − P̄", from_marginal), ("P̂^s − u of the run's data", from_counts)]
    if study == EMB_MLP.study:
        others.append(("the frozen flow, late", from_frozen_direction))
    notes = (note(f"the same skill of {n}", of_run(partial(_skill, predict=p)), small) for n, p in others)
    return (*conditions, *notes)


def _eq14_skill(run: Observations) -> float:
    return skill_over_best(run, from_eq14, run.task.reasoning_anchors)


def _eq14_over_exact(run: Observations) -> float:
    return skill_over_prediction(run, from_eq14, from_uniform, run.task.reasoning_anchors)


def _shape(study: str) -> tuple[Condition, ...]:
    """Return what claim 9 asks of a study."""
    small, large = Needs(study, (SMALL,)), Needs(study, (LARGE,))
    rows = at_small_alone(
        study,
        "lowest over anchors of Pearson of a row, eq. 14 as printed, early",
        partial(lowest_row_correlation, predict=from_eq14),
        ">=",
        0.7,
        COSINE,
        HALF_THE_VARIANCE,
    )
    beyond = "skill of eq. 14 as printed over −|i − j|, reasoning anchors, early"
    near = at_small_alone(
        study,
        "RMS error over the nearer half of distances, eq. 14 as printed, early",
        partial(near_error, predict=from_eq14),
        "<=",
        0.1,
        SIZE,
        "the paper sees differences at great distances only; a tenth of what separates 0 from 1",
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
        *rows,
        Condition(beyond, of_run(partial(_eq14_skill)), ">", 0.0, SKILL, BETTER, small),
        note("the same over P^s − u, which it approximates", of_run(partial(_eq14_over_exact)), small, SKILL),
        *near,
        *with_control(fitted, "at γ = 0.3 no width fits", needs=large),
        *(note(f"{own}, {n}", of_run(partial(fitted_width, when=w)), small) for n, w in WHEN.items()),
    )


CLAIMS = (
    Claim(
        "label distributions predict the embedding",
        "Early in training the anchors' geometry is that of their label distributions, P^s − u, and simpler "
        "guesses do worse.",
        at(EVERYWHERE, _predicted),
        6,
        "3.2, Prop. 1-3",
    ),
    Claim(
        "a normal shape predicts each anchor's row",
        "Eq. 14 gives the cosines of every reasoning anchor with the others, except for those far apart.",
        at(FULL_SIZE, _shape),
        9,
        "Thm. 1, Fig. 5C, 9",
    ),
)
