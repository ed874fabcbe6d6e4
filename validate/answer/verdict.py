"""From measured conditions to a verdict: whether the theory predicts a task's embedding.

The verdict is *holds* if every condition is met and both controls miss theirs, each with its whole interval
on that side; *does not hold* if a condition is missed with its whole interval; and *undecided* otherwise: if
a run has learned nothing, the embedding has not moved, there is one seed, an interval crosses its threshold,
or a control is missing or passes.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Literal

from validate.answer import conditions as on
from validate.claims.statements import Condition
from validate.claims.verdicts import Outcome, outcome_on
from validate.groups import Setting

Verdict = Literal["holds", "does not hold", "undecided"]
CRITICAL = 0.5
"""The γ between small and large initial weights (the paper's condition is γ > 1/2)."""
LONGER, MORE_SEEDS = "train longer", "train more seeds"
"""How a reason ends if training can change it."""


def pick(settings: Sequence[Setting], preferred: float, otherwise: Callable[..., Setting]) -> Setting | None:
    """Return the setting at the γ that the claims are about, or the most extreme one."""
    if not settings:
        return None
    chosen = [s for s in settings if s.init_rate == preferred]
    return chosen[0] if chosen else otherwise(settings, key=lambda s: s.init_rate)


def measure(condition: Condition, setting: Setting) -> Outcome:
    """Return what became of a condition on a setting's runs."""
    return outcome_on(on.CLAIM, condition, {("", setting.init_rate): setting.runs})


def judge(small: Setting | None, control: Setting | None, outcomes: Sequence[Outcome]) -> tuple[Verdict, str]:
    """Return the verdict and the reason, from every condition that could be measured."""
    if small is None:
        return "undecided", f"there are no runs with small initial weights (γ > {CRITICAL:g})"
    if not outcomes:
        return "undecided", "cosines need at least three anchors"
    of = {id(o.condition): o for o in outcomes}
    learned = [o for o in outcomes if o.condition is on.LEARNED]
    reason = _not_ready(small, learned[0], of[id(on.MOVED)])
    if reason:
        return "undecided", reason
    judged = [of[id(c)] for c in on.CONDITIONS]
    missed = [o for o in judged if state(o) == "missed"]
    if missed:
        reasons = "; ".join(f"{o.condition.what} is {told(o)}" for o in missed)
        return "does not hold", _only_the_size(
            judged
        ) * "the pattern is predicted, its size is not: " + reasons
    open_ = [o for o in judged if state(o) == "open"]
    if open_:
        return "undecided", _unclear(open_[0])
    return _controlled(control, of, learned[1:])


def _only_the_size(judged: Sequence[Outcome]) -> bool:
    """Return whether all is met that asks for a pattern, so that only the size of the cosines is off."""
    about_size = {id(on.SKILFUL), id(on.ABOVE_MEAN)}
    return all(state(o) == "met" for o in judged if id(o.condition) not in about_size)


def _not_ready(small: Setting, learned: Outcome, moved: Outcome) -> str:
    """Return why nothing can be said of a setting yet; empty if it can."""
    rate = f"γ = {small.init_rate:g}"
    if min(learned.numbers) < learned.condition.threshold or not learned.defined:
        return f"the runs at {rate} have learned too little: {_shortfall(learned)}; {LONGER}"
    if min(moved.numbers) < moved.condition.threshold or not moved.defined:
        return f"the embedding at {rate} has hardly moved: {_shortfall(moved)}; {LONGER}"
    return ""


def _shortfall(outcome: Outcome) -> str:
    worst = min((v for v in outcome.numbers if math.isfinite(v)), default=math.nan)
    needed = f"at least {outcome.condition.threshold:g} is needed"
    return f"{outcome.condition.what} is {worst:.2f} in one of them, {needed}"


def _controlled(
    control: Setting | None, of: dict[int, Outcome], learned: Sequence[Outcome]
) -> tuple[Verdict, str]:
    """Judge the controls, where every condition is met."""
    if control is None:
        return "undecided", "every condition is met, but the control with large initial weights is missing"
    if not learned[0].holds or min(learned[0].numbers) < learned[0].condition.threshold:
        return "undecided", f"the control has learned too little: {_shortfall(learned[0])}; {LONGER}"
    for outcome in (of[id(on.SCRAMBLED)], of[id(on.AT_LARGE)]):
        if state(outcome) == "met":
            return "undecided", f"a control passes too: {outcome.condition.what} is {told(outcome)}"
        if state(outcome) == "open":
            return "undecided", _unclear(outcome)
    return "holds", "every condition is met, and both controls miss theirs"


def state(outcome: Outcome) -> Literal["met", "missed", "open"]:
    """Return on which side of its threshold a whole interval lies; open if on neither, or without one."""
    if not outcome.defined or not outcome.clear:
        return "open"
    return "met" if outcome.holds else "missed"


def told(outcome: Outcome) -> str:
    """Return an estimate beside its threshold."""
    c = outcome.condition
    return f"{outcome.estimate.brief} where {c.relation} {c.threshold:g} is needed"


def _unclear(outcome: Outcome) -> str:
    what = outcome.condition.what
    if not outcome.defined:
        return f"{what} is not defined for every seed"
    if outcome.estimate.n == 1:
        return f"one seed has no interval ({what} is {outcome.estimate.mean:.2f}); {MORE_SEEDS}"
    return f"the interval of {what} crosses its threshold: {told(outcome)}; {MORE_SEEDS}"
