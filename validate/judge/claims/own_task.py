"""What runs of no study are asked: a user's own task, with the ledger's thresholds, and the demo.

The demo is judged at its last epoch; its thresholds were set before its own runs existed.
"""

from __future__ import annotations

from functools import partial

from validate.judge.claim import Claim, Endpoint, Other, above, at_least, at_most, below
from validate.judge.measures.geometry import mean_cosine, moved, ordering
from validate.judge.measures.learning import above_guessing, last_accuracy
from validate.judge.measures.prediction import correlation, skill, worst_correlation
from validate.judge.settings import ACCURACY, ANCHORS, LARGE, SEQUENCE, SMALL, TABLE
from validate.judge.stats import COSINE, SHARE, SIZE, SKILL
from validate.observe.times import last_epoch


# fmt: off
def own_task(small: float, large: float) -> Claim:
    """Return the claim on runs at a small γ, and at a large one where there are any."""
    return Claim(
        0, "the task's embedding is predicted",
        statement="Early in training, with small initial weights, the cosines of the anchors are "
                  "those of P^s − u.",
        endpoints=[
            Endpoint("skill of P^s - u against the best simple guess", partial(skill, over="best"),
                     at=small, holds=above(0), reason="better than the best rival, both scaled to fit",
                     scale=SKILL),
            Endpoint("Pearson of P^s - u and the observed cosine, lowest of the kinds of pairs with a "
                     "rule's anchor", worst_correlation, at=small, holds=at_least(0.7, margin=0.05),
                     reason="r² of one half: half of the variance, as in claim 6", scale=COSINE),
            Endpoint("Pearson above that with P^s exchanged among each rule's anchors, lowest of these kinds",
                     partial(worst_correlation, exchanged=True), at=small, holds=above(0, margin=0.1),
                     reason="better than with other anchors' labels; a tenth is not relevant, as in claim 6"),
            Endpoint("skill of P^s - u against orthogonal anchors", skill, at=small,
                     holds=at_least(0.5, margin=0.05),
                     reason="size: half of the squared error that assuming orthogonal anchors leaves",
                     scale=SKILL),
            Endpoint("skill of P^s - u against one cosine for all pairs (the mean)",
                     partial(skill, over="mean"), at=small, holds=above(0),
                     reason="size: better than one number for all pairs", scale=SKILL),
            Endpoint("that difference of Pearson, small minus large initial weights",
                     partial(worst_correlation, exchanged=True), at=small,
                     minus=Other("that difference of Pearson, large initial weights", at=large),
                     holds=above(0, margin=0.1), reason="the theory is about small initial weights"),
        ],
        shown=[
            Endpoint("Pearson of P^s - u and the observed cosine, all anchors", correlation, at=small,
                     scale=COSINE),
            *(Endpoint(f"skill of P^s - u against {name}", partial(skill, over=name), at=small,
                       scale=SKILL)
              for name in ('−|i − j|', 'same mapping or not', 'same mapping, and −|i − j| in it')),
            Endpoint("best training accuracy, as a share of the way from guessing to all right",
                     above_guessing, at=small, step=SEQUENCE),
            Endpoint("root mean square change of the anchors' cosines since the start", moved, at=small,
                     scale=SIZE),
            Endpoint("best training accuracy, as a share of the way from guessing to all right, "
                     "large initial weights", above_guessing, at=large, step=SEQUENCE),
        ],
    )


DEMO = (
    Claim(
        0, "reasoning first",
        statement="Small initial weights solve held-out sums that large ones do not.",
        endpoints=[
            Endpoint("reasoning test accuracy", partial(last_accuracy, part="rsn_test"), at=SMALL,
                     minus=LARGE, holds=at_least(0.5, margin=0.05), reason="half of the held-out sums",
                     scale=SHARE, step=ACCURACY),
        ],
    ),
    Claim(
        0, "nothing is memorised yet",
        statement="With small initial weights the table is not learned by the last epoch.",
        endpoints=[
            Endpoint("memory accuracy", partial(last_accuracy, part="mem"), at=SMALL,
                     holds=at_most(0.1, margin=0.02), reason="a tenth of the table", scale=SHARE,
                     step=TABLE),
        ],
    ),
    Claim(
        0, "memory anchors align",
        statement="Memory anchors share one label distribution, and small initial weights give them one "
                  "direction.",
        endpoints=[
            Endpoint("mean cosine among memory anchors",
                     partial(mean_cosine, tokens="memory anchors", when=last_epoch), at=SMALL, minus=LARGE,
                     holds=at_least(0.5, margin=0.05), reason="halfway between orthogonal and parallel",
                     scale=COSINE),
        ],
    ),
    Claim(
        0, "reasoning anchors are ordered",
        statement="With small initial weights the cosine of reasoning anchors falls with their "
                  "distance, more so than with large ones.",
        endpoints=[
            Endpoint("Spearman of distance and cosine", partial(ordering, when=last_epoch), at=SMALL,
                     minus=LARGE, holds=below(0, margin=0.1), reason="no effect", scale=COSINE,
                     step=ANCHORS),
        ],
    ),
)
