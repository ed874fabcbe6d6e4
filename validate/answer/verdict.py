"""From measured conditions to a verdict: whether the theory predicts a task's embedding.

The verdict is *holds* if every condition is met and both controls miss theirs, each with its whole interval
on that side; *does not hold* if a condition is missed with its whole interval and with p < 5 % after Holm's
correction for the number of conditions; and *undecided* otherwise: if the prediction is the same for all
pairs of anchors, the model cannot learn the task, a run has learned nothing, the embedding has not moved,
there is one seed, an interval crosses its threshold, or a control is missing or passes.

One condition is enough for *does not hold*, so that without the correction six of them at their thresholds
would be refuted far more often than 5 % allows. *Holds* needs them all, which makes it no easier.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Literal

from validate.answer import conditions as on
from validate.claims.statements import Condition
from validate.claims.verdicts import LEVEL, Outcome, outcome_on
from validate.judge.ceiling import training_ceiling
from validate.judge.groups import Setting
from validate.judge.stats import holm
from validate.judge.times import learned_part

State = Literal["met", "missed", "open"]
Verdict = Literal["holds", "does not hold", "undecided"]
CRITICAL = 0.5
"""The γ between small and large initial weights (the paper's condition is γ > 1/2)."""
LONGER, MORE_SEEDS = "train longer", "train more seeds"
"""How a reason ends if training can change it."""
NO_RUN = "no run can decide"
"""How a reason begins if no training of such a model on such a task can change it."""


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
    given = small or control
    if given is not None and (reason := on.undecidable(given.runs[0])):
        return "undecided", f"{NO_RUN}: {reason}"
    if small is None:
        return "undecided", f"there are no runs with small initial weights (γ > {CRITICAL:g})"
    if not outcomes:
        return "undecided", "cosines need at least three anchors"
    of = {id(o.condition): o for o in outcomes}
    reason = _not_ready(small, of[id(on.LEARNED)], of[id(on.MOVED)])
    if reason:
        return "undecided", reason
    judged = [of[id(c)] for c in on.CONDITIONS]
    states = [state(o, judged) for o in judged]
    missed = [o for o, its in zip(judged, states, strict=True) if its == "missed"]
    if missed:
        reasons = "; ".join(f"{_subject(o)} is {told(o)} ({chance(p_value(o, judged))})" for o in missed)
        return "does not hold", _only_the_size(
            judged
        ) * "the pattern is predicted, its size is not: " + reasons
    if "open" in states:
        first = judged[states.index("open")]
        return "undecided", _unclear(first, p_value(first, judged))
    return _controlled(control, of)


def _only_the_size(judged: Sequence[Outcome]) -> bool:
    """Return whether all is met that asks for a pattern, so that only the size of the cosines is off."""
    about_size = {id(on.SKILFUL), id(on.ABOVE_MEAN)}
    return all(state(o, judged) == "met" for o in judged if id(o.condition) not in about_size)


def _not_ready(small: Setting, learned: Outcome, moved: Outcome) -> str:
    """Return why nothing can be said of a setting yet; empty if it can."""
    rate = f"γ = {small.init_rate:g}"
    if min(learned.numbers) < learned.condition.threshold or not learned.defined:
        if reason := _unfit(small, learned.condition.threshold):
            return f"{NO_RUN}: {reason}"
        return f"the runs at {rate} have learned too little: {_shortfall(learned)}; {LONGER}"
    if min(moved.numbers) < moved.condition.threshold or not moved.defined:
        return f"the embedding at {rate} has hardly moved: {_shortfall(moved)}; {LONGER}"
    return ""


def _unfit(setting: Setting, needed: float) -> str:
    """Return why a model cannot learn enough that reads no order; empty if it can, or reads it."""
    if setting.config.model.reads_order:
        return ""
    run = setting.runs[0]
    ceiling = training_ceiling(run.config, learned_part(run))
    if ceiling is None or (share := on.above_guessing(run, ceiling)) >= needed:
        return ""
    name = "Emb-MLP" if setting.kind == "emb-mlp" else f"{setting.kind!r} model"
    return (
        f"no {name} can fit the training data, whose labels depend on the order of the tokens: it sums what "
        f"it reads and gets at most {100 * ceiling:.0f} % right, {share:.2f} of the way from guessing to all "
        f"right where at least {needed:g} is needed; a Transformer reads the order: --model.kind transformer"
    )


def _shortfall(outcome: Outcome) -> str:
    worst = min((v for v in outcome.numbers if math.isfinite(v)), default=math.nan)
    needed = f"at least {outcome.condition.threshold:g} is needed"
    return f"{_subject(outcome)} is {worst:.2f} in one of them, {needed}"


def _controlled(control: Setting | None, of: dict[int, Outcome]) -> tuple[Verdict, str]:
    """Judge the controls, where every condition is met."""
    if control is None:
        return "undecided", "every condition is met, but the control with large initial weights is missing"
    learned = of[id(on.LEARNED_AT_LARGE)]
    if not learned.holds or min(learned.numbers) < learned.condition.threshold:
        return "undecided", f"the control has learned too little: {_shortfall(learned)}; {LONGER}"
    for outcome in (of[id(on.SCRAMBLED)], of[id(on.AT_LARGE)]):
        its = state(outcome, list(of.values()))
        if its == "met":
            return "undecided", f"a control passes too: {_subject(outcome)} is {told(outcome)}"
        if its == "open":
            return "undecided", _unclear(outcome, None)
    return "holds", "every condition is met, and both controls miss theirs"


def p_value(outcome: Outcome, outcomes: Sequence[Outcome]) -> float | None:
    """Return the p-value of one of the conditions among some outcomes, corrected for their number (Holm).

    None where nothing can be decided, and for a control or what has to be so before anything is judged: each
    of them is taken by its own interval. A condition on which nothing can be decided counts with p = 1.
    """
    judged = [o for o in outcomes if any(o.condition is condition for condition in on.CONDITIONS)]
    if math.isnan(outcome.p_value) or not any(o is outcome for o in judged):
        return None
    adjusted = holm([1.0 if math.isnan(o.p_value) else o.p_value for o in judged])
    return next(p for o, p in zip(judged, adjusted, strict=True) if o is outcome)


def state(outcome: Outcome, outcomes: Sequence[Outcome]) -> State:
    """Return on which side of its threshold an outcome among some outcomes is.

    Open if its interval lies on neither side or it has none, or if it is a condition on the far side whose
    corrected p-value is not below 5 %.
    """
    if not outcome.clear:
        return "open"
    if outcome.holds:
        return "met"
    p = p_value(outcome, outcomes)
    return "missed" if p is None or p < LEVEL else "open"


def chance(p: float | None) -> str:
    """Return a corrected p-value in words; nothing where there is none."""
    if p is None:
        return ""
    return "adjusted p < 0.001" if p < 0.001 else f"adjusted p = {p:.2g}"


def told(outcome: Outcome) -> str:
    """Return an estimate beside its threshold."""
    c = outcome.condition
    return f"{outcome.estimate.brief} where {c.relation} {c.threshold:g} is needed"


def _subject(outcome: Outcome) -> str:
    """Return a measure in words, as the beginning of a sentence: a remark in it ends with a comma."""
    what = outcome.condition.what
    return f"{what}," if ", " in what else what


def _unclear(outcome: Outcome, p: float | None) -> str:
    what = _subject(outcome)
    if not outcome.defined:
        return f"{what} is not defined for every seed"
    if outcome.estimate.n == 1:
        return f"one seed has no interval ({what} is {outcome.estimate.mean:.2f}); {MORE_SEEDS}"
    if math.isnan(outcome.p_value):
        return f"all seeds have the same value of {what} which has no interval: {told(outcome)}; {MORE_SEEDS}"
    if outcome.clear:
        why = f"not sure enough for one of {len(on.CONDITIONS)} conditions ({chance(p)})"
        return f"{what} is {told(outcome)}, but {why}; {MORE_SEEDS}"
    return f"the interval of {what} crosses its threshold: {told(outcome)}; {MORE_SEEDS}"
