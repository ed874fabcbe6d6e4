"""Claims 1-4 and 17: what is learned when, at large and at small initial weights."""

from __future__ import annotations

from validate.claims.measures.learning import (
    best_test_accuracy,
    crossover,
    scrambled_trend,
    trend,
    unlike,
    unlike_at_least,
)
from validate.claims.statements import LARGE, SMALL, Claim, Condition, Needs, each, each_seed, with_control
from validate.observe import Observations
from validate.stats import ANY, COSINE, SHARE, SIZE
from validate.times import doublings

ONE_DOUBLING = "a factor of two parts what is learned together from what is learned one after the other"
SPEARMAN_7 = 0.714
"""Spearman's correlation that seven values reach with probability 0.05 when nothing connects them."""


def memorises(study: str) -> tuple[Condition, ...]:
    """Return what claim 1 asks of a study: at γ = 0.3 both training sets fitted alike, the test set not."""
    large, small = Needs(study, (LARGE,)), Needs(study, (SMALL,))
    alike = Condition(
        "|log2| of the times to fit memory and reasoning train",
        each(unlike),
        "<=",
        1.0,
        SIZE,
        ONE_DOUBLING,
        large,
    )
    unlearned = Condition(
        "highest reasoning test accuracy",
        each(best_test_accuracy),
        "<=",
        0.1,
        SHARE,
        "a tenth of a fitted set; ten times chance",
        large,
    )
    apart = "at γ = 0.8 they are not fitted alike; a set that is never fitted gives the least it can be"
    return (
        *with_control(alike, apart, needs=small, measure=each(unlike_at_least)),
        *with_control(unlearned, "at γ = 0.8 it is learned", needs=small),
    )


def _long(variant: str) -> tuple[Condition, ...]:
    """Return what 90 epochs at γ = 0.3 say of claim 1: notes, because it had a verdict before them."""
    needs = Needs("long", (LARGE,), (variant,))
    return (
        Condition(
            "|log2| of the times to fit memory and reasoning train, at least",
            each(unlike_at_least),
            within=SIZE,
            needs=needs,
            role="note",
        ),
        Condition(
            "highest reasoning test accuracy",
            each(best_test_accuracy),
            within=SHARE,
            needs=needs,
            role="note",
        ),
    )


def reasons_first(study: str) -> tuple[Condition, ...]:
    """Return what claim 2 asks of a study: at γ = 0.8 both reasoning sets learned before memory."""
    return (
        *_before_memory(study, "reasoning train", "rsn_train"),
        *_before_memory(study, "reasoning test", "rsn_test"),
    )


def _before_memory(study: str, name: str, data: str) -> tuple[Condition, ...]:
    def lead(run: Observations) -> float:
        return doublings(run, "mem", data)

    condition = Condition(
        f"log2 of the times to fit memory over {name}",
        each(lead),
        ">=",
        1.0,
        ANY,
        ONE_DOUBLING,
        Needs(study, (SMALL,)),
    )
    return with_control(condition, "at γ = 0.3 it is not ahead", needs=Needs(study, (LARGE,)))


_SCAN = Needs("scan", least_rates=7)
_CROSSOVER = "γ at which the bias changes sign"
LEARNING = (
    Claim(
        "large weights memorise",
        "With γ = 0.3 the Transformer fits memory and reasoning training data alike, and the test data not.",
        (*memorises("transformer"), *_long("pre-1e-4"), *_long("pre-3e-4")),
        1,
        "3.1, Fig. 3A",
    ),
    Claim(
        "small weights reason first",
        "With γ = 0.8 the Transformer learns reasoning, held-out combinations included, before it memorises.",
        reasons_first("transformer"),
        2,
        "3.1, Fig. 3A",
    ),
    Claim(
        "the bias grows with γ",
        "The smaller the initial weights, the stronger the preference for reasoning.",
        (
            *with_control(
                Condition(
                    "Spearman of γ and bias",
                    each_seed(trend),
                    ">=",
                    SPEARMAN_7,
                    COSINE,
                    "seven unconnected values reach it once in twenty times, more values less often",
                    _SCAN,
                ),
                "the order of γ is gone",
                measure=each_seed(scrambled_trend),
                what="the same, γ scrambled",
            ),
            Condition(
                _CROSSOVER,
                each_seed(crossover),
                ">",
                LARGE,
                ANY,
                "at γ = 0.3 the paper sees no bias",
                _SCAN,
            ),
            Condition(
                _CROSSOVER,
                each_seed(crossover),
                "<",
                SMALL,
                ANY,
                "at γ = 0.8 it does",
                _SCAN,
            ),
        ),
        3,
        "3.1",
    ),
    Claim(
        "the same in the Emb-MLP",
        "The Emb-MLP learns reasoning first with γ = 0.8 and memorises with γ = 0.3.",
        (*reasons_first("emb-mlp"), *memorises("emb-mlp")),
        4,
        "3.2, Fig. 3B",
    ),
    Claim(
        "the bias without layer norm",
        "Without layer norm small weights still favour reasoning, and large ones do not.",
        (*reasons_first("no-norm"), *memorises("no-norm")),
        17,
        "App. F, Fig. 16",
    ),
)
