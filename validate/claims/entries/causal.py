"""Claims 22-24: interventions on labels and on embeddings."""

from __future__ import annotations

from functools import partial

from validate.claims.entries.embedding import BETTER, HALF_THE_VARIANCE
from validate.claims.entries.learning import TENTH, accuracy_step
from validate.claims.measures.causal import (
    beyond_rivals,
    follows_own_labels,
    geometry_change,
    own_labels_better,
    same_beyond_rivals,
    same_geometry,
)
from validate.claims.measures.learning import best_test_accuracy, highest_test_accuracy
from validate.claims.settings import EMB_MLP, of
from validate.claims.statements import (
    SMALL,
    Claim,
    Condition,
    Needs,
    Seed,
    each,
    each_seed,
    note,
    with_control,
)
from validate.judge.stats import ANY, COSINE, SHARE, SIZE, SKILL
from validate.judge.times import HALF, curve


def _runs(*variants: str) -> Needs:
    return Needs("causal", (SMALL,), variants)


def _spread_better_for_plain(seed: Seed) -> float:
    return -own_labels_better(seed, variant="plain", other="spread")


def _pearson(what: str, measure: object, needs: Needs) -> Condition:
    return Condition(what, each_seed(measure), ">=", 0.7, COSINE, HALF_THE_VARIANCE, needs)  # type: ignore[arg-type]


def _beyond(what: str, measure: object, needs: Needs) -> Condition:
    return Condition(what, each_seed(measure), ">", 0.0, SKILL, BETTER, needs)  # type: ignore[arg-type]


_SHUFFLED = (
    _pearson(
        "Pearson of the reasoning anchors' cosines, labels shuffled against plain, early",
        partial(same_geometry, variant="shuffled"),
        _runs("plain", "shuffled"),
    ),
    _beyond(
        "skill of the plain cosines over −|i − j|, labels shuffled, early",
        partial(same_beyond_rivals, variant="shuffled"),
        _runs("plain", "shuffled"),
    ),
    *with_control(
        Condition(
            "highest reasoning test accuracy, labels shuffled",
            each(highest_test_accuracy),
            "<=",
            0.1,
            SHARE,
            f"{TENTH}: no rule is left, in the time in which the plain run learns it",
            _runs("shuffled"),
            step=accuracy_step("causal"),
        ),
        "with its labels it is learned",
        needs=_runs("plain"),
    ),
)
_SPREAD = _runs("plain", "spread")
_MOVED = (
    _pearson(
        "Pearson of the reasoning anchors' cosines with those that the changed labels predict, early",
        partial(follows_own_labels, variant="spread"),
        _SPREAD,
    ),
    _beyond(
        "skill of that prediction over −|i − j|, early", partial(beyond_rivals, variant="spread"), _SPREAD
    ),
    *with_control(
        Condition(
            "skill of the changed labels minus skill of the plain ones, changed runs, early",
            each_seed(partial(own_labels_better, variant="spread", other="plain")),
            ">",
            0.0,
            ANY,
            "the sign of the effect",
            _SPREAD,
        ),
        "the plain runs follow the plain labels",
        measure=each_seed(_spread_better_for_plain),
        what="skill of the changed labels minus skill of the plain ones, plain runs, early",
    ),
    note(
        "RMS change of the cosines, changed against plain, early",
        each_seed(partial(geometry_change, variant="spread")),
        _SPREAD,
        SIZE,
    ),
)
_LONG = "frozen-long"
_AT = {
    "frozen": "the predicted ones",
    "frozen-random": "random ones",
    "frozen-shuffled": "the predicted ones of other anchors",
}
"""Where embeddings are frozen, by variant of the study."""


def _frozen(variant: str) -> Needs:
    return Needs(_LONG, (SMALL,), (variant,))


def _learned_frozen() -> tuple[Condition, ...]:
    """Return what claim 24 asks: held-out sums are learned with these embeddings, and with no others."""
    what = "highest reasoning test accuracy, embeddings frozen at {}"
    reason, step = "half of the held-out sums", accuracy_step(_LONG)
    own = what.format(_AT["frozen"])
    condition = Condition(
        own, each(best_test_accuracy), ">=", HALF, SHARE, reason, _frozen("frozen"), step=step
    )
    others = {
        "frozen-random": "it must be the prediction that does it, not the freezing",
        "frozen-shuffled": "it must be each anchor's own prediction, not how regular all of them are",
    }
    controls = [
        with_control(condition, why, needs=_frozen(variant), what=what.format(_AT[variant]))
        for variant, why in others.items()
    ]
    return controls[0][0], *(control for _, control in controls), *map(_memory_frozen, _AT)


def _memory_frozen(variant: str) -> Condition:
    """Return a note: memory anchors with one embedding are one token, and no weights can tell them apart."""
    what = f"memory accuracy at the end, embeddings frozen at {_AT[variant]}"
    measure = each(lambda run: float(curve(run, "accuracy", "mem")[1][-1]))
    return note(what, measure, _frozen(variant), SHARE)


CLAIMS = (
    Claim(
        "shuffled labels keep the geometry",
        "Shuffling labels within anchor combinations, which keeps P^s, takes the rule away and leaves the "
        "early geometry.",
        of(EMB_MLP, _SHUFFLED),
        22,
        "test of 3.2",
    ),
    Claim(
        "changed labels change the geometry",
        "Changing P^s at equal difficulty changes the early geometry as the new P^s predicts.",
        of(EMB_MLP, _MOVED),
        23,
        "test of 3.2",
    ),
    Claim(
        "predicted embeddings are enough",
        "With embeddings frozen at those that P^s predicts, held-out sums are learned; with random ones, or "
        "those of other anchors, they are not.",
        of(EMB_MLP, _learned_frozen()),
        24,
        "test of 3.2",
    ),
)
