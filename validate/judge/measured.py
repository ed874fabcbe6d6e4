"""From runs to an endpoint's values, one a seed, and what is known of their spread from other settings."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

from validate.judge.condition import Condition
from validate.judge.inference import NO_PRIOR, Mean, Prior, Proportion, fit_prior
from validate.judge.settings import MissingRunsError, Needs, Sample
from validate.judge.stats import spread
from validate.observe import NotObservedError
from validate.observe.bounds import Bound, Value, ends, minus, step_of

ENOUGH = 4
"""Seeds from which on a setting's own variance counts alone: a pooled one is too small for two groups."""
Find = Callable[[Needs], Sample]
"""Finds the runs that a side needs, or raises ``MissingRunsError``."""
Absent = Callable[[Needs], str]
"""From needs to the seeds that were not found, in words; empty if all were."""


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
