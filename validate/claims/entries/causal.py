"""Claims 22-24: interventions on labels and on embeddings."""

from __future__ import annotations

from functools import partial

from validate.claims.entries.embedding import BETTER, HALF_THE_VARIANCE
from validate.claims.entries.learning import ONE_DOUBLING, TENTH, accuracy_step
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
from validate.stats import ANY, COSINE, SHARE, SIZE, SKILL
from validate.times import HALF, doublings_range


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
_PREDICTED = "embeddings frozen at the predicted ones"
_FROZEN = (
    Condition(
        f"highest reasoning test accuracy, {_PREDICTED}",
        each(best_test_accuracy),
        ">=",
        HALF,
        SHARE,
        "half of the held-out sums",
        Needs(_LONG, (SMALL,), ("frozen",)),
        step=accuracy_step(_LONG),
    ),
    Condition(
        f"log2 of the times to fit memory over reasoning test, {_PREDICTED}",
        each(lambda run: doublings_range(run, "mem", "rsn_test")),
        ">=",
        1.0,
        ANY,
        ONE_DOUBLING,
        Needs(_LONG, (SMALL,), ("frozen",)),
    ),
)


def _not_at_random(condition: Condition) -> tuple[Condition, ...]:
    return with_control(
        condition,
        "it must be the prediction that does it, not the freezing",
        needs=Needs(_LONG, (SMALL,), ("frozen-random",)),
        what="the same, embeddings frozen at random ones",
    )


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
        "With embeddings frozen at those that P^s predicts, reasoning is learned, and before memory.",
        of(EMB_MLP, (*_not_at_random(_FROZEN[0]), *_not_at_random(_FROZEN[1]))),
        24,
        "test of 3.2",
    ),
)
