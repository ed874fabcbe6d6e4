"""From endpoints to verdicts, one for each setting.

A claim *holds* at a setting if every endpoint does, each at its own level: the intersection–union principle
needs no correction. Otherwise an endpoint counts with its p-value adjusted for the number of endpoints
(Holm): the claim holds *partly* if one of them is shown to hold, and *fails* if one is shown to fail and none
to hold. It is *censored* if longer runs, or evaluations closer together, would decide the rest, and
*undecided* otherwise.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from theory.edge.checked import checked
from theory.edge.display import Shown
from validate.judge.condition import SETTINGS, Claim, Condition, Needs
from validate.judge.outcome import OUTCOMES, Find, MissingRunsError, Outcome
from validate.judge.stats import LEVEL, NO_PRIOR, fit_prior, holm
from validate.observe import NotObservedError
from validate.observe.bounds import minus
from validate.terminal.progress import track

Verdict = Literal["holds", "partly", "fails", "undecided", "censored", "not tested"]


@dataclass(frozen=True, repr=False)
class Finding(Shown):
    """A claim after the runs: its outcomes, in the order of the claim's conditions."""

    claim: Claim
    outcomes: tuple[Outcome, ...]

    @property
    def settings(self) -> tuple[str, ...]:
        """The labels of the settings that the claim is about, the likeliest first."""
        asked = {o.condition.setting for o in self.outcomes}
        known = [s.label for s in SETTINGS if s.label in asked]
        return (*known, *sorted(asked - {*known}))

    def endpoints(self, setting: str) -> list[Outcome]:
        """Return the outcomes of the endpoints at a setting, the primary one first."""
        return [o for o in self.outcomes if o.condition.setting == setting and o.condition.role == "endpoint"]

    def adjusted(self, setting: str) -> list[tuple[Outcome, float]]:
        """Return the endpoints with p-values adjusted for their number (Holm); 1 where it is undefined."""
        asked = self.endpoints(setting)
        p_values = holm([1.0 if math.isnan(o.p_value) else o.p_value for o in asked])
        return list(zip(asked, p_values, strict=True))

    def verdict_at(self, setting: str) -> Verdict:
        """Return the verdict at one setting; see the module's first lines."""
        states = {o.state for o in self.endpoints(setting)}
        if states <= {"not tested"}:
            return "not tested"
        if states == {"holds"}:
            return "holds"
        # A single computed number has p = 0 and is sure without a look.
        sure = {o.state for o, p in self.adjusted(setting) if p == 0 or (o.level is not None and p < o.level)}
        if sure & {"holds", "fails"}:
            return "partly" if "holds" in sure else "fails"
        return "censored" if states - {"holds", "fails"} == {"censored"} else "undecided"

    @property
    def setting(self) -> str:
        """The likeliest setting that is judged; the likeliest of all if none is."""
        return (*self.judged, *self.settings)[0]

    @property
    def judged(self) -> tuple[str, ...]:
        """The settings with enough seeds for a look; if there is none, all that were tested."""
        tested = [s for s in self.settings if self.verdict_at(s) != "not tested"]
        looked = [s for s in tested if any(o.level is not None for o in self.endpoints(s))]
        return tuple(looked or tested)

    @property
    def verdict(self) -> Verdict:
        """The verdict at that setting."""
        return self.verdict_at(self.setting)

    @property
    def against_the_paper(self) -> bool:
        """Whether the verdict speaks against the paper: its claim fails, or an opposing one holds."""
        return self.verdict == ("holds" if self.claim.opposing else "fails")

    def _shown(self) -> tuple[str, tuple[str, ...], list[list[str]]]:
        verdicts = ", ".join(f"{self.verdict_at(s)}{f' ({s})' if s else ''}" for s in self.settings)
        return f"{self.claim.title}: {verdicts}", OUTCOMES, [o.row() for o in self.outcomes]


@checked
def judge_claims(
    claims: Iterable[Claim], find: Find, absent: Callable[[Needs], str] = lambda needs: ""
) -> list[Finding]:
    """Measure every condition of some claims.

    Parameters
    ----------
    claims : iterable of Claim
    find : callable
        Finds the runs that a side needs, or raises ``MissingRunsError``.
    absent : callable, optional
        From such needs to the seeds that were not found, in words; empty if all were.
    """
    return [judge_claim(claim, find, absent) for claim in track(list(claims), "judging claims")]


def judge_claim(claim: Claim, find: Find, absent: Callable[[Needs], str] = lambda needs: "") -> Finding:
    """Measure one claim's conditions; variances of one measure are pooled over the settings with a look."""
    outcomes = [_measure(claim, condition, find, absent) for condition in claim.conditions]
    pooled: dict[tuple[object, ...], list[Outcome]] = defaultdict(list)
    for o in outcomes:
        if o.defined and o.condition.needs and o.condition.counted_from is None and o.level is not None:
            pooled[_kind(o)].append(o)
    priors = {
        kind: fit_prior([o.variance for o in alike], [len(o.values) - 1 for o in alike])
        for kind, alike in pooled.items()
    }
    return Finding(claim, tuple(replace(o, prior=priors.get(_kind(o), NO_PRIOR)) for o in outcomes))


def _measure(claim: Claim, condition: Condition, find: Find, absent: Callable[[Needs], str]) -> Outcome:
    """Measure a condition on the runs that are found for it."""
    try:
        samples = [find(part.needs) if part.needs else {} for part in condition.sides]
        sides = [part.measure(sample) for part, sample in zip(condition.sides, samples, strict=True)]
    except (MissingRunsError, NotObservedError) as missing:
        return Outcome(claim, condition, missing=str(missing))
    by_seed = sides[0]
    if len(sides) > 1:
        by_seed = {n: minus(value, sides[1][n]) for n, value in sides[0].items() if n in sides[1]}
    if not by_seed:
        return Outcome(claim, condition, missing=f"no seed has all runs of {condition.runs}")
    sources: dict[str, str] = {}
    for run in (run for sample in samples for runs in sample.values() for run in runs):
        for name, source in run.provenance.get("sources", {}).items():
            sources[name] = source if sources.get(name, source) == source else "user"
    values = tuple(tuple(side[seed] for seed in by_seed) for side in sides)
    told = "; ".join(filter(None, map(absent, condition.needs)))
    return Outcome(claim, condition, tuple(by_seed.values()), values, absent=told, sources=sources)


def _kind(outcome: Outcome) -> tuple[object, ...]:
    """Return the key by which variances over seeds are pooled: the measure, and γ of each side."""
    c = outcome.condition
    return c.what, *((side.what, side.needs and side.needs.init_rates) for side in c.sides)


def benjamini_hochberg(findings: Sequence[Finding]) -> list[dict[str, float]]:
    """Return for each claim, by setting, the adjusted p-value of the primary endpoint, where runs test it."""
    from scipy.stats import false_discovery_control

    primaries = {(i, s): f.endpoints(s)[0] for i, f in enumerate(findings) for s in f.settings}
    # A computed number has no error to control; the p-value of a look is scaled to the usual level.
    tested = {k: o for k, o in primaries.items() if o.condition.needs and not math.isnan(o.p_value)}
    p_values = [min(1.0, o.p_value * (LEVEL / (o.level or LEVEL))) for o in tested.values()]
    adjusted = false_discovery_control(p_values).tolist() if tested else []
    q = dict(zip(tested, adjusted, strict=True))
    return [{s: q[i, s] for s in f.settings if (i, s) in q} for i, f in enumerate(findings)]
