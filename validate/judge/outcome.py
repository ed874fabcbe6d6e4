"""A condition after the runs: its values, interval and state.

Values that are only known to lie between two ends have two means, of the low and of the high ends. Both are
judged; where they come to different states the condition is censored: longer runs, or evaluations closer
together, could decide it.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Literal, NamedTuple

from sim.runs.files import finite
from theory.edge.display import Shown
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
    """The state of a condition by itself, and how an equivalence test reads it."""

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
        One per seed; NaN where it is undefined.
    sides : tuple of tuple
        The values of each side by itself.
    missing : str
        Why it could not be measured; empty if it was.
    absent : str
        How many of the study's seeds it was measured without, and why.
    sources : dict
        Where the runs' settings come from: setting → paper, sibling, chosen or user; user, too, where
        runs disagree.
    prior : Prior
        The prior of the variance over seeds, from other settings.
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
    def ends(self) -> tuple[tuple[float, ...], tuple[float, ...]]:
        """The least and the greatest that each defined value can be; 0 or 1 where seeds are counted."""
        c = self.condition
        known = [ends(value) for value in self.values if isinstance(value, Bound) or math.isfinite(value)]
        lows, highs = (
            tuple(end if c.counted_from is None else float(end >= c.counted_from) for end in side)
            for side in (zip(*known, strict=True) if known else ((), ()))
        )
        return lows, highs

    @property
    def numbers(self) -> tuple[float, ...]:
        """The low or the high ends, whichever mean is nearer to the threshold, one per defined value."""
        edge = self.condition.threshold
        return min(self.ends, key=lambda own: (math.isinf(sum(own)), abs(sum(own) - edge * len(own))))

    @property
    def variance(self) -> float:
        """Their variance without the prior, at least the variance of rounding to the measure's steps."""
        return self._variance(self.numbers)

    def _variance(self, numbers: Sequence[float]) -> float:
        return spread(numbers, max(self.condition.step, step_of(self.values)))

    @property
    def level(self) -> float | None:
        """The level at which it is judged, from two seeds on in a user's own setting; None for too few."""
        label = self.condition.setting
        return BY_LABEL.get(label, Setup(label)).level(len(self.values))

    @property
    def defined(self) -> bool:
        """Whether there are seeds and the measure is defined for each."""
        return 0 < len(self.values) == len(self.ends[0])

    def _mean(self, numbers: Sequence[float]) -> Mean | Proportion:
        if self.condition.counted_from is not None:
            return Proportion(round(sum(numbers)), len(numbers))
        return Mean.of(numbers, self._variance(numbers), self.prior)

    @cached_property
    def _means(self) -> list[Mean | Proportion]:
        return [self._mean(own) for own in self.ends]

    @cached_property
    def estimate(self) -> Estimate:
        """The mean over seeds that have a value, with its interval, cut to what the endpoint can be.

        For values that lie between two ends it reaches from the lower end of the low ends' interval to the
        upper end of the high ends' interval; it is infinite where an end is.
        """
        n = len(self.numbers)
        if not n:
            return Estimate(math.nan, None, None, 0)
        low, high = (mean.value for mean in self._means)
        middle = math.isnan(self.condition.threshold) and math.isfinite(high - low)
        value = (low + high) / 2 if middle else self._means[self.ends.index(self.numbers)].value
        value = value if math.isfinite(value) else math.nan
        if self.level is None or not self.defined:
            return Estimate(value, None, None, n)
        below, above = (
            (mean.value, mean.value) if math.isinf(mean.value) else mean.interval(self.level)
            for mean in self._means
        )
        if below is None or above is None:
            return Estimate(value, None, None, n)
        least, most = self.condition.within
        return Estimate(value, max(below[0], least), min(above[1], most), n)

    @property
    def seeds_met(self) -> int:
        """How many seeds meet the threshold by themselves."""
        return sum(all(map(self.condition.met, ends(value))) for value in self.values)

    @property
    def side(self) -> str:
        """The sign ≥, ≤ or ≈ where some values are bounds, else nothing."""
        return side(self.values, self.condition.within)

    @property
    def state(self) -> State:
        """Its state by itself."""
        return self.decision.state

    @property
    def p_value(self) -> float:
        """The p-value of the decision; NaN if nothing can be decided."""
        return self.decision.p_value

    @cached_property
    def decision(self) -> Decision:
        """The state with its p-value, censored where low ends and high ends come to different states."""
        c = self.condition
        if self.missing or c.role == "shown":
            return Decision("not tested" if self.missing else "shown")
        if not self.defined:
            return Decision("undefined")
        low, high = self._means
        found = self._decide(low), self._decide(high)
        around = low.value < c.threshold < high.value and c.relation == "within"
        if found[0].state != found[1].state or (around and found[0].state == "fails"):
            return Decision("censored")
        weaker = max(found, key=lambda each: math.inf if math.isnan(each.p_value) else each.p_value)
        return weaker if found[0].reading == found[1].reading else weaker._replace(reading="")

    def _decide(self, mean: Mean | Proportion) -> Decision:
        """Decide by one mean."""
        c = self.condition
        holds = c.met(mean.value)
        word: State = "holds" if holds else "fails"
        if not c.needs and len(self.values) == 1:  # one computed number, without chance
            return Decision(word, 0.0)
        if self.level is None:
            return Decision("undecided")
        if math.isinf(mean.value):
            return Decision(word, 0.0)
        margin, edge = c.margin or 0.0, c.threshold
        small = mean.p_within(edge, margin)
        if c.relation == "within" and holds:
            return Decision(word, small, NO_EFFECT) if small < self.level else Decision("undecided", small)
        if c.relation == "within":
            edge += math.copysign(margin, mean.value - edge)
        p = mean.p_value(edge)
        if math.isnan(p):  # Equal seeds of a measure without steps do not say how much it varies.
            return Decision("undecided")
        no_effect = c.relation in (">", "<")  # ">=" and "<=" ask for a size.
        reading = "" if not small < self.level else NO_EFFECT if no_effect else AT_THRESHOLD
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
            "met": self.seeds_met if c.role == "endpoint" else None,
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
        # A mean over bounds says little by itself: the bounds are shown, one per seed.
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
