"""Tests of the explanation: other labels, frozen embeddings, other optimisers, noise."""

from __future__ import annotations

from functools import partial

from validate.judge.claim import Claim, Endpoint, Other, Runs, above, at_least, at_most
from validate.judge.measures.attention import held_out_share
from validate.judge.measures.geometry import mean_cosine
from validate.judge.measures.learning import (
    best_test_accuracy,
    highest_accuracy,
    last_accuracy,
    least_gain,
)
from validate.judge.measures.prediction import (
    changed_labels_better,
    geometry_change,
    intervened_correlation,
    intervened_skill,
)
from validate.judge.settings import ACCURACY, GROUP, LARGE, MLP, SMALL
from validate.judge.stats import COSINE, SHARE, SIZE, SKILL
from validate.observe.times import last_epoch

# fmt: off
CHANGES = {
    "bias": partial(least_gain, absolute=True),
    "final mean cosine among memory anchors":
        partial(least_gain, of=partial(mean_cosine, tokens="memory anchors", when=last_epoch), absolute=True),
}
DECAYS = ("0.0", "0.1", "1.0", "10.0")
CLAIMS = (
    Claim(
        21, "AdamW forgets the scale",
        statement="Against the paper: under AdamW the initial scale changes neither what is learned "
                  "first nor the embedding.",
        section="opposing", opposing=True, settings=(MLP,),
        endpoints=[
            *(Endpoint(f"|{name} at γ = 0.8 minus that at 0.3|", change, at=(LARGE, SMALL),
                       holds=at_most(0.1, margin=0.02), reason="a tenth of the distance from none to all",
                       scale=(0.0, 2.0), runs=Runs("optimisers", "adamw"))
              for name, change in CHANGES.items()),
            *(Endpoint(f"least |{name} at γ = 0.8 minus that at 0.3|, over weight decays 0, 0.1 and 1, "
                       "undefined ones left out", change, at=(LARGE, SMALL), holds=at_most(0.1, margin=0.02),
                       reason="a tenth of the distance from none to all", scale=(0.0, 2.0),
                       runs=Runs("weight-decays", *(f"weight-decay{decay}" for decay in DECAYS[:3])))
              for name, change in CHANGES.items()),
        ],
        shown=[
            *(Endpoint(f"|{name} at γ = 0.8 minus that at 0.3|, SGD", change, at=(LARGE, SMALL),
                       runs=Runs("optimisers", "sgd"))
              for name, change in CHANGES.items()),
            *(Endpoint(f"|{name} at γ = 0.8 minus that at 0.3|, weight decay {decay}", change,
                       at=(LARGE, SMALL), runs=Runs("weight-decays", f"weight-decay{decay}"))
              for name, change in CHANGES.items() for decay in DECAYS),
        ],
    ),
    Claim(
        22, "shuffled labels keep the geometry",
        statement="Shuffling labels within anchor combinations, which keeps P^s, removes the rule and "
                  "leaves the early geometry.",
        section="test of 3.2", settings=(MLP,), runs=Runs("causal", "plain", "shuffled"),
        endpoints=[
            Endpoint("skill of the plain cosines over −|i − j|, labels shuffled, early",
                     partial(intervened_skill, variant="shuffled"), at=SMALL, holds=above(0),
                     reason="better than the best rival, paired within a seed", scale=SKILL),
            Endpoint("Pearson of the reasoning anchors' cosines, labels shuffled against plain, early",
                     partial(intervened_correlation, variant="shuffled"), at=SMALL,
                     holds=at_least(0.7, margin=0.05), reason="r² of one half: half of the variance",
                     scale=COSINE),
            Endpoint("highest reasoning test accuracy, labels shuffled", highest_accuracy, at=SMALL,
                     holds=at_most(0.1, margin=0.02),
                     reason="no rule is left to learn, in the time that the plain run takes", scale=SHARE,
                     step=ACCURACY, runs=Runs("causal", "shuffled")),
        ],
        shown=[
            Endpoint("highest reasoning test accuracy, labels shuffled minus plain", highest_accuracy,
                     at=SMALL, minus=Other(runs=Runs("causal", "plain")), scale=SHARE,
                     runs=Runs("causal", "shuffled")),
        ],
    ),
    Claim(
        23, "changed labels change the geometry",
        statement="Changing P^s at equal difficulty changes the early geometry as the new P^s predicts.",
        section="test of 3.2", settings=(MLP,), runs=Runs("causal", "plain", "spread"),
        endpoints=[
            Endpoint("excess skill of the changed labels over the plain ones, early, changed minus plain "
                     "runs",
                     partial(changed_labels_better, variant="spread", changed="spread"), at=SMALL,
                     minus=Other("excess skill of the changed labels over the plain ones, early, plain runs",
                                 measure=partial(changed_labels_better, variant="plain", changed="spread")),
                     holds=above(0), reason="no more than in the plain run of the same seed"),
            Endpoint("Pearson of the reasoning anchors' cosines with those that the changed labels "
                     "predict, early", partial(intervened_correlation, variant="spread", labels="spread"),
                     at=SMALL, holds=at_least(0.7, margin=0.05),
                     reason="r² of one half: half of the variance", scale=COSINE),
        ],
        shown=[
            Endpoint("skill of that prediction over −|i − j|, early",
                     partial(intervened_skill, variant="spread", labels="spread"), at=SMALL),
            Endpoint("RMS change of the cosines, changed against plain, early",
                     partial(geometry_change, variant="spread"), at=SMALL, scale=SIZE),
        ],
    ),
    Claim(
        24, "predicted embeddings are enough",
        statement="With embeddings frozen at those that P^s predicts, held-out sums are learned; with "
                  "random ones, or those of other anchors, they are not.",
        section="test of 3.2", settings=(MLP,), runs=Runs("frozen-long"),
        endpoints=[
            *(Endpoint("highest reasoning test accuracy, embeddings frozen at the predicted ones minus "
                       f"{other}", best_test_accuracy, at=SMALL,
                       minus=Other(f"highest reasoning test accuracy, embeddings frozen at {frozen}",
                                   runs=Runs("frozen-long", variant)),
                       holds=above(0, margin=0.05), reason=reason, scale=SHARE,
                       runs=Runs("frozen-long", "frozen"))
              for other, frozen, variant, reason in (
                  ("random ones", "random ones", "frozen-random",
                   "the prediction must be the cause, not the freezing"),
                  ("other anchors' ones", "the predicted ones of other anchors", "frozen-shuffled",
                   "each anchor's own prediction must be the cause, not regularity"))),
            Endpoint("highest reasoning test accuracy, embeddings frozen at the predicted ones",
                     best_test_accuracy, at=SMALL, holds=at_least(0.5, margin=0.05),
                     reason="half of the held-out sums", scale=SHARE, step=ACCURACY,
                     runs=Runs("frozen-long", "frozen")),
        ],
        shown=[
            *(Endpoint(f"memory accuracy at the end, embeddings frozen at {name}",
                       partial(last_accuracy, part="mem"), at=SMALL, runs=Runs("frozen-long", variant))
              for name, variant in (("the predicted ones", "frozen"), ("random ones", "frozen-random"),
                                    ("the predicted ones of other anchors", "frozen-shuffled"))),
        ],
    ),
    Claim(
        30, "noise defeats the Emb-MLP",
        paper="with noise the Emb-MLP “fails to perform effectively”",
        statement="The Emb-MLP, which sums what it reads, does not learn sequences with noise.",
        section="3.3", settings=(MLP,), runs=Runs("emb-mlp-noise"),
        endpoints=[
            Endpoint("highest reasoning test accuracy, six keys of noise", highest_accuracy, at=SMALL,
                     holds=at_most(0.1, margin=0.02),
                     reason="a tenth of the distance from none to all, in as many steps as the task "
                            "without noise gets", scale=SHARE, step=ACCURACY),
        ],
        shown=[
            Endpoint("the same without noise", highest_accuracy, at=SMALL, scale=SHARE,
                     runs=Runs("emb-mlp")),
            Endpoint("highest reasoning training accuracy, six keys of noise (a guess among seven keys: "
                     "0.143)", partial(highest_accuracy, part="rsn_train"), at=SMALL, scale=SHARE),
        ],
    ),
    Claim(
        31, "a published log of the group",
        statement="With γ = 0.8 a held-out pair of shifts is composed; with γ = 0.5 it copies the "
                  "labels of its mirror pair.",
        section="Zhang et al. 2024, 2025", settings=(GROUP,), runs=Runs("composition"),
        reason="most seeds; seeds fall into two groups",
        endpoints=[
            Endpoint("seeds with half of the held-out pair (4, 3) right, γ = 0.8",
                     partial(held_out_share, deviations=(0,)), at=SMALL, holds=above(0.5), scale=SHARE,
                     counted_from=0.5),
            Endpoint("seeds with half of its answers off by +4, γ = 0.5",
                     partial(held_out_share, deviations=(4,)), at=0.5, holds=above(0.5), scale=SHARE,
                     counted_from=0.5),
        ],
        shown=[
            Endpoint("accuracy on the held-out pair (4, 3)", partial(held_out_share, deviations=(0,)),
                     at=SMALL, minus=0.5, scale=SHARE),
            Endpoint("share of the held-out pair's answers that are off by 0 or ±3",
                     partial(held_out_share, deviations=(-3, 0, 3)), at=SMALL, minus=0.5, scale=SHARE),
            Endpoint("share of the held-out pair's answers that are off by +4",
                     partial(held_out_share, deviations=(4,)), at=SMALL, minus=0.5, scale=SHARE),
        ],
    ),
)
