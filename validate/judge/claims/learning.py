"""What is learned when. Endpoints of claims 1, 2, 25 and 40 and their reasons: docs/results/printed.md."""

from __future__ import annotations

from functools import partial

from validate.judge.claim import ALL_VARIANTS, Claim, Endpoint, Other, Runs, above, within
from validate.judge.measures.learning import (
    best_test_accuracy,
    fall_lead,
    held_out_loss_change,
    lead,
    learned_bias,
    least_gain,
    loss_gap_aligned,
    loss_lead,
    matched_test_accuracy,
    spike_at,
    trend,
)
from validate.judge.settings import (
    ACCURACY,
    EVERYWHERE,
    LARGE,
    MLP,
    NO_NORM,
    NORMED,
    PRE,
    QUARTER,
    RATES,
    SMALL,
)
from validate.judge.stats import COSINE, SHARE, SIZE

# fmt: off
SAME_BIAS = [
    Endpoint("log2 of the step at which the table's loss has fallen by ln(N_Z)/10 over that of "
             "the sums', γ = 0.8 minus 0.3", fall_lead, at=SMALL, minus=LARGE, holds=above(0),
             reason="no effect"),
    Endpoint("loss of the table minus that of the training sums at equal training accuracy, over ln N_Z, γ = "
             "0.3", loss_gap_aligned, at=LARGE, holds=within(0.1), reason="as in claim 1"),
]
"""Claims 1 and 2 in the form first fixed, of another model; with times to fit and the highest accuracy."""
SAME_BIAS_SHOWN = [
    Endpoint("log2 of the times to fit memory over reasoning train", lead, at=SMALL, minus=LARGE),
    Endpoint("log2 of the times to fit memory over reasoning test", partial(lead, fast="rsn_test"),
             at=SMALL, minus=LARGE),
    Endpoint("highest reasoning test accuracy, a lower bound until reasoning train is fitted",
             best_test_accuracy, at=SMALL, minus=LARGE, scale=SHARE),
]
CLAIMS = (
    Claim(
        1, "table and sums fall together",
        paper="at γ = 0.3 the losses of table and training sums “decrease at nearly identical rates”",
        statement="With γ = 0.3 the losses of the table and of the training sums fall at nearly "
                  "identical rates.",
        section="3.1, Fig. 3A", settings=NORMED,
        endpoints=[
            Endpoint("loss of the table minus that of the training sums, over ln N_Z, mean over the run, γ = "
                     "0.3", partial(loss_lead, slow="mem", fast="rsn_train"), at=LARGE, holds=within(0.1),
                     unit="{} of ln N_Z",
                     reason="a tenth of Fig. 3A's axis is the least that a reader can see"),
        ],
        shown=[
            Endpoint("the same at γ = 0.8", partial(loss_lead, slow="mem", fast="rsn_train"), at=SMALL),
            *(Endpoint(f"the same at equal training accuracy (0.1, 0.3, 0.5, 0.9), γ = {rate:g}",
                       loss_gap_aligned, at=rate)
              for rate in (LARGE, SMALL)),
        ],
    ),
    Claim(
        2, "small weights reason first",
        paper="at γ = 0.8 the losses of training and held-out sums “decrease significantly faster” than the "
              "table's",
        statement="With γ = 0.8 the losses of training and held-out sums fall much earlier than the table's.",
        section="3.1, Fig. 3A", settings=NORMED,
        endpoints=[
            *(Endpoint(f"doublings of steps from the fall of the {name}' loss by ln(N_Z)/10 to that of the "
                       "table's, γ = 0.8", partial(fall_lead, fast=part), at=SMALL,
                       holds=above(1), unit="{} doublings",
                       reason="twice as late: what “significantly” asks at least")
              for part, name in (("rsn_train", "training sums"), ("rsn_test", "held-out sums"))),
        ],
        shown=[
            Endpoint("the same from the training sums' fall, γ = 0.8 minus 0.3", fall_lead, at=SMALL,
                     minus=LARGE),
            Endpoint("the same from the training sums' fall, γ = 0.3", fall_lead, at=LARGE),
            *SAME_BIAS_SHOWN[:2],
        ],
    ),
    Claim(
        3, "the bias grows with γ",
        paper="as the initial weights become smaller, “a progressively stronger reasoning bias”",
        statement="The smaller the initial weights, the stronger the preference for reasoning, as a "
                  "mean over the run.",
        section="3.1", settings=EVERYWHERE,
        endpoints=[
            Endpoint("bias (held-out accuracy minus the table's, mean over the run), γ = 0.8 minus 0.3",
                     learned_bias, at=SMALL, minus=LARGE, holds=above(0, margin=0.1),
                     reason="no effect; a tenth of the distance from none to all is not relevant",
                     scale=COSINE),
        ],
        shown=[
            Endpoint("Spearman of γ and bias, undefined if a run learned nothing", trend, scale=COSINE,
                     step=RATES, runs={PRE: Runs("scan")}, settings=(QUARTER, PRE)),
        ],
    ),
    Claim(
        4, "the same in the Emb-MLP",
        paper="in the Emb-MLP “a noticeable reasoning bias can still be observed” with small initial weights",
        statement="The Emb-MLP learns the sums first with γ = 0.8, and sums and table together with γ = "
                  "0.3.",
        section="3.2, Fig. 3B", settings=(MLP,),
        endpoints=SAME_BIAS, shown=SAME_BIAS_SHOWN,
    ),
    Claim(
        17, "the bias without layer norm",
        paper="layer norm and the last projection “do not impact our results”",
        statement="Without layer norm small weights still favour reasoning, and large ones do not.",
        section="3.3, App. F, Fig. 16", settings=(NO_NORM, QUARTER),
        runs={QUARTER: Runs("group-no-norm-small")}, endpoints=SAME_BIAS, shown=SAME_BIAS_SHOWN,
    ),
    Claim(
        18, "the bias at every learning rate",
        statement="The bias is the same over a range of learning rates, at whose top the training loss "
                  "spikes.",
        section="App. G, Fig. 17", settings=(QUARTER, PRE),
        runs={QUARTER: Runs("group-rates", ALL_VARIANTS), PRE: Runs("learning-rates", ALL_VARIANTS)},
        endpoints=[
            Endpoint("least excess of the bias at γ = 0.8 over that at 0.3, over rates that learned at "
                     "both", partial(least_gain, learned=True), at=(LARGE, SMALL),
                     holds=above(0, margin=0.1), reason="no effect", scale=(-2.0, 2.0)),
            Endpoint("greatest rise of a training loss at the highest rate that learned, units of ln N_Z",
                     partial(spike_at, place=1.0), at=(LARGE, SMALL),
                     minus=Other("greatest rise of a training loss at the middle one of the rates that "
                                 "learned, units of ln N_Z", measure=partial(spike_at, place=0.5)),
                     holds=above(0, margin=0.1), reason="the top of the range spikes more than its middle",
                     scale=SIZE),
        ],
        shown=[
            *(Endpoint(f"excess of the bias at γ = 0.8 over that at 0.3, rate {rate}", least_gain,
                       at=(LARGE, SMALL), scale=(-2.0, 2.0), runs=Runs(study, f"lr{rate}"), settings=(setup,))
              for setup, study, rates in (
                  (PRE, "learning-rates", ("1e-5", "1e-4", "3e-4", "1e-3", "5e-3")),
                  (QUARTER, "group-rates", ("3.2e-5", "1.6e-4", "8e-4", "4e-3", "2e-2")))
              for rate in rates),
        ],
    ),
    Claim(
        25, "generalisation at equal fit",
        paper="smaller scales “favor reasoning tasks”, larger ones memorisation",
        statement="The smaller the initial weights, the more held-out sums are right at the same "
                  "training accuracy.",
        section="abstract, 3.1, Fig. 3A, free of speed", settings=EVERYWHERE,
        endpoints=[
            Endpoint("held-out accuracy at training accuracy 0.5, γ = 0.8 minus 0.3", matched_test_accuracy,
                     at=SMALL, minus=Other("the accuracy itself, γ = 0.3", at=LARGE),
                     holds=above(0, margin=0.05),
                     reason="no effect; one held-out sum in twenty is not relevant", scale=SHARE,
                     unit="{} of the sums"),
        ],
        shown=[
            *(Endpoint(f"the accuracy itself, γ = {rate:g}", matched_test_accuracy, at=rate, scale=SHARE,
                       step=ACCURACY)
              for rate in (LARGE, 0.5, SMALL)),
        ],
    ),
    Claim(
        40, "the held-out loss stays",
        paper="at γ = 0.3 the loss of the held-out sums “remains effectively unchanged”",
        statement="With γ = 0.3 the loss of the held-out sums remains effectively unchanged.",
        section="3.1, Fig. 3A", settings=NORMED,
        endpoints=[
            Endpoint("held-out loss at training accuracy 0.9 minus that of a guess, over ln N_Z, γ = 0.3",
                     partial(held_out_loss_change, since="guess"), at=LARGE, holds=within(0.1),
                     unit="{} of ln N_Z",
                     reason="a tenth of Fig. 3A's axis is the least that a reader can see; before "
                            "training the loss is above that of a guess"),
            Endpoint("held-out loss at training accuracy 0.9 minus that before training, over ln N_Z, γ "
                     "= 0.3", held_out_loss_change, at=LARGE, holds=within(0.1),
                     reason="a tenth of Fig. 3A's axis is the least that a reader can see"),
        ],
        shown=[
            Endpoint("the same at γ = 0.8", held_out_loss_change, at=SMALL),
            Endpoint("highest reasoning test accuracy, a lower bound until reasoning train is fitted",
                     best_test_accuracy, at=LARGE, minus=SMALL, scale=SHARE),
        ],
    ),
)
