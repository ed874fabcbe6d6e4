"""A condition after the runs: its values, interval and state.

Of a value that is known between two ends only, the end that says least for the mean's side enters the test;
where ends lie on both sides of the threshold the condition is censored: longer runs, or evaluations closer
together, would decide it, more seeds would not.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Literal

from sim.runs.files import finite
from theory.display import Shown
from validate.judge.bounds import Bound, Value, ends, side, step_of
from validate.judge.condition import Claim, Condition, Needs, Sample, difference
from validate.judge.inference import NO_PRIOR, Mean, Prior, Share
from validate.judge.settings import setup_of
from validate.judge.stats import Estimate, spread
from validate.observe import NotObservedError, Observations

State = Literal["holds", "fails", "undecided", "censored", "undefined", "not tested", "shown"]
Find = Callable[[Needs], Sample]
"""Finds the runs that a side needs, or raises ``MissingRunsError``."""
NO_EFFECT = "no relevant effect"
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
    values : tuple of float or Bound
        One a seed; NaN where it is undefined.
    sides : tuple of tuple
        The values of each side by itself.
    missing : str
        Why it could not be measured; empty if it was.
    absent : str
        How many of the study's seeds it was measured without, and why.
    sources : dict
        Where the runs' settings come from: setting → paper, sibling, chosen or user.
    prior : Prior
        Of the variance over seeds, from other settings.
    """

    claim: Claim
    condition: Condition
    values: tuple[Value, ...] = ()
    sides: tuple[tuple[Value, ...], ...] = ()
    missing: str = ""
    absent: str = ""
    sources: Mapping[str, str] = field(default_factory=dict)
    prior: Prior = NO_PRIOR

    @property
    def numbers(self) -> tuple[float, ...]:
        """One number a seed: of a bound the end that says least for the mean; 1 for a seed that counts."""
        if self.condition.counted_from is not None:
            return tuple(float(ends(v)[0] >= self.condition.counted_from) for v in self.values)
        return tuple(_taken(value, self.condition) for value in self.values)

    @property
    def variance(self) -> float:
        """The variance over seeds by themselves, at least that of rounding to the measure's steps."""
        return spread(self.numbers, max(self.condition.step, step_of(self.values)))

    @cached_property
    def _mean(self) -> Mean | Share:
        if self.condition.counted_from is not None:
            return Share(round(sum(self.numbers)), len(self.numbers))
        return Mean.of(self.numbers, self.variance, self.prior)

    @property
    def level(self) -> float | None:
        """The level at which it is judged; None where there are too few seeds."""
        return setup_of(self.condition.setting).level(len(self.values))

    @cached_property
    def estimate(self) -> Estimate:
        """The mean over seeds that have a value, with its interval, cut to what the endpoint can be."""
        numbers = [x for x in self.numbers if math.isfinite(x)]
        if not numbers:
            return Estimate(math.nan, None, None, 0)
        if not self.defined:
            return Estimate(float(sum(numbers) / len(numbers)), None, None, len(numbers))
        least, most = self.condition.within
        found = self._mean.interval(self.level) if self.level else None
        low, high = (None, None) if found is None else (max(found[0], least), min(found[1], most))
        return Estimate(self._mean.value, low, high, len(numbers))

    @property
    def defined(self) -> bool:
        """Whether there are seeds and the measure is a number for each."""
        return bool(self.values) and all(math.isfinite(x) for x in self.numbers)

    @property
    def holds(self) -> bool:
        """Whether the mean meets the threshold."""
        return self.defined and self.condition.met(self._mean.value)

    @property
    def seeds_met(self) -> int:
        """How many seeds meet the threshold by themselves."""
        return sum(all(map(self.condition.met, ends(value))) for value in self.values)

    @property
    def exact(self) -> bool:
        """Whether it is one computed number, which has no seeds and no interval."""
        return not self.condition.needs and len(self.values) == 1

    @property
    def side(self) -> str:
        """Return ≥ or ≤ where the mean is a bound, else nothing."""
        return side(self.values, self.condition.within)

    @property
    def state(self) -> State:
        """What it comes to by itself."""
        return self._decided[0]

    @property
    def p_value(self) -> float:
        """The p-value of what it comes to; NaN if nothing can be decided."""
        return self._decided[1]

    @property
    def reading(self) -> str:
        """What an equivalence test adds to the state: "no relevant effect" or nothing."""
        return self._decided[2]

    @cached_property
    def _decided(self) -> tuple[State, float, str]:
        c, nan = self.condition, math.nan
        if self.missing:
            return "not tested", nan, ""
        if c.role == "shown":
            return "shown", nan, ""
        if self.values and any(math.isnan(end) for value in self.values for end in ends(value)):
            return "undefined", nan, ""
        if c.counted_from is None and any(_straddles(v, c, self.holds) for v in self.values):
            return "censored", nan, ""
        if not self.defined:
            return "undefined", nan, ""
        word: State = "holds" if self.holds else "fails"
        if self.exact:
            return word, 0.0, ""
        if self.level is None:
            return "undecided", nan, ""
        mean, level = self._mean, self.level
        if c.relation == "within":
            margin = c.margin or 0.0
            edge = c.threshold + math.copysign(margin, mean.value - c.threshold)
            p = mean.p_within(c.threshold, margin) if self.holds else mean.p_value(edge)
            return (word if p < level else "undecided"), p, NO_EFFECT * (self.holds and p < level)
        p = mean.p_value(c.threshold)
        small = mean.p_within(c.threshold, c.margin) if c.margin else 1.0
        if p >= level and small < level:
            return "fails", small, NO_EFFECT
        return (word if p < level else "undecided"), p, NO_EFFECT * (small < level)

    def as_dict(self) -> dict[str, Any]:
        """Return plain data for JSON."""
        c = self.condition
        return c.as_dict() | {
            "setting": c.setting,
            "init_rates": c.contrast,
            "runs": c.runs,
            "studies": list(dict.fromkeys(needs.study for needs in c.needs)),
            "state": self.state,
            "reading": self.reading,
            "estimate": self.estimate.as_dict(),
            "side": self.side,
            "p_value": finite(self.p_value),
            "values": [plain(value) for value in self.values],
            "sides": [
                {
                    "measure": part.what,
                    "runs": str(part.needs or "computed"),
                    "values": list(map(plain, values)),
                }
                for part, values in zip(c.sides, self.sides, strict=False)
            ],
            "missing": self.missing or None,
            "absent": self.absent or None,
            "sources": dict(self.sources),
        }

    def cells(self) -> list[str]:
        """Return claim, γ, measure, threshold, mean, how many seeds meet it, and state."""
        c, n = self.condition, len(self.values)
        return [
            self.claim.name,
            c.contrast,
            c.what,
            c.asked,
            str(self.estimate),
            f"{self.seeds_met}/{n}",
            self.state,
        ]

    def _shown(self) -> tuple[str, tuple[str, ...], list[list[str]]]:
        c = self.condition
        found = f"not tested ({self.missing})" if self.missing else f"{self.estimate}, {self.state}"
        return f"{self.claim.name}: {c.what} {c.asked}".rstrip() + f": {found}", OUTCOMES, [self.row()]

    def row(self) -> list[str]:
        """Return its line in a table of ``OUTCOMES``."""
        c = self.condition
        # A mean over bounds says little by itself: these are shown, one a seed.
        found = ", ".join(map(str, self.values)) if self.side else str(self.estimate)
        return [self.state, c.role, c.setting, c.what, c.asked, self.missing or found, str(len(self.values))]


def plain(value: Value) -> Any:
    """Return a value as JSON has it: a number, null if undefined, or the two ends of a bound."""
    if isinstance(value, Bound):
        return {"low": finite(value.low), "high": finite(value.high)}
    return finite(value)


def _straddles(value: Value, condition: Condition, holds: bool) -> bool:
    """Return whether a bounded value may lie on the other side of the threshold than the mean."""
    if not isinstance(value, Bound):
        return False
    return all(map(math.isinf, ends(value))) or {*map(condition.met, ends(value))} != {holds}


def _taken(value: Value, condition: Condition) -> float:
    """Return the number that stands for a value in a mean: of a bound the end that says least for it."""
    if not isinstance(value, Bound):
        return float(value)
    if condition.relation == "within" and all(map(condition.met, ends(value))):
        return max(ends(value), key=lambda end: abs(end - condition.threshold))
    return value.nearest(condition.threshold)


def measure(
    claim: Claim, condition: Condition, find: Find, absent: Callable[[Needs], str] = lambda needs: ""
) -> Outcome:
    """Measure a condition on the runs that are found for it."""
    try:
        samples = [find(part.needs) if part.needs else {} for part in condition.sides]
        lacking = "; ".join(filter(None, (absent(needs) for needs in condition.needs)))
        sides = [part.measure(sample) for part, sample in zip(condition.sides, samples, strict=True)]
    except (MissingRunsError, NotObservedError) as missing:
        return Outcome(claim, condition, missing=str(missing))
    by_seed = sides[0] if len(sides) == 1 else difference(*sides)
    if not by_seed:
        return Outcome(claim, condition, missing=f"no seed has all runs of {condition.runs}")
    return Outcome(
        claim,
        condition,
        tuple(by_seed.values()),
        tuple(tuple(values.values()) for values in sides),
        absent=lacking,
        sources=_sources(run for sample in samples for runs in sample.values() for run in runs),
    )


def _sources(runs: Iterable[Observations]) -> dict[str, str]:
    """Return where the settings of some runs come from; "user" where they disagree."""
    merged: dict[str, str] = {}
    for run in runs:
        for name, source in run.provenance.get("sources", {}).items():
            merged[name] = source if merged.get(name, source) == source else "user"
    return merged
