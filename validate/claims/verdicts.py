"""From conditions to verdicts, one for each setting.

A condition *holds* if its mean over seeds lies beyond its threshold, *fails* if it lies on the other side,
and is *undecided* otherwise, by Student's t-test at 5 %. The p-values of all conditions and controls of a
claim at one setting that have runs are one family, adjusted by Holm's method; one that nothing can be decided
on counts with p = 1. One seed decides nothing, and neither do equal values of unknown resolution.
A bounded value (a run ended too early) enters the test by the end nearest to the threshold if both ends lie
on one side of it, the mean's; otherwise it leaves the condition *censored*: longer runs, or evaluations
closer together, would decide it, more seeds would not. What is not a number for some seed leaves it
*undefined*.

A control is the same measure where the claimed effect must be absent: it has to fail. A condition that holds
is *void* if a control of its part holds as well, and undecided unless every control of its part fails.

A claim holds at a setting if all of its conditions hold; it fails if some fail and none holds; it holds *in
part* if some fail and others hold; it is not tested without runs, and undecided otherwise.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, Literal

from sim.runs.files import finite
from theory.checked import checked
from theory.display import Shown
from validate.claims.settings import SETTINGS
from validate.claims.statements import Claim, Condition, Needs, Sample
from validate.judge.bounds import Bound, Value, ends, side, step_of
from validate.judge.stats import Estimate, holm, over_seeds, t_test
from validate.observe import NotObservedError, Observations
from validate.progress import track

State = Literal["holds", "fails", "undecided", "censored", "undefined", "void", "not tested", "reported"]
Verdict = Literal["holds", "holds in part", "fails", "undecided", "not tested"]
Find = Callable[[Needs], Sample]
"""Finds the runs that a condition needs, or raises ``MissingRunsError``."""
NOTHING = Estimate(math.nan, None, None, 0)
LEVEL = 0.05

OUTCOMES = ("state", "role", "setting", "measure", "threshold", "mean [95 %]", "n")


class MissingRunsError(LookupError):
    """There are no runs for a condition; the message says which, and the command that makes them."""


@dataclass(frozen=True, repr=False)
class Outcome(Shown):
    """A condition after the runs.

    Attributes
    ----------
    claim : Claim
    condition : Condition
    estimate : Estimate
        Mean over seeds with its interval, bounded values taken at their end nearest to the threshold.
    values : tuple of float or Bound
        One a seed; NaN where the measure is undefined.
    missing : str
        Why it could not be measured; empty if it was.
    absent : str
        How many of the study's seeds it was measured without, and why; empty if it had all.
    sources : dict
        Where the runs' settings come from: setting → paper, sibling, chosen or user.
    """

    claim: Claim
    condition: Condition
    estimate: Estimate
    values: tuple[Value, ...] = ()
    missing: str = ""
    absent: str = ""
    sources: Mapping[str, str] = field(default_factory=dict)

    @property
    def defined(self) -> bool:
        """Whether there are seeds and the measure is a number for each."""
        return 0 < self.estimate.n == len(self.values)

    @property
    def holds(self) -> bool:
        """Whether the mean meets the threshold."""
        return self.defined and self.condition.met(self.estimate.mean)

    @property
    def seeds_met(self) -> int:
        """How many seeds meet the threshold by themselves."""
        return sum(all(map(self.condition.met, ends(value))) for value in self.values)

    @property
    def clear(self) -> bool:
        """Whether the whole interval lies on the same side of the threshold as the mean.

        It says nothing where a bounded value may lie on the other side, nor where the seeds' values are equal
        and how much they vary is unknown. One computed number needs no interval.
        """
        if math.isnan(self.p_value):
            return False
        interval = (self.estimate.low, self.estimate.high)
        return self.exact or all(
            end is not None and self.condition.met(end) == self.holds for end in interval
        )

    @property
    def decision(self) -> Literal["holds", "fails", "undecided"]:
        """The condition by its own interval, whatever else its claim asks for."""
        return ("holds" if self.holds else "fails") if self.clear else "undecided"

    @property
    def open(self) -> bool:
        """Whether a bounded value may lie on the other side of the threshold than the mean.

        If all of it does, it is further from the mean's side than the end that stands for it.
        """
        bounds = [value for value in self.values if isinstance(value, Bound)]
        return any({*map(self.condition.met, ends(bound))} != {self.holds} for bound in bounds)

    @property
    def numbers(self) -> tuple[float, ...]:
        """One number a seed: of a bound, its end nearest to the threshold."""
        return tuple(_taken(value, self.condition) for value in self.values)

    @property
    def exact(self) -> bool:
        """Whether it is one computed number, which has no seeds and no interval."""
        return self.condition.needs is None and len(self.values) == 1

    @property
    def is_tested(self) -> bool:
        """Whether there are runs to decide on it by, and something is to be decided."""
        return not self.missing and self.condition.role != "note"

    @property
    def p_value(self) -> float:
        """The p-value of the mean against the threshold; NaN if nothing can be decided."""
        if not self.defined or self.open or self.condition.role == "note":
            return math.nan
        if self.exact:
            return 0.0
        return t_test(self.numbers, self.condition.threshold, _step(self.condition, self.values))

    @property
    def side(self) -> str:
        """Return ≥ or ≤ where the mean is a bound, else nothing."""
        return side(self.values, self.condition.within)

    def cells(self) -> list[str]:
        """Return its line in a table: claim, γ, measure, threshold, mean, seeds that meet it, decision."""
        c = self.condition
        return [
            self.claim.name,
            "both" if c.init_rate is None else f"{c.init_rate:g}",
            c.what,
            f"{c.relation} {c.threshold:g}",
            str(self.estimate),
            f"{self.seeds_met}/{self.estimate.n}",
            self.decision,
        ]

    def as_dict(self) -> dict[str, Any]:
        """Return plain data for JSON."""
        c = self.condition
        return {
            "claim": self.claim.name,
            "statement": self.claim.statement,
            "init_rate": c.init_rate,
            "measure": c.what,
            "relation": c.relation,
            "threshold": finite(c.threshold),
            "estimate": self.estimate.as_dict(),
            "seeds_met": self.seeds_met,
            "holds": self.holds,
            "clear": self.clear,
            "verdict": self.decision,
        }

    def _shown(self) -> tuple[str, tuple[str, ...], list[list[str]]]:
        row = self.row(self.decision)
        _, _, _, what, asked, mean, _ = row
        found = f"not tested ({self.missing})" if self.missing else f"{mean}, {self.decision}"
        return f"{self.claim.name}: {f'{what} {asked}'.rstrip()}: {found}", OUTCOMES, [row]

    def row(self, state: str) -> list[str]:
        """Return its line in a table of ``OUTCOMES``, with the state that it has among them."""
        c = self.condition
        # A mean over bounds says little by itself: these are shown, one a seed.
        found = ", ".join(map(str, self.values)) if self.side else str(self.estimate)
        known = ["not tested", self.missing] if self.missing else [state, found]
        return [known[0], c.role, c.setting, c.what, c.asked, known[1], str(self.estimate.n)]


@dataclass(frozen=True, repr=False)
class Finding(Shown):
    """A claim after the runs.

    Attributes
    ----------
    claim : Claim
    outcomes : tuple of Outcome
        In the order of the claim's conditions.
    """

    claim: Claim
    outcomes: tuple[Outcome, ...]

    @property
    def settings(self) -> tuple[str, ...]:
        """The labels of the settings that the claim is about, the likeliest first."""
        asked = {o.condition.setting for o in self.outcomes if o.condition.role == "claim"}
        known = [s.label for s in SETTINGS]
        return tuple(sorted(asked, key=lambda s: known.index(s) if s in known else len(known)))

    @cached_property
    def p_values(self) -> dict[int, float]:
        """The adjusted p-values, by the outcome's index in ``outcomes``; 1 if nothing can be decided."""
        found: dict[int, float] = {}
        for setting in {o.condition.setting for o in self.outcomes}:
            family = {
                i: 1.0 if math.isnan(o.p_value) else o.p_value
                for i, o in enumerate(self.outcomes)
                if o.condition.setting == setting and o.is_tested
            }
            found |= zip(family, holm(list(family.values())), strict=True)
        return found

    def p_value(self, outcome: Outcome) -> float | None:
        """Return the adjusted p-value of an outcome; None if nothing can be decided."""
        return None if math.isnan(outcome.p_value) else self.p_values.get(self._index(outcome))

    def state(self, outcome: Outcome) -> State:
        """Return the state of one of the conditions."""
        own = self._alone(outcome)
        if outcome.condition.role != "claim" or own != "holds":
            return own
        controls = [self._alone(o) for o in self.outcomes if _controls(o.condition, outcome.condition)]
        if "holds" in controls:
            return "void"
        return "holds" if all(state == "fails" for state in controls) else "undecided"

    def verdict_at(self, setting: str) -> Verdict:
        """Return the verdict at one setting; see the module's first lines."""
        asked = [o for o in self.outcomes if o.condition.setting == setting and o.condition.role == "claim"]
        states = [self.state(o) for o in asked]
        if all(state == "not tested" for state in states):
            return "not tested"
        if all(state == "holds" for state in states):
            return "holds"
        if "fails" in states:
            return "holds in part" if "holds" in states else "fails"
        return "undecided"

    @property
    def setting(self) -> str:
        """The likeliest setting that was tested; the likeliest of all if none was."""
        tested = [s for s in self.settings if self.verdict_at(s) != "not tested"]
        return (tested or [*self.settings])[0]

    @property
    def verdict(self) -> Verdict:
        """The verdict at the likeliest setting that was tested."""
        return self.verdict_at(self.setting)

    @property
    def against_the_paper(self) -> bool:
        """Whether the verdict speaks against the paper: its claim fails, or an opposing one holds."""
        return self.verdict == ("holds" if self.claim.opposing else "fails")

    def _index(self, outcome: Outcome) -> int:
        return next(i for i, other in enumerate(self.outcomes) if other is outcome)

    def _alone(self, outcome: Outcome) -> State:
        """Return the state of a condition or a control by itself."""
        if outcome.missing:
            return "not tested"
        if outcome.condition.role == "note":
            return "reported"
        if not outcome.defined:
            return "undefined"
        if outcome.open:
            return "censored"
        p_value = self.p_value(outcome)
        if p_value is None or p_value >= LEVEL:
            return "undecided"
        return "holds" if outcome.holds else "fails"

    def _shown(self) -> tuple[str, tuple[str, ...], list[list[str]]]:
        number = f"{self.claim.number}. " if self.claim.number else ""
        verdicts = ", ".join(
            f"{self.verdict_at(setting)}{f' ({setting})' if setting else ''}" for setting in self.settings
        )
        rows = [outcome.row(self.state(outcome)) for outcome in self.outcomes]
        return f"{number}{self.claim.name}: {verdicts or 'not tested'}", OUTCOMES, rows


def _controls(control: Condition, condition: Condition) -> bool:
    return control.role == "control" and (control.part, control.setting) == (
        condition.part,
        condition.setting,
    )


def _step(condition: Condition, values: Sequence[Value]) -> float:
    """Return how far apart neighbouring values of a measure are: its own step, or that of its bounds."""
    return max(condition.step, step_of(values))


def _taken(value: Value, condition: Condition) -> float:
    """Return the number that stands for a value in a mean: of a bound, the end nearest to the threshold."""
    return value.nearest(condition.threshold) if isinstance(value, Bound) else float(value)


@checked
def judge_claims(
    claims: Iterable[Claim], find: Find, absent: Callable[[Needs], str] = lambda needs: ""
) -> list[Finding]:
    """Measure every condition of some claims.

    Parameters
    ----------
    claims : iterable of Claim
    find : callable
        Finds the runs that a condition needs, or raises ``MissingRunsError``.
    absent : callable, optional
        From what a condition needs to the seeds that were not found, in words; empty if all were.
    """
    return [
        Finding(claim, tuple(_outcome(claim, c, find, absent) for c in claim.conditions))
        for claim in track(list(claims), "judging claims")
    ]


def _outcome(claim: Claim, condition: Condition, find: Find, absent: Callable[[Needs], str]) -> Outcome:
    needs = condition.needs
    try:
        found = outcome_on(claim, condition, find(needs) if needs else {})
        return replace(found, absent=absent(needs)) if needs else found
    except (MissingRunsError, NotObservedError) as missing:
        return Outcome(claim, condition, NOTHING, missing=str(missing))


def outcome_on(claim: Claim, condition: Condition, sample: Sample) -> Outcome:
    """Measure a condition on some runs."""
    values = tuple(v if isinstance(v, Bound) else float(v) for v in condition.measure(sample))
    if not values:
        return Outcome(claim, condition, NOTHING, missing=f"no seed has all runs of {condition.needs}")
    taken = [_taken(v, condition) for v in values]
    estimate = over_seeds(taken, condition.within, step=_step(condition, values))
    return Outcome(claim, condition, estimate, values, sources=_sources(sample.values()))


def _sources(cells: Iterable[Sequence[Observations]]) -> dict[str, str]:
    """Return where the settings of some runs come from; "user" where they disagree."""
    merged: dict[str, str] = {}
    for run in (run for runs in cells for run in runs):
        for name, source in run.provenance.get("sources", {}).items():
            merged[name] = source if merged.get(name, source) == source else "user"
    return merged
