"""What `anchorflow demo` tests, at the last epoch; thresholds were set before the demo's own runs existed."""

from __future__ import annotations

from functools import partial

from validate.judge.claim import Claim, Endpoint
from validate.judge.measures.geometry import mean_cosine, nearest_excess, ordering
from validate.judge.measures.learning import last_accuracy
from validate.judge.settings import ACCURACY, ANCHORS, LARGE, SMALL, TABLE
from validate.judge.stats import COSINE, SHARE
from validate.judge.threshold import at_least, at_most, below
from validate.observe.times import last_epoch

# fmt: off
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
        shown=[
            Endpoint("neighbours minus nine apart", partial(nearest_excess, when=last_epoch), at=SMALL,
                     minus=LARGE),
        ],
    ),
)
