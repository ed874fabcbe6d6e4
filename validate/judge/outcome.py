"""A condition after the runs: its values, interval and state.

Of a value that is known between two ends only, the end that says least for the mean's side enters the test;
where ends lie on both sides of the threshold the condition is censored: longer runs, or evaluations closer
together, would decide it, more seeds would not.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Literal, NamedTuple

from sim.runs.files import finite
from theory.display import Shown
from validate.judge.condition import BY_LABEL, Claim, Condition, Needs, Sample, Setup
from validate.judge.stats import LEVEL, NO_PRIOR, Estimate, Mean, Prior, Proportion, spread
from validate.observe.bounds import Bound, Value, ends, side, step_of

State = Literal["holds", "fails", "undecided", "censored", "undefined", "not tested", "shown"]
Find = Callable[[Needs], Sample]
"""Finds the runs that a side needs, or raises ``MissingRunsError``."""
NO_EFFECT, AT_THRESHOLD = "no relevant effect", "at the threshold"
OUTCOMES = ("state", "role", "setting", "measure", "threshold", "mean [95 %]", "n")


class MissingRunsError(LookupError):
    """There are no runs for a condition; the message says which."""


class Decision(NamedTuple):
    """What a condition comes to by itself, and what an equivalence test adds to that."""

    state: State
    p_value: float = math.nan
    reading: str = ""


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
        Where the runs' settings come from: setting → paper, sibling, chosen or user, which is also said
        where runs disagree.
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

    @cached_property
    def numbers(self) -> tuple[float, ...]:
        """One number a seed: of a bound the end that says least for the mean; 1 for a seed that counts."""
        c = self.condition
        if c.counted_from is None:
            return tuple(_taken(value, c) for value in self.values)
        lows = (ends(value)[0] for value in self.values)
        return tuple(low if math.isnan(low) else float(low >= c.counted_from) for low in lows)

    @property
    def variance(self) -> float:
        """The variance over seeds by themselves, at least that of rounding to the measure's steps."""
        return spread(self.numbers, max(self.condition.step, step_of(self.values)))

    @property
    def level(self) -> float | None:
        """The level at which it is judged, from two seeds on in a user's own setting; None for too few."""
        label = self.condition.setting
        return BY_LABEL.get(label, Setup(label)).level(len(self.values))

    @property
    def defined(self) -> bool:
        """Whether there are seeds and the measure is a number for each."""
        return bool(self.values) and all(map(math.isfinite, self.numbers))

    @cached_property
    def _mean(self) -> Mean | Proportion:
        if self.condition.counted_from is not None:
            return Proportion(round(sum(self.numbers)), len(self.numbers))
        return Mean.of(self.numbers, self.variance, self.prior)

    @property
    def _means(self) -> list[Mean | Proportion]:
        """The mean; of values between two ends the mean of the low ends and that of the high ones."""
        if not self.side or self.condition.counted_from is not None:
            return [self._mean]
        both_ends = zip(*map(ends, self.values), strict=True)
        return [Mean.of(end, self.variance, self.prior) for end in both_ends]

    @cached_property
    def estimate(self) -> Estimate:
        """The mean over seeds that have a value, with its interval, cut to what the endpoint can be.

        Values that lie between two ends have the lower end of the interval of their low ends, and the upper
        end of that of their high ends; it is infinite where an end is.
        """
        numbers = [x for x in self.numbers if math.isfinite(x)]
        if not self.defined:
            return Estimate(sum(numbers) / len(numbers) if numbers else math.nan, None, None, len(numbers))
        found = [interval for mean in self._means if self.level and (interval := mean.interval(self.level))]
        if not found:
            return Estimate(self._mean.value, None, None, len(numbers))
        least, most = self.condition.within
        return Estimate(self._mean.value, max(found[0][0], least), min(found[-1][1], most), len(numbers))

    @property
    def seeds_met(self) -> int:
        """How many seeds meet the threshold by themselves."""
        return sum(all(map(self.condition.met, ends(value))) for value in self.values)

    @property
    def side(self) -> str:
        """Return ≥ or ≤ where the mean is a bound, else nothing."""
        return side(self.values, self.condition.within)

    @property
    def state(self) -> State:
        """What it comes to by itself."""
        return self.decision.state

    @property
    def p_value(self) -> float:
        """The p-value of what it comes to; NaN if nothing can be decided."""
        return self.decision.p_value

    @cached_property
    def decision(self) -> Decision:
        """The state, with its p-value."""
        c = self.condition
        if self.missing or c.role == "shown":
            return Decision("not tested" if self.missing else "shown")
        if any(math.isnan(end) for value in self.values for end in ends(value)):
            return Decision("undefined")
        holds = self.defined and c.met(self._mean.value)
        if any(_straddles(v, c, holds) for v in self.values):
            return Decision("censored")
        if not self.defined:
            return Decision("undefined")
        word: State = "holds" if holds else "fails"
        if not c.needs and len(self.values) == 1:  # one computed number, without chance
            return Decision(word, 0.0)
        if self.level is None:
            return Decision("undecided")
        mean, margin, edge = self._mean, c.margin or 0.0, c.threshold
        # Of what lies between two ends both have to be within the margin.
        small = max(each.p_within(c.threshold, margin) for each in self._means)
        if c.relation == "within" and holds:
            return Decision(word, small, NO_EFFECT) if small < self.level else Decision("undecided", small)
        if c.relation == "within":
            edge += math.copysign(margin, mean.value - c.threshold)
        p = mean.p_value(edge)
        if math.isnan(p):  # Equal seeds of a measure without steps do not say how much it varies.
            return Decision("undecided")
        no_effect = c.relation in (">", "<")  # ">=" and "<=" ask for a size.
        reading = "" if small >= self.level else NO_EFFECT if no_effect else AT_THRESHOLD
        if p < self.level:
            return Decision(word, p, reading)
        if reading == NO_EFFECT:
            return Decision("fails", small, reading)
        return Decision("undecided", p, reading)

    def as_dict(self) -> dict[str, Any]:
        """Return plain data for JSON."""
        c = self.condition
        return {
            "measure": c.what,
            "role": c.role,
            "relation": c.relation if c.role == "endpoint" else None,
            "threshold": finite(c.threshold),
            "margin": c.margin,
            "reason": c.reason,
            "setting": c.setting,
            "init_rates": c.contrast,
            "runs": c.runs,
            "studies": list(dict.fromkeys(needs.study for needs in c.needs)),
            "state": self.state,
            "reading": self.decision.reading,
            "estimate": self.estimate.as_dict(),
            "side": self.side,
            "level": self.level,
            "p_value": finite(self.p_value),
            "values": [plain(value) for value in self.values],
            "sides": [
                {"measure": part.what, "runs": str(part.needs or "computed"), "values": [*map(plain, values)]}
                for part, values in zip(c.sides, self.sides, strict=False)
            ],
            "missing": self.missing or None,
            "absent": self.absent or None,
            "sources": dict(self.sources),
        }

    def cells(self) -> list[str]:
        """Return state, γ, measure, mean, threshold, and the seeds, or how many of them meet it."""
        c, n = self.condition, len(self.values)
        met = f"{self.seeds_met}/{n}" if c.role == "endpoint" else str(n)
        return [self.state, c.contrast, c.what, self.estimate.brief, c.asked, met]

    def row(self) -> list[str]:
        """Return its line in a table of ``OUTCOMES``."""
        c = self.condition
        # A mean over bounds says little by itself: these are shown, one a seed.
        found = ", ".join(map(str, self.values)) if self.side else self._certain
        return [self.state, c.role, c.setting, c.what, c.asked, self.missing or found, str(len(self.values))]

    @property
    def _certain(self) -> str:
        return f"{self.estimate}{confidence(None if self.estimate.low is None else self.level)}"

    def _shown(self) -> tuple[str, tuple[str, ...], list[list[str]]]:
        c = self.condition
        found = f"not tested ({self.missing})" if self.missing else f"{self._certain}, {self.state}"
        return f"{self.claim.name}: {c.what} {c.asked}".rstrip() + f": {found}", OUTCOMES, [self.row()]


def confidence(level: float | None, form: str = " ({})") -> str:
    """Return the level of an interval in some form, as " (98.4 %)"; nothing for the usual one."""
    return "" if level is None or level == LEVEL else form.format(f"{100 * (1 - level):.1f} %")


def plain(value: Value) -> Any:
    """Return a value as JSON has it: a number, null if undefined, or the two ends of a bound."""
    if isinstance(value, Bound):
        return {"low": finite(value.low), "high": finite(value.high)}
    return finite(value)


def _straddles(value: Value, condition: Condition, holds: bool) -> bool:
    """Return whether a bounded value may lie on the other side of the threshold than the mean."""
    if not isinstance(value, Bound):
        return False
    low, high = ends(value)
    if condition.counted_from is not None:  # Seeds count by their low ends: high ones could only add some.
        return low < condition.counted_from <= high and condition.met(1.0) != holds
    nearest = min(max(condition.threshold, low), high)
    return {*map(condition.met, (low, nearest, high))} != {holds}


def _taken(value: Value, condition: Condition) -> float:
    """Return a value's number in a mean: of a bound the end that says least, or if shown the middle."""
    low, high = ends(value)
    if math.isnan(condition.threshold) and math.isfinite(high - low):
        return (low + high) / 2
    near, far = sorted((low, high), key=lambda end: (math.isinf(end), abs(end - condition.threshold)))
    return far if condition.relation == "within" and condition.met(far) else near
