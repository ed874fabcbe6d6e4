"""From runs to one answer: whether the theory predicts this task's embedding.

The verdict is *holds* if every condition is met and both controls miss theirs, each with its whole interval
on that side; *does not hold* if a condition is missed with its whole interval; and *undecided* otherwise: if
a run has learned nothing, the embedding has not moved, there is one seed, an interval crosses its threshold,
or a control is missing or passes.
"""

from __future__ import annotations

import json
import math
from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Literal

from sim.runs.run import Run
from theory.checked import checked
from theory.paths import PathLike
from validate.answer import conditions as on
from validate.claims.statements import LARGE, SMALL, Condition
from validate.claims.verdicts import Outcome, outcome_on
from validate.settings import Setting, as_settings
from validate.times import early_epoch

Verdict = Literal["holds", "does not hold", "undecided"]
CRITICAL = 0.5
"""The γ between small and large initial weights (the paper's condition is γ > 1/2)."""


@dataclass(frozen=True, repr=False)
class Answer:
    """What some runs of one task and model say, and how surely.

    Attributes
    ----------
    settings : tuple of Setting
        All of them, alike in all but γ and seed, small γ first.
    small, control : Setting or None
        The runs on which the verdict is made, and those with large initial weights beside them.
    outcomes : tuple of Outcome
        Every condition that could be measured.
    verdict : {"holds", "does not hold", "undecided"}
    why : str
        The reason, in a sentence.
    """

    settings: tuple[Setting, ...]
    small: Setting | None
    control: Setting | None
    outcomes: tuple[Outcome, ...]
    verdict: Verdict
    why: str

    def __str__(self) -> str:
        from validate.answer.words import missing_command, sentence, verdict_line

        command = missing_command(self)
        missing = f"\nwhat is missing: {command}" if command else ""
        return f"{sentence(self)}.\nverdict: {verdict_line(self)}.{missing}"

    def __repr__(self) -> str:
        return f"Answer({self.verdict}: {self.why})"

    def outcome(self, condition: Condition) -> Outcome:
        """Return what became of a condition."""
        return next(o for o in self.outcomes if o.condition is condition)


@checked
def answers(runs: PathLike | Iterable[Setting | Run | PathLike]) -> list[Answer]:
    """Return whether the theory predicts the embedding, once for each task and model.

    Parameters
    ----------
    runs : path, or iterable of Setting, Run or path
        What was trained: run folders, folders of them, or what ``sim.train`` returned.

    Returns
    -------
    list of Answer
        One for each group of runs that differ in nothing but γ and seed; ``print`` shows it in words.
    """
    families: dict[str, list[Setting]] = defaultdict(list)
    for setting in as_settings(runs):
        config = setting.runs[0].config
        families[
            json.dumps(config.model_dump(mode="json", exclude={"seed", "init_rate"}), sort_keys=True)
        ].append(setting)
    return [_answer(tuple(sorted(found, key=lambda s: s.init_rate))) for found in families.values()]


def early_epochs(setting: Setting) -> list[int]:
    """Return the early epoch of each run of a setting."""
    return [early_epoch(run) for run in setting.members.runs]


def _answer(settings: tuple[Setting, ...]) -> Answer:
    small = _pick([s for s in settings if s.init_rate > CRITICAL], SMALL, max)
    control = _pick([s for s in settings if s.init_rate < CRITICAL], LARGE, min)
    outcomes = tuple(
        _measure(condition, setting)
        for setting, wanted in ((small, on.CLAIM.conditions[:-1]), (control, (on.LEARNED, on.AT_LARGE)))
        if setting is not None and len(setting.task.anchors) > 2
        for condition in wanted
    )
    verdict, why = _judge(small, control, outcomes)
    return Answer(settings, small, control, outcomes, verdict, why)


def _pick(settings: Sequence[Setting], preferred: float, otherwise: Callable[..., Setting]) -> Setting | None:
    """Return the setting at the γ that the claims are about, or the most extreme one."""
    if not settings:
        return None
    chosen = [s for s in settings if s.init_rate == preferred]
    return chosen[0] if chosen else otherwise(settings, key=lambda s: s.init_rate)


def _measure(condition: Condition, setting: Setting) -> Outcome:
    return outcome_on(on.CLAIM, condition, {("", setting.init_rate): setting.members.runs})


def _judge(
    small: Setting | None, control: Setting | None, outcomes: Sequence[Outcome]
) -> tuple[Verdict, str]:
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
        return f"the runs at {rate} have learned too little: {_shortfall(learned)}; train longer"
    if min(moved.numbers) < moved.condition.threshold or not moved.defined:
        return f"the embedding at {rate} has hardly moved: {_shortfall(moved)}; train longer"
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
        return "undecided", f"the control has learned too little: {_shortfall(learned[0])}; train longer"
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
        return f"one seed has no interval ({what} is {outcome.estimate.mean:.2f}); train more seeds"
    return f"the interval of {what} crosses its threshold: {told(outcome)}; train more seeds"
