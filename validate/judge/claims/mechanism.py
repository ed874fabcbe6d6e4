"""Attention, ranks and outputs."""

from __future__ import annotations

import math
from functools import partial

from validate.judge.claim import Claim, Endpoint, Other, Runs, above, at_least, at_most, below
from validate.judge.measures.attention import (
    alignment,
    cliff_share,
    gentle_share,
    greatest_foreign_mass,
    key_mass,
    least_own_mass,
    lemma1_excess,
    lemma1_share,
    positions_rise,
    rise,
    value_gap,
)
from validate.judge.measures.geometry import MATRICES, greatest_rank_ratio, mean_log_rank_ratio, rank_ratio
from validate.judge.measures.learning import lead, loss_lead
from validate.judge.settings import (
    ATTENTION,
    FULL_SIZE,
    LARGE,
    MLP,
    POSITION,
    POSITIONS,
    PRE,
    RISE,
    SMALL,
    TRANSFORMERS,
)
from validate.judge.stats import COSINE, SHARE, SIZE
from validate.observe.times import first_epoch, last_epoch

# fmt: off
CLAIMS = (
    Claim(
        10, "the first attention averages",
        paper="with small weights the first attention “approaches the behavior of an average operator”",
        statement="With small weights the first attention is nearly the average over the positions so far.",
        section="3.3, Lemma 1, Fig. 6A-B", settings=TRANSFORMERS, learned=True,
        endpoints=[
            Endpoint("share of |A_ij − 1/i| <= 0.1, at initialisation, γ = 0.8",
                     partial(lemma1_share, epsilon=0.1, when=first_epoch), at=SMALL, learned=False,
                     holds=at_least(0.9, margin=0.02), unit="share {}",
                     reason="Lemma 1 at ε = 0.1: with probability at least 1 − ε", scale=SHARE,
                     step=ATTENTION),
            Endpoint("seeds with at least 0.9 of |A_ij − 1/i| <= 0.1, at the end, γ = 0.8",
                     partial(lemma1_share, epsilon=0.1, when=last_epoch), at=SMALL, holds=above(0.5),
                     unit="{} of the seeds",
                     reason="most seeds; seeds fall into two groups", scale=SHARE, counted_from=0.9),
        ],
        shown=[
            Endpoint("share of |A_ij − 1/i| <= 0.1, at initialisation, γ = 0.3",
                     partial(lemma1_share, epsilon=0.1, when=first_epoch), at=LARGE, scale=SHARE,
                     step=ATTENTION, learned=False),
            Endpoint("share of |A_ij − 1/i| <= 0.1, early, γ = 0.8", partial(lemma1_share, epsilon=0.1),
                     at=SMALL, scale=SHARE, step=ATTENTION),
            Endpoint("share of |A_ij − 1/i| <= 0.1, early", partial(lemma1_share, epsilon=0.1), at=SMALL,
                     minus=LARGE, scale=SHARE),
            Endpoint("share of |A_ij − 1/i| <= 0.1 at initialisation minus its predicted value",
                     partial(lemma1_excess, epsilon=0.1), at=SMALL, learned=False),
            Endpoint("share of |A_ij − 1/i| <= 0.01 at initialisation",
                     partial(lemma1_share, epsilon=0.01, when=first_epoch), at=SMALL, scale=SHARE,
                     learned=False),
        ],
    ),
    Claim(
        11, "the value matrix marks reasoning anchors",
        paper="the largest singular value of W_V is “significantly larger than the remaining” ones; its "
              "vector is “aligned closely” with reasoning anchors and “nearly orthogonal” to memory anchors",
        statement="One singular value of W_V stands out; its vector lies along the reasoning anchors "
                  "and is orthogonal to the memory anchors.",
        section="3.3, Thm. 2, Fig. 6C-D", settings=TRANSFORMERS, learned=True,
        endpoints=[
            Endpoint("mean |cosine| with W_V's top vector, reasoning minus memory anchors, early",
                     partial(alignment, kind="reasoning"), at=SMALL,
                     minus=Other("mean |cosine| of memory anchors with W_V's top vector, early",
                                 measure=partial(alignment, kind="memory")), holds=above(0, margin=0.1),
                     reason="no preference; a tenth of the largest is not relevant", scale=SHARE),
            Endpoint("first over second singular value of W_V, early", value_gap, at=SMALL,
                     holds=at_least(2, margin=0.1), unit="σ1/σ2 {}",
                     reason="twice; a random matrix of this shape has 1.03, one of a quarter of the "
                            "size 1.08", scale=(1.0, math.inf)),
            Endpoint("mean |cosine| of memory anchors with W_V's top vector, early",
                     partial(alignment, kind="memory"), at=SMALL, holds=at_most(0.25, margin=0.05),
                     reason="half of what counts as aligned", scale=SHARE),
            Endpoint("mean |cosine| of reasoning anchors with W_V's top vector, early",
                     partial(alignment, kind="reasoning"), at=SMALL, holds=at_least(0.5, margin=0.05),
                     reason="halfway between orthogonal and parallel", scale=SHARE),
        ],
        shown=[
            Endpoint("first over second singular value of W_V, early", value_gap, at=SMALL, minus=LARGE),
            Endpoint("mean |cosine| of reasoning anchors with W_V's top vector, early",
                     partial(alignment, kind="reasoning"), at=SMALL, minus=LARGE, scale=SHARE),
            Endpoint("first over second singular value of W_V, at the end",
                     partial(value_gap, when=last_epoch), at=SMALL, learned=False),
            *(Endpoint(f"mean |cosine| of {name} anchors with the top vector at the end",
                       partial(alignment, kind=name, when=last_epoch), at=SMALL, scale=SHARE, learned=False)
              for name in ('reasoning', 'memory')),
        ],
    ),
    Claim(
        12, "the second attention is a cliff",
        statement="The last position's logits climb to the key, fall slightly to the last anchor and "
                  "sharply after it, so that attention goes to the key.",
        section="App. D, Fig. 15", settings=FULL_SIZE, learned=True,
        endpoints=[
            *(Endpoint(what, of, at=SMALL,
                       minus=Other("the same, rows or positions scrambled",
                                   measure=partial(of, scramble=True)), holds=above(0, margin=0.1),
                       reason="better than with rows or positions scrambled", scale=scale, step=step)
              for what, of, scale, step in (
                  ("share of key positions whose steepest fall is right after the anchors, early",
                   cliff_share, SHARE, POSITION),
                  ("share of key positions with a slight fall in the window and a sharper one after "
                   "it, early", gentle_share, SHARE, POSITION),
                  ("Spearman of position and logit up to the key, early", rise, COSINE, RISE))),
            Endpoint("seeds whose last position gives the key at least half of its attention, reasoning "
                     "sequences, early", key_mass, at=SMALL, holds=above(0.5),
                     reason="most seeds; seeds fall into two groups, and an even spread gives one ninth",
                     scale=SHARE, counted_from=0.5),
        ],
        shown=[
            Endpoint("attention of the last position to the key, reasoning sequences, early", key_mass,
                     at=SMALL, scale=SHARE),
            Endpoint("attention of the last position to the key, reasoning sequences, at initialisation",
                     partial(key_mass, when=first_epoch), at=SMALL, scale=SHARE, learned=False),
            Endpoint("Spearman of position and logit from positions alone, early", positions_rise, at=SMALL,
                     scale=COSINE, step=POSITIONS),
            Endpoint("Spearman of position and logit from positions alone, at initialisation",
                     partial(positions_rise, when=first_epoch), at=SMALL, scale=COSINE, step=POSITIONS,
                     learned=False),
        ],
    ),
    Claim(
        14, "ranks fall as γ grows",
        statement="The smaller the initial weights, the lower the rank of every weight matrix.",
        section="App. C.4, Fig. 13", settings=TRANSFORMERS,
        endpoints=[
            Endpoint("log2 of the effective rank at γ = 0.8 over that at 0.3, mean over weight "
                     "matrices, early", mean_log_rank_ratio, at=(LARGE, SMALL), holds=below(0, margin=0.1),
                     reason="no effect; a tenth of a doubling is not relevant"),
            Endpoint("greatest of these ratios over the weight matrices, early", greatest_rank_ratio,
                     at=(LARGE, SMALL), holds=below(1, margin=0.05),
                     reason="every matrix: none has a higher rank", scale=SIZE),
        ],
        shown=[
            *(Endpoint(f"effective rank of {name} at γ = 0.8 over that at 0.3, early",
                       partial(rank_ratio, matrix=name), at=(LARGE, SMALL), scale=SIZE)
              for name in MATRICES),
        ],
    ),
    Claim(
        15, "outputs keep to the labels' range",
        paper="even early in training the outputs “do not exceed the range of the label distributions”",
        statement="Early in training a memory group's outputs stay within the range of its labels.",
        section="3.5, Fig. 8 right", settings=(MLP, PRE),
        runs={MLP: Runs("fig8-ranges", "emb-mlp"), PRE: Runs("fig8-ranges", "transformer")},
        endpoints=[
            Endpoint("least output mass in a group's own label range, early", least_own_mass, at=SMALL,
                     holds=at_least(0.9, margin=0.02),
                     reason="all but a tenth; outputs that ignore the group would put far more outside "
                            "the narrowest range", scale=SHARE),
        ],
        shown=[
            Endpoint("greatest output mass in the next narrower group's range", greatest_foreign_mass,
                     at=SMALL, scale=SHARE),
        ],
    ),
    Claim(
        16, "windows before tables",
        paper="the table whose labels depend on the anchor is learned “significantly faster”",
        statement="A memory task is learned faster if the distribution of its labels depends on key and "
                  "anchors.",
        section="3.5, Fig. 8 left", settings=(MLP, PRE),
        runs={MLP: Runs("fig8-memory", "emb-mlp"), PRE: Runs("fig8-memory", "transformer")},
        endpoints=[
            Endpoint("loss of F_mem,1 above that of F_mem,2, mean over the run, share of ln N_Z",
                     partial(loss_lead, slow="mem1", fast="mem2"), at=SMALL,
                     minus=Other("the same before training",
                                 measure=partial(loss_lead, slow="mem1", fast="mem2", first=True)),
                     holds=above(0, margin=0.01),
                     reason="no more than before training; a hundredth of the loss of guessing is not "
                            "relevant"),
        ],
        shown=[
            Endpoint("log2 of the times to fit F_mem,1 over F_mem,2", partial(lead, slow="mem1", fast="mem2"),
                     at=SMALL, runs={PRE: Runs("fig8-memory-long")}),
        ],
    ),
)
