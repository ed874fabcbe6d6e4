"""From conditions to a verdict.

A condition of a claim is *met* if the mean over seeds meets its threshold and the measure is defined for
every seed. It is *void* if it is met but a control of its part does not fail: then the measure cannot tell
the claimed effect from its absence. A control fails if it is defined for every seed and misses its threshold.
Without the runs of a condition, or of a control of its part, the condition is *not tested*.

A claim *holds* if all of its conditions are met, holds *in part* if some are, and *does not hold* if
none is. It is *not tested* if no condition is.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from sim.runs.files import finite
from theory import InputError
from theory.checked import checked
from validate.claims.statements import Claim, Condition, Needs, Sample
from validate.progress import track
from validate.stats import Estimate, over_seeds

State = Literal["met", "not met", "void", "not tested", "fails", "passes", "reported"]
Verdict = Literal["holds", "holds in part", "does not hold", "not tested"]
Find = Callable[[Needs], Sample]
"""Finds the runs that a condition needs, or raises ``MissingRunsError``."""
NOTHING = Estimate(math.nan, None, None, 0)


class MissingRunsError(LookupError):
    """There are no runs for a condition; the message says which, and the command that makes them."""


@dataclass(frozen=True)
class Outcome:
    """A condition after the runs.

    Attributes
    ----------
    claim : Claim
    condition : Condition
    estimate : Estimate
        Mean over seeds with its interval.
    values : tuple of float
        One a seed; NaN where the measure is undefined.
    missing : str
        Why it could not be measured; empty if it was.
    sources : dict
        Where the runs' settings come from: setting → paper, sibling, chosen or user.
    """

    claim: Claim
    condition: Condition
    estimate: Estimate
    values: tuple[float, ...] = ()
    missing: str = ""
    sources: Mapping[str, str] = field(default_factory=dict)

    @property
    def defined(self) -> bool:
        """Whether the measure is a number for every seed, and there is one."""
        return 0 < self.estimate.n == len(self.values)

    @property
    def holds(self) -> bool:
        """Whether the mean meets the threshold."""
        return self.defined and self.condition.met(self.estimate.mean)

    @property
    def seeds_met(self) -> int:
        """How many seeds meet the threshold by themselves."""
        return sum(map(self.condition.met, self.values))

    @property
    def clear(self) -> bool:
        """Whether the whole interval lies on the same side of the threshold as the mean."""
        if not self.values:
            return False
        ends = (self.estimate.low, self.estimate.high)
        return all(end is not None and self.condition.met(end) == self.holds for end in ends)

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
        }


@dataclass(frozen=True)
class Finding:
    """A claim after the runs.

    Attributes
    ----------
    claim : Claim
    outcomes : tuple of Outcome
        In the order of the claim's conditions.
    """

    claim: Claim
    outcomes: tuple[Outcome, ...]

    def state(self, outcome: Outcome) -> State:
        """Return what became of one of the conditions."""
        role = outcome.condition.role
        if outcome.missing:
            return "not tested"
        if role == "note":
            return "reported"
        if role == "control":
            return "fails" if _fails(outcome) else "passes"
        controls = [o for o in self.outcomes if _controls(o.condition, outcome.condition)]
        if any(o.missing for o in controls):
            return "not tested"
        if not outcome.holds:
            return "not met"
        return "met" if all(map(_fails, controls)) else "void"

    @property
    def verdict(self) -> Verdict:
        """The verdict; see the module's first lines."""
        states = [self.state(o) for o in self.outcomes if o.condition.role == "claim"]
        if all(state == "not tested" for state in states):
            return "not tested"
        met = states.count("met")
        if met == len(states):
            return "holds"
        return "holds in part" if met else "does not hold"

    @property
    def clear(self) -> bool:
        """Whether the interval of every tested condition and control lies on one side of its threshold."""
        decisive = [o for o in self.outcomes if o.condition.role != "note" and not o.missing]
        return bool(decisive) and all(o.clear for o in decisive)

    @property
    def against_the_paper(self) -> bool:
        """Whether the verdict speaks against the paper: its claim does not hold, or an opposing one does."""
        return self.verdict == ("holds" if self.claim.opposing else "does not hold")


def _controls(control: Condition, condition: Condition) -> bool:
    return control.role == "control" and control.part == condition.part


def _fails(control: Outcome) -> bool:
    """Return whether a control misses its threshold, as it has to; undefined it shows nothing."""
    return control.defined and not control.holds


@checked
def judge_claims(claims: Iterable[Claim], find: Find) -> list[Finding]:
    """Measure every condition of some claims.

    Parameters
    ----------
    claims : iterable of Claim
    find : callable
        Finds the runs that a condition needs, or raises ``MissingRunsError``.
    """
    return [
        Finding(claim, tuple(_outcome(claim, c, find) for c in claim.conditions))
        for claim in track(list(claims), "judging claims")
    ]


def _outcome(claim: Claim, condition: Condition, find: Find) -> Outcome:
    try:
        sample = find(condition.needs) if condition.needs else {}
        values = tuple(map(float, condition.measure(sample)))
    except MissingRunsError as missing:
        return Outcome(claim, condition, NOTHING, missing=str(missing))
    except InputError as error:
        if error.argument != "observable":
            raise
        return Outcome(claim, condition, NOTHING, missing=str(error))
    if not values:
        return Outcome(claim, condition, NOTHING, missing=f"no seed has all runs of {condition.needs}")
    estimate = over_seeds(values, condition.within)
    return Outcome(claim, condition, estimate, values, sources=_sources(sample.values()))


def _sources(cells: Iterable[Sequence[Any]]) -> dict[str, str]:
    """Return where the settings of some runs come from; "user" where they disagree."""
    merged: dict[str, str] = {}
    for run in (run for runs in cells for run in runs):
        for name, source in run.provenance.get("sources", {}).items():
            merged[name] = source if merged.get(name, source) == source else "user"
    return merged
