"""Claims 22-24: what changes when labels or embeddings are intervened upon."""

from __future__ import annotations

from functools import partial

from validate.claims.entries.embedding import HALF_THE_VARIANCE
from validate.claims.entries.learning import ONE_DOUBLING
from validate.claims.measures.causal import (
    follows_own_labels,
    geometry_change,
    own_labels_better,
    same_geometry,
)
from validate.claims.measures.learning import Seed, best_test_accuracy
from validate.claims.statements import SMALL, Claim, Condition, Needs, each, each_seed, with_control
from validate.observe import Observations
from validate.stats import ANY, COSINE, SHARE, SIZE
from validate.times import HALF, doublings


def _runs(*variants: str) -> Needs:
    return Needs("causal", (SMALL,), variants)


def _lead(run: Observations) -> float:
    return doublings(run, "mem", "rsn_test")


def _moved_better_for_plain(seed: Seed) -> float:
    return -own_labels_better(seed, variant="plain", other="moved")


_BOTH = _runs("plain", "shuffled")
_SAME = Condition(
    "Pearson of the reasoning anchors' cosines, labels shuffled against plain, early",
    each_seed(partial(same_geometry, variant="shuffled")),
    ">=",
    0.7,
    COSINE,
    HALF_THE_VARIANCE,
    _BOTH,
)
_UNLEARNED = Condition(
    "highest reasoning test accuracy, labels shuffled",
    each(best_test_accuracy),
    "<=",
    0.1,
    SHARE,
    "a tenth of a fitted set: the rule is gone",
    _runs("shuffled"),
)
_MOVED = _runs("plain", "moved")
_FOLLOWS = Condition(
    "Pearson of the reasoning anchors' cosines with those that the moved labels predict, early",
    each_seed(partial(follows_own_labels, variant="moved")),
    ">=",
    0.7,
    COSINE,
    HALF_THE_VARIANCE,
    _MOVED,
)
_BETTER = Condition(
    "skill of the moved labels minus skill of the plain ones, moved runs, early",
    each_seed(partial(own_labels_better, variant="moved", other="plain")),
    ">",
    0.0,
    ANY,
    "the sign of the effect",
    _MOVED,
)
_LEARNED = Condition(
    "highest reasoning test accuracy, embeddings frozen at the predicted ones",
    each(best_test_accuracy),
    ">=",
    HALF,
    SHARE,
    "half of the held-out sums",
    _runs("frozen"),
)
_FIRST = Condition(
    "log2 of the times to fit memory over reasoning test, embeddings frozen at the predicted ones",
    each(_lead),
    ">=",
    1.0,
    ANY,
    ONE_DOUBLING,
    _runs("frozen"),
)
_RANDOM = _runs("frozen-random")
_AT_RANDOM = "embeddings frozen at random ones"
_NOT = "it must be the prediction that does it, not the freezing"
CAUSAL = (
    Claim(
        "shuffled labels keep the geometry",
        "Shuffling labels within anchor combinations, which keeps P^s, takes the rule away and leaves the "
        "early geometry.",
        (
            *with_control(
                _SAME,
                "the anchors are relabelled",
                measure=each_seed(partial(same_geometry, variant="shuffled", scramble=True)),
                what="the same, anchors scrambled",
            ),
            *with_control(_UNLEARNED, "with its labels it is learned", needs=_runs("plain")),
        ),
        22,
        "test of 3.2",
    ),
    Claim(
        "moved labels move the geometry",
        "Changing P^s at equal difficulty changes the early geometry as the new P^s predicts.",
        (
            *with_control(
                _FOLLOWS,
                "every anchor has another one's labels",
                measure=each_seed(partial(follows_own_labels, variant="moved", scramble=True)),
                what="the same, predictions scrambled",
            ),
            *with_control(
                _BETTER,
                "the plain runs follow the plain labels",
                measure=each_seed(_moved_better_for_plain),
                what="skill of the moved labels minus skill of the plain ones, plain runs, early",
            ),
            Condition(
                "RMS change of the cosines, moved against plain, early",
                each_seed(partial(geometry_change, variant="moved")),
                within=SIZE,
                needs=_MOVED,
                role="note",
            ),
        ),
        23,
        "test of 3.2",
    ),
    Claim(
        "predicted embeddings are enough",
        "With embeddings frozen at those that P^s predicts, reasoning is learned, and before memory.",
        (
            *with_control(_LEARNED, _NOT, needs=_RANDOM, what=f"the same, {_AT_RANDOM}"),
            *with_control(_FIRST, _NOT, needs=_RANDOM, what=f"the same, {_AT_RANDOM}"),
        ),
        24,
        "test of 3.2",
    ),
)
