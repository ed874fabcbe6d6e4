"""Claims 32-37: a language model on two corpora, PrOntoQA and TinyStories (Figs. 1, 7 and 14).

Conditions and thresholds are those of ``validate.claims.language``, which judges any two corpora; here they
get controls and the kept runs.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial

from validate.claims.language import language_claims
from validate.claims.measures.language import cosine_contrast, loss_gap, relative_gap, trend
from validate.claims.measures.order import spearman_step
from validate.claims.settings import LANGUAGE, of
from validate.claims.statements import LARGE, SMALL, Claim, Condition, Needs, Seed, each, each_seed, note
from validate.judge.stats import ANY, COSINE
from validate.observe import Observations

Names = tuple[str, str]


def _before_training(condition: Condition, known: str) -> tuple[Condition, Condition]:
    """Return a condition on losses with its control: the same before anything is learned."""
    part = f"{known} known"
    measure = each(partial(loss_gap, known=known, line=0))
    reason = "before training both losses are those of guessing"
    control = replace(
        condition, what="the same before training", measure=measure, role="control", part=part, reason=reason
    )
    return replace(condition, part=part), control


def _growth(plain: Condition) -> tuple[Condition, ...]:
    """Return conditions that the gap grows with γ: in nats, relatively, and above the pairs' entropies."""

    def rise(seed: Seed, known: str) -> float:
        return loss_gap(seed["", SMALL], known) - loss_gap(seed["", LARGE], known)

    def relative_rise(seed: Seed) -> float:
        return relative_gap(seed["", SMALL]) - relative_gap(seed["", LARGE])

    return (
        plain,
        replace(plain, what="ΔL at γ = 0.8 less that at 0.3", measure=each_seed(relative_rise)),
        note(
            "gap above pairs' entropy at γ = 0.8 less that at 0.3 (nats)",
            each_seed(partial(rise, known="pairs")),
            plain.needs,
            ANY,
        ),
    )


def _trend(what: str, measure: Callable[[Observations], float]) -> Condition:
    """Return the condition that a measure rises with γ, over at least three values of γ."""
    return Condition(
        f"rank correlation of γ and {what}",
        each_seed(partial(trend, measure=measure)),
        ">",
        0.0,
        COSINE,
        "no trend",
        Needs(LANGUAGE.study, least_rates=3),
        step=spearman_step(4),  # The study has four γ.
    )


def _contrast(condition: Condition) -> tuple[Condition, ...]:
    """Return a contrast of mean cosines, and the same at the large initial scale as its control."""
    at_large = Needs(LANGUAGE.study, (LARGE,))
    reason = "at γ = 0.3 the paper sees no such contrast (Fig. 14)"
    control = replace(condition, what="the same at γ = 0.3", role="control", reason=reason, needs=at_large)
    return condition, control


def _matched(plain: Condition) -> tuple[Condition, ...]:
    """Return the same over tokens of one corpus alone, in pairs of equal frequency."""
    what = f"{plain.what}, tokens of equal frequency"
    return _contrast(replace(plain, what=what, measure=each(partial(cosine_contrast, matched=True))))


def _predicted(names: Names, claims: Sequence[Claim]) -> tuple[Condition, ...]:
    """Return the conditions on the rows of C + Cᵀ, the prediction for a tied read-out, corpus by corpus."""
    tied = [claim for claim in claims if "C + C^T" in claim.name]
    return tuple(
        replace(condition, what=f"{name}: {condition.what}", part=name)
        for name, claim in zip(names, tied, strict=True)
        for condition in claim.conditions
    )


def _claim(claim: Claim, number: int, section: str, conditions: tuple[Condition, ...]) -> Claim:
    return replace(claim, number=number, section=section, conditions=of(LANGUAGE, conditions))


def claims_on(names: Names) -> tuple[Claim, ...]:
    """Return the claims on two corpora, the one said to be learned first in front."""
    order, growth, contrast, *predicted = language_claims(SMALL, LARGE, names, LANGUAGE.study)
    plain, tokens, pairs = order.conditions
    gaps = (plain, *_before_training(tokens, "frequencies"), *_before_training(pairs, "pairs"))
    return (
        _claim(order, 32, "3.4, Fig. 1", gaps),
        _claim(growth, 33, "3.4, Fig. 7A", _growth(*growth.conditions)),
        _claim(contrast, 34, "3.4, Figs. 7B, 14", _contrast(*contrast.conditions)),
        Claim(
            "counts predict the cosines of words",
            "Before training, rows of C + C^T predict the cosines of both corpora's words early in training.",
            of(LANGUAGE, _predicted(names, predicted)),
            35,
            "3.4, Fig. 7B, and the theory of a corpus",
        ),
        Claim(
            "more than frequency",
            f"Words of {names[1]} align more than words of {names[0]} that are as frequent.",
            of(LANGUAGE, _matched(*contrast.conditions)),
            36,
            "3.4, Fig. 7B",
        ),
        Claim(
            "both contrasts grow with γ",
            "Over all γ, the distance of the two losses and the contrast of the words' cosines grow with γ.",
            of(LANGUAGE, (_trend("ΔL", relative_gap), _trend("contrast of cosines", cosine_contrast))),
            37,
            "3.4, Figs. 7 and 14",
        ),
    )


CLAIMS = claims_on(("prontoqa", "tinystories"))
