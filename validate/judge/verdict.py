"""From runs to a verdict: each endpoint's values, its state, and the verdict of a claim at each setting.

A mean over values that are only known to lie between two ends is two means, of the low and of the high ends.
Both are judged; where they come to different states the endpoint is censored: longer runs, or evaluations
closer together, could decide it.

A claim *holds* at a setting if every endpoint does, each at its own level: the intersection–union principle
needs no correction. Otherwise an endpoint counts with its p-value adjusted for the number of endpoints
(Holm): the claim holds *partly* if one of them is shown to hold, and *fails* if one is shown to fail and none
to hold. It is *censored* if longer runs, or evaluations closer together, would decide the rest, and
*undecided* otherwise.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import NamedTuple

from theory.edge.checked import checked
from validate.judge.claim import Claim, Condition
from validate.judge.result import AT_THRESHOLD, NO_EFFECT, Finding, Outcome, Part, Reading, State, Verdict
from validate.judge.runs import MissingRunsError, Needs, Sample
from validate.judge.settings import LEVEL
from validate.judge.stats import NO_PRIOR, Estimate, Mean, Prior, Proportion, fit_prior, holm, spread
from validate.judge.threshold import Threshold
from validate.observe import NotObservedError
from validate.observe.bounds import Bound, Value, ends, minus, side, step_of
from validate.terminal.progress import track

ENOUGH = 4
"""Seeds from which on a setting's own variance counts alone: a pooled one is too small for two groups."""
Find = Callable[[Needs], Sample]
"""Finds the runs that a side needs, or raises ``MissingRunsError``."""
Absent = Callable[[Needs], str]
"""From needs to the seeds that were not found, in words; empty if all were."""


# --- values ---------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Measured:
    """A condition's values, one a seed, and those of each of its sides; or why there are none."""

    condition: Condition
    values: tuple[Value, ...] = ()
    sides: tuple[tuple[Value, ...], ...] = ()
    missing: str = ""
    absent: str = ""
    sources: Mapping[str, str] = field(default_factory=dict)

    @cached_property
    def ends(self) -> tuple[tuple[float, ...], tuple[float, ...]]:
        """The least and the greatest that each defined value can be; 0 or 1 where seeds are counted."""
        least = self.condition.endpoint.counted_from
        known = [ends(value) for value in self.values if isinstance(value, Bound) or math.isfinite(value)]
        lows, highs = (
            tuple(end if least is None else float(end >= least) for end in own)
            for own in (zip(*known, strict=True) if known else ((), ()))
        )
        return lows, highs

    @property
    def numbers(self) -> tuple[float, ...]:
        """The low or the high ends, whichever mean is nearer to the threshold, one per defined value."""
        holds = self.condition.threshold
        edge = math.nan if holds is None else holds.value
        return min(self.ends, key=lambda own: (math.isinf(sum(own)), abs(sum(own) - edge * len(own))))

    def variance(self, numbers: Sequence[float]) -> float:
        """Return the variance of numbers by themselves, at least that of rounding to the measure's steps."""
        return spread(numbers, max(self.condition.step, step_of(self.values)))

    @property
    def level(self) -> float | None:
        """The level at which it is judged; None for too few seeds."""
        return self.condition.setup.level(len(self.values))

    @property
    def defined(self) -> bool:
        """Whether there are seeds and the measure is defined for each."""
        return 0 < len(self.values) == len(self.ends[0])

    def means(self, prior: Prior) -> list[Mean | Proportion]:
        """Return the means of the low and of the high ends."""
        if self.condition.endpoint.counted_from is not None:
            return [Proportion(round(sum(own)), len(own)) for own in self.ends]
        if len(self.ends[0]) >= ENOUGH:
            prior = NO_PRIOR
        return [Mean.of(own, self.variance(own), prior) for own in self.ends]


def measure(condition: Condition, find: Find, absent: Absent) -> Measured:
    """Measure a condition on the runs that are found for it."""
    try:
        samples = [find(part.needs) if part.needs else {} for part in condition.sides]
        sides = [part.values(sample) for part, sample in zip(condition.sides, samples, strict=True)]
    except (MissingRunsError, NotObservedError) as missing:
        return Measured(condition, missing=str(missing))
    by_seed = sides[0]
    if len(sides) > 1:
        by_seed = {n: minus(value, sides[1][n]) for n, value in sides[0].items() if n in sides[1]}
    if not by_seed:
        return Measured(condition, missing=f"no seed has all runs of {condition.runs}")
    sources: dict[str, str] = {}
    for run in (run for sample in samples for runs in sample.values() for run in runs):
        for name, source in run.provenance.get("sources", {}).items():
            sources[name] = source if sources.get(name, source) == source else "user"
    values = tuple(tuple(own[seed] for seed in by_seed) for own in sides)
    told = "; ".join(filter(None, map(absent, condition.needs)))
    return Measured(condition, tuple(by_seed.values()), values, absent=told, sources=sources)


def priors_of(measured: Iterable[Measured]) -> dict[object, Prior]:
    """Return the prior of each kind of variance, fitted over the settings with seeds enough for a look."""
    pooled: dict[object, list[Measured]] = defaultdict(list)
    for m in measured:
        counted = m.condition.endpoint.counted_from is not None
        if m.defined and m.condition.needs and not counted and m.level is not None:
            pooled[m.condition.kind].append(m)
    return {
        kind: fit_prior([m.variance(m.numbers) for m in alike], [len(m.values) - 1 for m in alike])
        for kind, alike in pooled.items()
    }


# --- decisions ------------------------------------------------------------------------------------------


class Decision(NamedTuple):
    """The state of a condition by itself, its p-value, and how an equivalence test reads it."""

    state: State
    p_value: float = math.nan
    reading: Reading = ""


def decide(m: Measured, means: Sequence[Mean | Proportion]) -> Decision:
    """Decide by both means: censored where they come to different states."""
    asked = m.condition.threshold
    if m.missing or asked is None:
        return Decision("not tested" if m.missing else "shown")
    if not m.defined:
        return Decision("undefined")
    low, high = means
    found = _decide(m, low, asked), _decide(m, high, asked)
    around = low.value < asked.value < high.value and asked.relation == "within"
    if found[0].state != found[1].state or (around and found[0].state == "fails"):
        return Decision("censored")
    weaker = max(found, key=lambda each: math.inf if math.isnan(each.p_value) else each.p_value)
    return weaker if found[0].reading == found[1].reading else weaker._replace(reading="")


def _decide(m: Measured, mean: Mean | Proportion, asked: Threshold) -> Decision:
    """Decide by one mean."""
    holds = asked.met(mean.value)
    word: State = "holds" if holds else "fails"
    if not m.condition.needs and len(m.values) == 1:  # one computed number, without chance
        return Decision(word, 0.0)
    if m.level is None:
        return Decision("undecided")
    if math.isinf(mean.value):
        return Decision(word, 0.0)
    margin, edge = asked.margin or 0.0, asked.value
    small = mean.p_within(edge, margin)
    if asked.relation == "within" and holds:
        return Decision(word, small, NO_EFFECT) if small < m.level else Decision("undecided", small)
    if asked.relation == "within":
        edge += math.copysign(margin, mean.value - edge)
    p = mean.p_value(edge)
    if math.isnan(p):  # Equal seeds of a measure without steps do not say how much it varies.
        return Decision("undecided")
    no_effect = asked.relation in (">", "<")  # ">=" and "<=" ask for a size.
    reading: Reading = "" if not small < m.level else NO_EFFECT if no_effect else AT_THRESHOLD
    if p < m.level:
        return Decision(word, p, reading)
    if reading == NO_EFFECT:
        return Decision("fails", small, reading)
    return Decision("undecided", p, reading)


def estimate(m: Measured, means: Sequence[Mean | Proportion]) -> Estimate:
    """Return the mean over seeds that have a value, with its interval, cut to what the measure can be.

    For values that lie between two ends it reaches from the lower end of the low ends' interval to the upper
    end of the high ends' interval; it is infinite where an end is.
    """
    n = len(m.numbers)
    if not n:
        return Estimate(math.nan, None, None, 0)
    low, high = (mean.value for mean in means)
    middle = m.condition.threshold is None and math.isfinite(high - low)
    value = (low + high) / 2 if middle else means[m.ends.index(m.numbers)].value
    value = value if math.isfinite(value) else math.nan
    if m.level is None or not m.defined:
        return Estimate(value, None, None, n)
    below, above = (
        (mean.value, mean.value) if math.isinf(mean.value) else mean.interval(m.level) for mean in means
    )
    if below is None or above is None:
        return Estimate(value, None, None, n)
    least, most = m.condition.scale
    return Estimate(value, max(below[0], least), min(above[1], most), n)


def outcome_of(m: Measured, prior: Prior = NO_PRIOR) -> Outcome:
    """Return a condition's outcome, without the correction for other endpoints."""
    c, asked = m.condition, m.condition.threshold
    means = m.means(prior) if m.ends[0] else []
    found = decide(m, means)
    pairs = zip(c.sides, m.sides, strict=False)
    return Outcome(
        measure=c.endpoint.what,
        unit=c.endpoint.unit,
        role=c.role,
        relation=None if asked is None else asked.relation,
        threshold=None if asked is None else asked.value,
        margin=None if asked is None else asked.margin,
        reason=c.reason,
        setting=c.setting,
        init_rates=c.contrast,
        runs=c.runs,
        studies=tuple(dict.fromkeys(needs.study for needs in c.needs)),
        state=found.state,
        reading=found.reading,
        estimate=estimate(m, means),
        side=side(m.values, c.scale),
        met=None if asked is None else sum(all(map(asked.met, ends(value))) for value in m.values),
        level=m.level,
        p_value=None if math.isnan(found.p_value) else found.p_value,
        values=m.values,
        sides=tuple(
            Part(measure=part.what, runs=str(part.needs or "computed"), values=own) for part, own in pairs
        ),
        missing=m.missing or None,
        absent=m.absent or None,
        sources=m.sources,
    )


# --- verdicts -------------------------------------------------------------------------------------------


@checked
def judge_claims(claims: Iterable[Claim], find: Find, absent: Absent = lambda needs: "") -> list[Finding]:
    """Judge some claims by the runs that are found for them.

    Parameters
    ----------
    claims : iterable of Claim
    find : callable
        Finds the runs that a side needs, or raises ``MissingRunsError``.
    absent : callable, optional
        From such needs to the seeds that were not found, in words; empty if all were.
    """
    found = [judge_claim(claim, find, absent) for claim in track(list(claims), "judging claims")]
    each = zip(found, benjamini_hochberg(found), strict=True)
    return [finding.model_copy(update={"q_values": q_values}) for finding, q_values in each]


def judge_claim(claim: Claim, find: Find, absent: Absent = lambda needs: "") -> Finding:
    """Judge one claim; variances of one kind are pooled over the settings with a look."""
    return finding_of(claim, [measure(condition, find, absent) for condition in claim.conditions])


def finding_of(claim: Claim, measured: Sequence[Measured]) -> Finding:
    """Return the finding from the values of a claim's conditions."""
    priors = priors_of(measured)
    outcomes = [outcome_of(m, priors.get(m.condition.kind, NO_PRIOR)) for m in measured]
    settings = list(dict.fromkeys(o.setting for o in outcomes))
    for setting in settings:
        asked = [i for i, o in enumerate(outcomes) if (o.setting, o.role) == (setting, "endpoint")]
        p_values = holm([1.0 if (p := outcomes[i].p_value) is None else p for i in asked])
        for i, p in zip(asked, p_values, strict=True):
            outcomes[i] = outcomes[i].model_copy(update={"adjusted_p": p})
    endpoints = {s: [o for o in outcomes if (o.setting, o.role) == (s, "endpoint")] for s in settings}
    verdicts = {s: verdict_of(own) for s, own in endpoints.items()}
    tested = tuple(s for s in settings if verdicts[s] != "not tested")
    judged = tuple(s for s in tested if any(o.level is not None for o in endpoints[s])) or tested
    setting = (*judged, *settings)[0]
    verdict = verdicts[setting]
    about = ("number", "name", "statement", "paper", "section", "opposing", "appendix")
    return Finding(
        **{name: getattr(claim, name) for name in about},
        setting=setting,
        verdict=verdict,
        verdicts=verdicts,
        judged=judged,
        against_the_paper=verdict == ("holds" if claim.opposing else "fails"),
        conditions=tuple(outcomes),
    )


def verdict_of(endpoints: Sequence[Outcome]) -> Verdict:
    """Return the verdict at one setting; see the module's first lines."""
    states = {o.state for o in endpoints}
    if states <= {"not tested"}:
        return "not tested"
    if states == {"holds"}:
        return "holds"
    # A single computed number has p = 0 and is sure without a look.
    sure = {o.state for o in endpoints if (p := o.adjusted_p) == 0 or (p and o.level and p < o.level)}
    if sure & {"holds", "fails"}:
        return "partly" if "holds" in sure else "fails"
    return "censored" if states - {"holds", "fails"} == {"censored"} else "undecided"


def benjamini_hochberg(findings: Sequence[Finding]) -> list[dict[str, float]]:
    """Return for each claim, by setting, the adjusted p-value of the primary endpoint, where runs test it."""
    from scipy.stats import false_discovery_control

    primaries = {(i, s): f.endpoints(s)[0] for i, f in enumerate(findings) for s in f.verdicts}
    # A computed number has no error to control; the p-value of a look is scaled to the usual level.
    tested = {k: o for k, o in primaries.items() if o.runs != "computed" and o.p_value is not None}
    p_values = [min(1.0, (o.p_value or 0.0) * (LEVEL / (o.level or LEVEL))) for o in tested.values()]
    adjusted = false_discovery_control(p_values).tolist() if tested else []
    q = dict(zip(tested, adjusted, strict=True))
    return [{s: q[i, s] for s in f.verdicts if (i, s) in q} for i, f in enumerate(findings)]
