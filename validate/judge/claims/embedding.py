"""The geometry of the embedding. "Early" is at training accuracy one half."""

from __future__ import annotations

from functools import partial

from validate.judge.claim import Claim, Endpoint, above, at_least, at_most, below
from validate.judge.measures.attention import preference
from validate.judge.measures.geometry import (
    mean_cosine,
    memory_excess,
    ordering,
    plane_correlation,
    plane_order,
    rank_left,
)
from validate.judge.measures.prediction import plane_skill
from validate.judge.settings import ANCHORS, EVERYWHERE, FULL_SIZE, KEYS, LARGE, SMALL, TRANSFORMERS
from validate.judge.stats import COSINE, SHARE, SIZE, SKILL
from validate.observe.times import early_epoch, last_epoch

TIMES = {"at the end": last_epoch, "early": early_epoch}

# fmt: off
CLAIMS = (
    Claim(
        5, "reasoning anchors are ordered",
        paper="of reasoning anchors' cosines: “the further distance, the smaller similarity”",
        statement="With small weights the cosine of two reasoning anchors falls with their distance, "
                  "early and late.",
        section="3.2, 3.3, Fig. 4A, 5A", settings=EVERYWHERE, learned=True,
        endpoints=[
            *(Endpoint(f"Spearman of distance and cosine, reasoning anchors, {name}, γ = 0.8",
                       partial(ordering, when=when), at=SMALL, holds=at_most(-0.5, margin=0.05),
                       reason="halfway between no order and a perfect one, as in other claims",
                       scale=COSINE, step=ANCHORS, unit="ρ {}")
              for name, when in TIMES.items()),
        ],
        shown=[
            *(Endpoint(f"Spearman of distance and cosine, reasoning anchors, {name}",
                       partial(ordering, when=when), at=SMALL, minus=LARGE, scale=COSINE)
              for name, when in TIMES.items()),
        ],
    ),
    Claim(
        26, "memory anchors align",
        paper="memory anchors show “high similarity and alignment”",
        statement="With small weights memory anchors share one direction, early and late.",
        section="3.2, 3.3, Fig. 4A, 5A", settings=EVERYWHERE, learned=True,
        endpoints=[
            *(Endpoint(f"mean cosine among memory anchors, {name}, γ = 0.8",
                       partial(mean_cosine, tokens="memory anchors", when=when), at=SMALL,
                       holds=at_least(0.5, margin=0.05), reason="halfway between orthogonal and parallel",
                       scale=COSINE, unit="cosine {}")
              for name, when in TIMES.items()),
        ],
        shown=[
            *(Endpoint(f"mean cosine among memory anchors, {name}",
                       partial(mean_cosine, tokens="memory anchors", when=when), at=SMALL, minus=LARGE,
                       scale=COSINE)
              for name, when in TIMES.items()),
            Endpoint("mean cosine among reasoning anchors, at the end, γ = 0.8",
                     partial(mean_cosine, tokens="reasoning anchors", when=last_epoch), at=SMALL,
                     scale=COSINE),
            *(Endpoint(f"mean cosine among memory anchors minus that among reasoning anchors, {name}",
                       partial(memory_excess, when=when), at=SMALL, minus=LARGE)
              for name, when in TIMES.items()),
        ],
    ),
    Claim(
        8, "the embedding follows the numbers",
        paper="principal components of the embedding show “a strong inherent numerical order”",
        statement="With small weights the principal components of keys and reasoning anchors follow "
                  "numerical order.",
        section="3.3, Fig. 5B", settings=TRANSFORMERS, learned=True,
        endpoints=[
            *(Endpoint(f"Spearman of numerical distance and distance in the PCA plane, {name}, early",
                       partial(plane_order, group=name), at=SMALL, minus=LARGE, holds=above(0, margin=0.1),
                       reason="no effect; a tenth of a perfect order is not relevant", scale=COSINE)
              for name in ('keys', 'reasoning anchors')),
            Endpoint("Spearman of numerical distance and distance in the PCA plane, keys, early",
                     partial(plane_order, group="keys"), at=SMALL, holds=at_least(0.5, margin=0.05),
                     reason="halfway between no order and a perfect one; P^s − u gives 0.7 or more",
                     scale=COSINE, step=KEYS),
        ],
        shown=[
            *(Endpoint(f"the same at the end, {name}", partial(plane_order, group=name, when=last_epoch),
                       at=SMALL)
              for name in ('keys', 'reasoning anchors')),
        ],
    ),
    Claim(
        13, "large weights keep tokens orthogonal",
        statement="With γ = 0.3 and 0.5 embeddings are orthogonal and without order, and the first "
                  "attention prefers no kind of anchor.",
        section="App. C.1-C.3, Fig. 10-12", settings=EVERYWHERE, learned=True,
        endpoints=[
            Endpoint("mean |cosine| among memory anchors, γ = 0.3, early",
                     partial(mean_cosine, tokens="memory anchors", size=True), at=LARGE, minus=SMALL,
                     holds=below(0, margin=0.05),
                     reason="no effect; random directions in 200 dimensions give 0.06", scale=SHARE),
            *(Endpoint(f"mean |cosine| among {name}, γ = {rate:g}, early",
                       partial(mean_cosine, tokens=name, size=True), at=rate,
                       holds=at_most(0.2, margin=0.05),
                       reason="random directions in 200 dimensions give 0.06, in 50 they give 0.11",
                       scale=SHARE)
              for name, rate in (("reasoning anchors", LARGE), ("reasoning anchors", 0.5),
                                 ("memory anchors", 0.5))),
            *(Endpoint(f"Spearman of distance and cosine, reasoning anchors, γ = {rate:g}, early", ordering,
                       at=rate, holds=at_least(-0.5, margin=0.05),
                       reason="halfway between no order and a perfect one", scale=COSINE, step=ANCHORS)
              for rate in (LARGE, 0.5)),
            *(Endpoint("difference of the two kinds' mean |cosine| with W_V's top vector, γ = "
                       f"{rate:g}, early", preference, at=rate, holds=at_most(0.1, margin=0.05),
                       reason="a tenth of the largest preference there can be", scale=SHARE,
                       settings=TRANSFORMERS)
              for rate in (LARGE, 0.5)),
        ],
    ),
    Claim(
        27, "eq. 14 draws the plane of keys and anchors",
        paper="the projections of eq. 14 “exhibit a strong alignment with the experimental observations”",
        statement="The principal components of eq. 14 are those of the embedding, for keys and for "
                  "reasoning anchors.",
        section="3.3, eq. 14, Fig. 5D", settings=FULL_SIZE, learned=True,
        endpoints=[
            *(Endpoint(f"Pearson of distances in the PCA plane, eq. 14 against the embedding, {name}, "
                       "early", partial(plane_correlation, group=name), at=SMALL,
                       holds=at_least(0.7, margin=0.05), reason="r² of one half: half of the variance",
                       scale=COSINE)
              for name in ('keys', 'reasoning anchors')),
            *(Endpoint(f"skill of eq. 14 over |i − j| in these distances, {name}, early",
                       partial(plane_skill, group=name), at=SMALL, holds=above(0),
                       reason="better than the best rival, paired within a seed", scale=SKILL)
              for name in ('keys', 'reasoning anchors')),
        ],
        shown=[
            *(Endpoint(f"Pearson of distances in the PCA plane, eq. 14 against the embedding, {name}, "
                       "early", partial(plane_correlation, group=name), at=SMALL, minus=LARGE, scale=COSINE)
              for name in ('keys', 'reasoning anchors')),
        ],
    ),
    Claim(
        29, "low rank, not condensed",
        paper="embeddings become linearly dependent, yet “they are not identical”",
        statement="With small weights embeddings depend on each other linearly without becoming alike.",
        section="4, condensation", settings=EVERYWHERE, learned=True,
        endpoints=[
            Endpoint("effective rank of the embedding, early, over that before training", rank_left,
                     at=SMALL, minus=LARGE, holds=below(0, margin=0.05),
                     reason="no effect; a twentieth of the rank is not relevant", scale=SIZE),
            Endpoint("effective rank of the embedding, early, over that before training, γ = 0.8",
                     rank_left, at=SMALL, holds=at_most(0.5, margin=0.05), reason="half of the rank",
                     scale=SIZE),
            Endpoint("mean |cosine| among reasoning anchors, early",
                     partial(mean_cosine, tokens="reasoning anchors", size=True), at=SMALL,
                     holds=at_most(0.9, margin=0.05), reason="a tenth short of one direction for all",
                     scale=SHARE),
        ],
    ),
)
