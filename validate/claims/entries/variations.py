"""Claims 16, 18 and 21: other memory tasks, learning rates and optimisers."""

from __future__ import annotations

from validate.claims.entries.learning import ONE_DOUBLING
from validate.claims.measures.geometry import memory_gap
from validate.claims.measures.learning import (
    Seed,
    bias_gap,
    first_loss_lead,
    greatest_lead_at_large,
    learned_variants,
    least_gain,
    least_lead,
    loss_lead,
    share_gaining,
    spike_at,
)
from validate.claims.statements import (
    ALL_VARIANTS,
    LARGE,
    SMALL,
    Claim,
    Condition,
    Measure,
    Needs,
    each,
    each_seed,
    with_control,
)
from validate.observe import Observations
from validate.stats import ANY, SHARE, SIZE
from validate.times import doublings

DIFFERENCE = (-2.0, 2.0)


def _window_first(variant: str) -> tuple[Condition, ...]:
    needs = Needs("fig8-memory", (SMALL,), (variant,))

    def lead(run: Observations) -> float:
        return loss_lead(run, "mem1", "mem2")

    def lead_in_time(run: Observations) -> float:
        return doublings(run, "mem1", "mem2")

    def before_training(run: Observations) -> float:
        return first_loss_lead(run, "mem1", "mem2")

    lower = Condition(
        "loss of F_mem,1 above that of F_mem,2, mean over the run, share of ln N_Z",
        each(lead),
        ">=",
        0.1,
        ANY,
        "a tenth of the loss that knowing nothing costs",
        needs,
    )
    earlier = Condition(
        "log2 of the times to fit F_mem,1 over F_mem,2",
        each(lead_in_time),
        ">=",
        1.0,
        ANY,
        ONE_DOUBLING,
        needs,
    )
    return (
        *with_control(
            lower,
            "before training nothing is learned",
            measure=each(before_training),
            what="the same before training",
        ),
        earlier,
    )


def _learned_count(seed: Seed) -> float:
    return float(len(learned_variants(seed)))


_RATES = Needs("learning-rates", (LARGE, SMALL), ALL_VARIANTS)
_LEAD = Condition(
    "least log2 of the times to fit memory over reasoning test, γ = 0.8, over rates that learned",
    each_seed(least_lead),
    ">=",
    1.0,
    ANY,
    ONE_DOUBLING,
    _RATES,
)
_SPIKE = Condition(
    "greatest rise of a training loss at the highest rate, units of ln N_Z",
    each_seed(spike_at(1.0)),
    ">=",
    0.5,
    SIZE,
    "half of what knowing nothing costs: much of what was learned is lost again",
    _RATES,
)


def _forgets(what: str, measure: Measure) -> tuple[Condition, ...]:
    condition = Condition(
        what,
        measure,
        "<=",
        0.1,
        (0.0, 2.0),
        "a tenth of what separates all from none",
        Needs("optimisers", (LARGE, SMALL), ("adamw",)),
    )
    sgd = Needs("optimisers", (LARGE, SMALL), ("sgd",))
    return with_control(condition, "under SGD, which rescales no step, the scale must matter", needs=sgd)


VARIATIONS = (
    Claim(
        "windows before tables",
        "A memory task whose labels depend on key and anchors in distribution is learned faster than one "
        "whose labels do not.",
        (*_window_first("emb-mlp"), *_window_first("transformer")),
        16,
        "3.5, Fig. 8 left",
    ),
    Claim(
        "the bias at every learning rate",
        "The bias is the same over a range of learning rates, at whose top the training loss spikes.",
        (
            *with_control(
                _LEAD,
                "at γ = 0.3 no rate shows it",
                measure=each_seed(greatest_lead_at_large),
                what="greatest such log2 at γ = 0.3",
            ),
            Condition(
                "least excess of the bias at γ = 0.8 over that at 0.3, over rates that learned",
                each_seed(least_gain),
                ">",
                0.0,
                DIFFERENCE,
                "the sign of the effect",
                _RATES,
            ),
            *with_control(
                _SPIKE,
                "only the top of the range spikes",
                measure=each_seed(spike_at(0.5)),
                what="the same at the middle rate",
            ),
            Condition("rates that learned", each_seed(_learned_count), needs=_RATES, role="note"),
            Condition(
                "share of norm placements and rates that learned whose bias is greater at γ = 0.8",
                each_seed(share_gaining),
                within=SHARE,
                needs=Needs("norms", (LARGE, SMALL), ALL_VARIANTS),
                role="note",
            ),
        ),
        18,
        "App. G, Fig. 17",
    ),
    Claim(
        "AdamW forgets the scale",
        "Said against the paper: under AdamW the initial scale changes neither what is learned first nor the "
        "embedding.",
        (
            *_forgets("|bias at γ = 0.8 minus bias at 0.3|", each_seed(bias_gap)),
            *_forgets(
                "|mean cosine among memory anchors at γ = 0.8 minus that at 0.3|, at the end",
                each_seed(memory_gap),
            ),
        ),
        21,
        "opposing",
        opposing=True,
    ),
)
