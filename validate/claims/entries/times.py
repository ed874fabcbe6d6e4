"""Claim 39: when each thing is learned, predicted without training."""

from __future__ import annotations

from validate.claims.entries.learning import TENTH
from validate.claims.measures.learning_times import (
    matched_off,
    times_explained,
    times_guessed,
    times_one_sided,
)
from validate.claims.settings import EMB_MLP, of
from validate.claims.statements import ALL_VARIANTS, Claim, Condition, Needs, each, each_seed, with_control
from validate.judge.stats import SHARE

R_SQUARED = (float("-inf"), 1.0)
_SUM = 1 / 100
"""The share of one held-out input: a pair that is one input in both orders, with each of 100 keys."""
_RATES = {"optimisers": ("adamw", (0.3, 0.5, 0.8)), "learning-times": ("adamw-slow", (0.6,))}


def _times(study: str) -> tuple[Condition, ...]:
    """Return what the claim asks of the times of a study's settings."""
    needs = Needs(study, variants=ALL_VARIANTS)
    reached = Condition(
        "R² of the predicted log2 steps to half accuracy, over settings and data sets",
        each_seed(times_explained),
        ">=",
        0.9,
        R_SQUARED,
        "nine tenths of what sets the times of settings apart; nothing is fitted",
        needs,
    )
    one_sided = Condition(
        "share of data sets that only one of run and prediction fits by the end",
        each_seed(times_one_sided),
        "<=",
        0.1,
        SHARE,
        TENTH,
        needs,
        step=1 / 18,  # Three data sets at each of six settings, in both studies.
    )
    control = with_control(
        reached,
        "what can be guessed from the other settings is no prediction",
        measure=each_seed(times_guessed),
        what="the same of the best of three guesses fitted on the other settings",
    )
    return *control, one_sided


def _matched(study: str) -> tuple[Condition, ...]:
    """Return what it asks of the test accuracy at a training accuracy of one half."""
    variant, rates = _RATES[study]
    return tuple(
        Condition(
            f"|predicted − observed| test accuracy when reasoning train passes 0.5, AdamW 1e-4, γ = {rate:g}",
            each(matched_off),
            "<=",
            0.1,
            SHARE,
            TENTH,
            Needs(study, (rate,), (variant,)),
            step=_SUM,
        )
        for rate in rates
    )


CLAIMS = (
    Claim(
        "when each thing is learned",
        "The steps after which memory and reasoning are half learned follow from task, γ, widths, optimiser "
        "and rate, without training.",
        of(EMB_MLP, [c for study in _RATES for c in (*_times(study), *_matched(study))]),
        39,
        "Fig. 3B",
    ),
)
