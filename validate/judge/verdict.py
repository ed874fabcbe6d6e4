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
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

from theory.edge.checked import checked
from validate.judge.claim import LEVEL, Claim, Threshold
from validate.judge.condition import Absent, Find, Measured, conditions_of, measure
from validate.judge.inference import NO_PRIOR, Mean, Prior, Proportion, fit_prior, holm, step_up
from validate.judge.result import AT_THRESHOLD, NO_EFFECT, Finding, Outcome, Part, Reading, State, Verdict
from validate.judge.stats import Estimate
from validate.observe.bounds import ends, side
from validate.terminal.progress import track

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
    decisions = _decide(m, low, asked), _decide(m, high, asked)
    around = low.value < asked.value < high.value and asked.relation == "within"
    if decisions[0].state != decisions[1].state or (around and decisions[0].state == "fails"):
        return Decision("censored")
    weaker = max(decisions, key=lambda d: math.inf if math.isnan(d.p_value) else d.p_value)
    return weaker if decisions[0].reading == decisions[1].reading else weaker._replace(reading="")


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


def estimate(m: Measured, means: Sequence[Mean | Proportion], level: float | None) -> Estimate:
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
    if level is None or not m.defined:
        return Estimate(value, None, None, n)
    below, above = (
        (mean.value, mean.value) if math.isinf(mean.value) else mean.interval(level) for mean in means
    )
    if below is None or above is None:
        return Estimate(value, None, None, n)
    least, most = m.condition.scale
    return Estimate(value, max(below[0], least), min(above[1], most), n)


def outcome_of(m: Measured, prior: Prior = NO_PRIOR) -> Outcome:
    """Return a condition's outcome, without the correction for other endpoints."""
    c, asked = m.condition, m.condition.threshold
    means = m.means(prior) if m.ends[0] else []
    decision = decide(m, means)
    pairs = zip(c.sides, m.sides, strict=False)
    return Outcome(
        measure=c.endpoint.what,
        unit=c.endpoint.unit,
        role=c.role,
        relation=None if asked is None else asked.relation,
        threshold=None if asked is None else asked.value,
        margin=None if asked is None else asked.margin,
        reason=c.reason,
        setting=c.setup.label,
        init_rates=c.contrast,
        runs=c.runs,
        studies=tuple(dict.fromkeys(needs.study for needs in c.needs)),
        state=decision.state,
        corrected=decision.state,
        reading=decision.reading,
        estimate=estimate(m, means, m.level),
        side=side(m.values, c.scale),
        met=None if asked is None else sum(all(map(asked.met, ends(value))) for value in m.values),
        level=m.level,
        p_value=None if math.isnan(decision.p_value) else decision.p_value,
        values=m.values,
        sides=tuple(
            Part(measure=s.what, runs=str(s.needs or "computed"), values=values) for s, values in pairs
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
    findings = [judge_claim(claim, find, absent) for claim in track(list(claims), "judging claims")]
    adjusted = benjamini_hochberg(findings)
    return [f.model_copy(update={"q_values": q}) for f, q in zip(findings, adjusted, strict=True)]


def judge_claim(claim: Claim, find: Find, absent: Absent = lambda needs: "") -> Finding:
    """Judge one claim; variances of one kind are pooled over the settings with a look."""
    return finding_of(claim, [measure(condition, find, absent) for condition in conditions_of(claim)])


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


def finding_of(claim: Claim, measured: Sequence[Measured]) -> Finding:
    """Return the finding from the values of a claim's conditions."""
    priors = priors_of(measured)
    outcomes = [outcome_of(m, priors.get(m.condition.kind, NO_PRIOR)) for m in measured]
    settings = list(dict.fromkeys(o.setting for o in outcomes))
    for setting in settings:
        asked = [i for i, o in enumerate(outcomes) if (o.setting, o.role) == (setting, "endpoint")]
        p_values = holm([1.0 if (p := outcomes[i].p_value) is None else p for i in asked])
        all_hold = all(outcomes[i].state == "holds" for i in asked)
        for i, p in zip(asked, p_values, strict=True):
            prior = priors.get(measured[i].condition.kind, NO_PRIOR)
            outcomes[i] = corrected(outcomes[i], measured[i], prior, p, needed=not all_hold)
    endpoints = {s: [o for o in outcomes if (o.setting, o.role) == (s, "endpoint")] for s in settings}
    verdicts = {s: verdict_of(of_setting) for s, of_setting in endpoints.items()}
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


def corrected(o: Outcome, m: Measured, prior: Prior, adjusted_p: float, *, needed: bool) -> Outcome:
    """Return an outcome with the p-value adjusted for the other endpoints, and the state that it leaves."""
    changed: dict[str, Any] = {"adjusted_p": None if o.p_value is None else adjusted_p}
    # A single computed number has p = 0 and is sure without a look.
    sure = adjusted_p == 0 or (o.level is not None and adjusted_p < o.level)
    if needed and o.state in ("holds", "fails") and not sure:
        changed["corrected"] = "undecided"
        if o.level and o.p_value:
            changed["adjusted"] = estimate(m, m.means(prior), o.level * o.p_value / adjusted_p)
    return o.model_copy(update=changed)


def verdict_of(endpoints: Sequence[Outcome]) -> Verdict:
    """Return the verdict at one setting; see the module's first lines."""
    states, sure = {o.state for o in endpoints}, {o.corrected for o in endpoints}
    if states <= {"not tested"}:
        return "not tested"
    if states == {"holds"}:
        return "holds"
    if sure & {"holds", "fails"}:
        return "partly" if "holds" in sure else "fails"
    return "censored" if states - {"holds", "fails"} == {"censored"} else "undecided"


def benjamini_hochberg(findings: Sequence[Finding]) -> list[dict[str, float]]:
    """Return for each claim, by setting, the adjusted p-value of the primary endpoint, where runs test it."""
    primaries = {(i, s): f.endpoints(s)[0] for i, f in enumerate(findings) for s in f.verdicts}
    # A computed number has no error to control; the p-value of a look is scaled to the usual level.
    tested = {k: o for k, o in primaries.items() if o.runs != "computed" and o.p_value is not None}
    p_values = [min(1.0, (o.p_value or 0.0) * (LEVEL / (o.level or LEVEL))) for o in tested.values()]
    q = dict(zip(tested, step_up(p_values), strict=True))
    return [{s: q[i, s] for s in f.verdicts if (i, s) in q} for i, f in enumerate(findings)]
