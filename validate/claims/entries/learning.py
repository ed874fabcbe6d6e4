"""Claims 1-4, 17 and 25: what is learned when, at large and at small initial weights."""

from __future__ import annotations

from dataclasses import replace

from validate.claims.measures.learning import (
    best_test_accuracy,
    crossover,
    first_trend,
    least_matched_rise,
    matched_rise,
    matched_test_accuracy,
    trend,
    unlike_learnable,
    unlike_range,
)
from validate.claims.measures.order import spearman_step
from validate.claims.settings import EMB_MLP, NONE, NORMED, PRE, QUARTER, TRANSFORMERS, at, of
from validate.claims.statements import (
    LARGE,
    SMALL,
    Claim,
    Condition,
    Needs,
    each,
    each_seed,
    note,
    with_control,
)
from validate.judge.stats import ANY, COSINE, SHARE, SIZE
from validate.judge.times import doublings_range
from validate.observe import Observations

ONE_DOUBLING = "a factor of two separates what is learned together from what is learned one after the other"
TENTH = "a tenth of what separates none from all"
SPEARMAN_7 = 0.714
"""Spearman's correlation that seven values reach with probability 0.05 when nothing connects them."""
DIFFERENCE = (-2.0, 2.0)
"""What a difference of two biases can be, each in [−1, 1]."""
_OF_SHARES = (-1.0, 1.0)
QUARTER_WITHOUT_NORM = "group-no-norm-small"


def accuracy_step(study: str) -> float:
    """Return the share of one sequence among those that an accuracy is judged by.

    The Emb-MLP's held-out sums are 100 inputs: a pair of anchors in both orders is one, with each of 100
    keys. Transformers are judged by 4000 sequences or more, at a quarter of the size by some 200.
    """
    steps = dict.fromkeys((EMB_MLP.study, "causal", "frozen-long", "emb-mlp-noise"), 1 / 100)
    steps |= dict.fromkeys((QUARTER.study, QUARTER_WITHOUT_NORM), 1 / 200)
    return steps.get(study, 1 / 4000)


def memorises(study: str) -> tuple[Condition, ...]:
    """Return what claim 1 asks of a study: at γ = 0.3 both training sets fitted alike, the test set not."""
    large, small = Needs(study, (LARGE,)), Needs(study, (SMALL,))
    what = "|log2| of the times to fit memory and reasoning train"
    alike = Condition(what, each(unlike_range), "<=", 1.0, SIZE, ONE_DOUBLING, large)
    what = "highest reasoning test accuracy, a lower bound until reasoning train is fitted"
    reason = f"{TENTH}; ten times chance"
    step = accuracy_step(study)
    unlearned = Condition(what, each(best_test_accuracy), "<=", 0.1, SHARE, reason, large, step=step)
    return (
        *with_control(alike, "at γ = 0.8 reasoning comes first", needs=small),
        *with_control(unlearned, "at γ = 0.8 it is learned", needs=small),
    )


def _half_of_learnable(study: str) -> Condition:
    """Return how far apart the two are if half of the table is half of what summed embeddings can learn."""
    what = "|log2| of the times to fit half of what can be learned of memory, and reasoning train"
    return note(what, each(unlike_learnable), Needs(study, (LARGE,)), SIZE)


def reasons_first(study: str) -> tuple[Condition, ...]:
    """Return what claim 2 asks of a study: at γ = 0.8 both reasoning sets learned before memory."""
    return (
        *_before_memory(study, "reasoning train", "rsn_train"),
        *_before_memory(study, "reasoning test", "rsn_test"),
    )


def _before_memory(study: str, name: str, data: str) -> tuple[Condition, ...]:
    lead = each(lambda run: doublings_range(run, "mem", data))
    what = f"log2 of the times to fit memory over {name}"
    condition = Condition(what, lead, ">=", 1.0, ANY, ONE_DOUBLING, Needs(study, (SMALL,)))
    return with_control(condition, "at γ = 0.3 it is not ahead", needs=Needs(study, (LARGE,)))


def _biased(study: str) -> tuple[Condition, ...]:
    """Return what claim 17 asks of a study: what claims 2 and 1 do."""
    return (*reasons_first(study), *memorises(study))


def _matched(study: str) -> tuple[Condition, ...]:
    """Return what claim 25 asks of a study, and the accuracy at each γ beside it."""
    rise = Condition(
        "least rise from γ = 0.3 to 0.8 of the test accuracy when reasoning train passes 0.5",
        each_seed(least_matched_rise),
        ">",
        0.0,
        _OF_SHARES,
        "the sign; at one training accuracy speed is out of it, and the least that it can be between two "
        "evaluations does not depend on how the accuracies run there",
        Needs(study, (LARGE, SMALL)),
    )
    linear = note("the same, linear between evaluations", each_seed(matched_rise), rise.needs, _OF_SHARES)
    return rise, linear, *(_matched_at(study, rate) for rate in (LARGE, 0.5, SMALL))


def _matched_at(study: str, rate: float) -> Condition:
    def accuracy(run: Observations) -> float:
        return matched_test_accuracy(run)

    found = note(f"the accuracy itself, γ = {rate:g}", each(accuracy), Needs(study, (rate,)), SHARE)
    return replace(found, step=accuracy_step(study))


def _grows(study: str) -> tuple[Condition, ...]:
    """Return what claim 3 asks of a study over seven γ."""
    over = Needs(study, least_rates=7)
    rises = Condition(
        "Spearman of γ and bias, undefined if a run learned nothing",
        each_seed(trend),
        ">=",
        SPEARMAN_7,
        COSINE,
        "seven unconnected values reach it once in twenty times",
        over,
        step=spearman_step(7),
    )
    changes = "γ at which the bias changes sign"
    return (
        *with_control(
            rises,
            "before training nothing depends on γ",
            measure=each_seed(first_trend),
            what="the same of the accuracies before training",
        ),
        Condition(changes, each_seed(crossover), ">", LARGE, ANY, "at γ = 0.3 the paper sees no bias", over),
        Condition(changes, each_seed(crossover), "<", SMALL, ANY, "at γ = 0.8 it does", over),
    )


CLAIMS = (
    Claim(
        "large weights memorise",
        "With γ = 0.3 the Transformer fits memory and reasoning training data alike, and the test data not.",
        at(NORMED, memorises),
        1,
        "3.1, Fig. 3A",
    ),
    Claim(
        "small weights reason first",
        "With γ = 0.8 the Transformer learns reasoning, held-out combinations included, before it memorises.",
        at(NORMED, reasons_first),
        2,
        "3.1, Fig. 3A",
    ),
    Claim(
        "the bias grows with γ",
        "The smaller the initial weights, the stronger the preference for reasoning.",
        (*of(QUARTER, _grows(QUARTER.study)), *of(PRE, _grows("scan"))),
        3,
        "3.1",
    ),
    Claim(
        "the same in the Emb-MLP",
        "The Emb-MLP learns reasoning first with γ = 0.8 and memorises with γ = 0.3.",
        at((EMB_MLP,), lambda study: (*reasons_first(study), *memorises(study), _half_of_learnable(study))),
        4,
        "3.2, Fig. 3B",
    ),
    Claim(
        "the bias without layer norm",
        "Without layer norm small weights still favour reasoning, and large ones do not.",
        (*at((NONE,), _biased), *of(QUARTER, _biased(QUARTER_WITHOUT_NORM))),
        17,
        "App. F, Fig. 16",
    ),
    Claim(
        "generalisation at equal fit",
        "At the same training accuracy, more of the held-out sums are right the smaller the initial weights.",
        at((*TRANSFORMERS, EMB_MLP), _matched),
        25,
        "3.1, free of speed",
    ),
)
