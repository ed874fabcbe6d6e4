"""What is claimed of a language model on two corpora; docs/claims.md says what was known at the time.

The first corpus is the one said to be learned first, PrOntoQA in the paper, the second the other.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from theory import InputError
from theory.checked import checked
from validate.claims.measures.language import (
    correlation_gain,
    cosine_contrast,
    cosine_correlation,
    loss_gap,
    two_corpora,
)
from validate.claims.statements import Claim, Condition, Needs, Sample, Seed, each, each_seed
from validate.claims.verdicts import Outcome, judge_claims
from validate.judge.groups import Setting
from validate.judge.stats import ANY, COSINE
from validate.observe import Observations

CORRELATED = 0.5
"""From which correlation cosines are called predicted: a quarter of their variance is."""
ROWS = {"tied": "rows of C + C^T", "bigram": "rows of C"}
"""The predictions that are put to the test: for a tied read-out, and for the embedding's own drive."""
_TWICE = (-2.0, 2.0)
_QUARTER = "a quarter of the variance"
_ALONE = "shuffled text keeps frequencies alone"
RunMeasure = Callable[[Observations], float]


def language_claims(
    small: float, large: float | None, names: tuple[str, str], study: str = "corpus"
) -> tuple[Claim, ...]:
    """Return the claims about runs at a small initial scale and, if there is one, at a large one.

    Parameters
    ----------
    small, large : float
        γ.
    names : tuple of str
        The two corpora.
    study : str, optional
        Whose runs.
    """
    first, second = names

    def at_small(
        what: str, measure: RunMeasure, threshold: float, within: tuple[float, float], reason: str
    ) -> Condition:
        return Condition(what, each(measure), ">", threshold, within, reason, Needs(study, (small,)))

    order = Claim(
        f"{first} is learned first",
        f"With small initial weights the loss on {first} is lower than on {second}, by more than their "
        "entropies differ.",
        (
            at_small("gap of losses (nats)", loss_gap, 0.0, ANY, "no gap"),
            at_small("gap above tokens' entropy", _gap("frequencies"), 0.0, ANY, "no gap"),
            at_small("gap above pairs' entropy", _gap("pairs"), 0.0, ANY, "no gap"),
        ),
    )
    contrast = Claim(
        f"words of {second} align more",
        f"Early, with small initial weights, the mean cosine among tokens of {second} is larger than among "
        f"those of {first}.",
        (at_small("difference of mean cosines", cosine_contrast, 0.0, _TWICE, "no difference"),),
    )
    predicted = [
        Claim(
            f"words of {name}: {ROWS[predictor]}",
            f"Before training, {ROWS[predictor]} predict the cosines of {name}'s words early in training.",
            (
                at_small(
                    "correlation",
                    _correlation(name, predictor),
                    CORRELATED,
                    COSINE,
                    _QUARTER,
                ),
                at_small("above shuffled text's", _gain(name, predictor, False), 0.0, _TWICE, _ALONE),
                at_small("the same, mean removed", _gain(name, predictor, True), 0.0, _TWICE, _ALONE),
            ),
        )
        for name in names
        for predictor in ROWS
    ]
    if large is None:
        return order, contrast, *predicted
    return order, _growing(small, large, study), contrast, *predicted


def _growing(small: float, large: float, study: str) -> Claim:
    """Return the claim that the gap is larger where the initial weights are smaller."""

    def rise(seed: Seed) -> float:
        return loss_gap(seed["", small]) - loss_gap(seed["", large])

    what = f"gap at γ = {small:g} less that at {large:g} (nats)"
    needs = Needs(study, (large, small), least_rates=2)
    condition = Condition(what, each_seed(rise), ">", 0.0, ANY, "no change", needs)
    return Claim(
        "the gap grows with γ",
        "The smaller the initial weights, the further the two losses lie apart.",
        (condition,),
    )


def _gap(known: str) -> RunMeasure:
    return lambda run: loss_gap(run, known)


def _correlation(name: str, predictor: str) -> RunMeasure:
    return lambda run: cosine_correlation(run, name, predictor)


def _gain(name: str, predictor: str, centred: bool) -> RunMeasure:
    return lambda run: correlation_gain(run, name, predictor, centred=centred)


@checked
def judge_language(settings: Sequence[Setting]) -> list[Outcome]:
    """Return the outcome of every condition on some runs of language models.

    The largest γ is taken for the small initial scale, the smallest for the large one.

    Raises
    ------
    InputError
        If two settings have the same γ, or a run does not have two corpora.
    """
    by_rate = {setting.init_rate: setting.runs for setting in settings}
    if len(by_rate) < len(settings):
        labels = [setting.label for setting in settings]
        raise InputError("runs", labels, "differ in more than γ and seed", "give runs of one configuration")
    rates = sorted(by_rate)
    names = two_corpora(settings[0].runs[0])

    def find(needs: Needs) -> Sample:
        return {("", rate): by_rate[rate] for rate in needs.init_rates}

    claims = language_claims(rates[-1], rates[0] if len(rates) > 1 else None, names)
    return [outcome for finding in judge_claims(claims, find) for outcome in finding.outcomes]
