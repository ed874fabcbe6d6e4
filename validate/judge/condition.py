"""An endpoint of a claim at one of its settings: the runs that each side needs there, and its values."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property, partial
from typing import Any, Literal

from theory import InputError
from validate.judge.claim import (
    ALL_VARIANTS,
    Claim,
    Endpoint,
    Measure,
    OfRuns,
    Other,
    Runs,
    Sample,
    Setup,
    Threshold,
    kind_of,
)
from validate.judge.inference import NO_PRIOR, Mean, Prior, Proportion
from validate.judge.stats import spread
from validate.observe import NotObservedError
from validate.observe.bounds import Bound, Value, ends, minus, step_of
from validate.observe.times import fitted_sets

Role = Literal["endpoint", "shown"]


class MissingRunsError(LookupError):
    """There are no runs for an endpoint; the message says which."""


@dataclass(frozen=True)
class Needs:
    """The runs that a measure needs: a study's at some γ, of some variants; all that it has if empty.

    ``least_rates`` is how many values of γ there have to be.
    """

    study: str
    init_rates: tuple[float, ...] = ()
    variants: tuple[str, ...] = ("",)
    least_rates: int = 1

    def __str__(self) -> str:
        rates = ", ".join(f"{rate:g}" for rate in self.init_rates) or "all"
        variants = ", ".join(filter(None, self.variants)) if self.variants else "all"
        return f"{self.study}{f' ({variants})' * bool(variants)}, γ = {rates}"


Find = Callable[[Needs], Sample]
"""Finds the runs that a side needs, or raises ``MissingRunsError``."""
Absent = Callable[[Needs], str]
"""From needs to the seeds that were not found, in words; empty if all were."""


@dataclass(frozen=True)
class Side:
    """One side of a contrast, or the whole of an endpoint, at a setting; a computed one ``needs`` no runs."""

    what: str
    measure: Measure
    needs: Needs | None = None
    learned: bool = False
    draws: int = 3

    def values(self, sample: Sample) -> dict[int, Value]:
        """Return one value a seed, by seed; NaN where it is undefined."""
        of = kind_of(self.measure)
        if of == "":
            return {0: self.measure()}
        if of == "draw":
            return {draw: self.measure(draw) for draw in range(self.draws)}
        cells = {cell: {run.config.seed: run for run in runs} for cell, runs in sample.items()}
        shared = sorted(set.intersection(*map(set, cells.values())))
        if of == "runs":
            values = self.measure([[runs[n] for runs in cells.values()] for n in shared])
            return dict(zip(shared, values, strict=True))
        if of == "run":
            (runs,) = cells.values()
            defined = [n for n in shared if not self.learned or fitted_sets(runs[n])]
            return dict.fromkeys(shared, math.nan) | {n: self.measure(runs[n]) for n in defined}
        return {n: self.measure({cell: runs[n] for cell, runs in cells.items()}) for n in shared}


@dataclass(frozen=True, eq=False)
class Condition:
    """An endpoint of a claim at one setting, with the runs that it needs there."""

    claim: Claim
    endpoint: Endpoint
    role: Role
    setup: Setup

    @property
    def reason(self) -> str:
        """Why its threshold is where it is."""
        return self.endpoint.reason or self.claim.reason

    @cached_property
    def sides(self) -> tuple[Side, ...]:
        """One, or two of which the second is subtracted from the first within each seed."""
        e = self.endpoint
        first = self._side(e.what, e.measure, e.at, e.runs)
        if e.minus is None:
            return (first,)
        other = e.minus if isinstance(e.minus, Other) else Other(at=e.minus)
        at = e.at if other.at is None else other.at
        return first, self._side(other.what or e.what, other.measure or e.measure, at, other.runs or e.runs)

    def _side(self, what: str, measure: Measure, at: float | tuple[float, ...], runs: OfRuns | None) -> Side:
        of = kind_of(measure)
        if of in ("", "draw"):
            return Side(what, measure, draws=self.endpoint.draws)
        named = self._runs(runs)
        study = named.study or self.setup.study
        if not study:
            problem = "needs runs, but neither a study nor a setting is given"
            raise InputError("endpoint", what, problem, 'add settings=(MLP,) or runs=Runs("emb-mlp")')
        rates = at if isinstance(at, tuple) else (at,)
        every = ALL_VARIANTS in named.variants
        least = 3 if of == "seed" and not rates and not every else 1
        needs = Needs(study, rates, () if every else named.variants, least)
        learned = self.claim.learned if self.endpoint.learned is None else self.endpoint.learned
        return Side(what, measure, needs, of == "run" and learned)

    def _runs(self, runs: OfRuns | None) -> Runs:
        for given in (runs, self.claim.runs):
            if isinstance(given, Mapping):
                given = given.get(self.setup)
            if given is not None:
                return given
        return Runs()

    @property
    def needs(self) -> tuple[Needs, ...]:
        """The runs of both sides; empty for what is computed."""
        return tuple(dict.fromkeys(side.needs for side in self.sides if side.needs is not None))

    @property
    def runs(self) -> str:
        """The runs in words, of a contrast those of both sides."""
        return " minus ".join(map(str, self.needs)) or "computed"

    @property
    def contrast(self) -> str:
        """γ of its runs, or the two γ that it contrasts: "0.8 − 0.3"."""
        rates = [", ".join(f"{rate:g}" for rate in s.needs.init_rates) for s in self.sides if s.needs]
        return " − ".join(dict.fromkeys(rates)) or "all"

    @property
    def step(self) -> float:
        """How far apart neighbouring values are in these runs; 0 for a measure without steps."""
        needs = self.sides[0].needs
        return self.endpoint.step.step(needs.study if needs else "") if self.endpoint.step else 0.0

    @property
    def scale(self) -> tuple[float, float]:
        """The values that it can take."""
        least, most = self.endpoint.scale
        return (least, most) if len(self.sides) == 1 else (least - most, most - least)

    @property
    def threshold(self) -> Threshold | None:
        """The threshold; None where nothing is judged."""
        return self.endpoint.holds if self.role == "endpoint" else None

    @property
    def kind(self) -> tuple[object, ...]:
        """What its variance is pooled by: measure, arguments, γ and runs of each side, never its words."""
        e = self.endpoint
        runs = e.runs or self.claim.runs
        told = runs if isinstance(runs, Runs) else tuple(runs.items()) if runs else None
        second = e.minus.runs if isinstance(e.minus, Other) else None
        sides = ((_key(side.measure), side.needs and side.needs.init_rates) for side in self.sides)
        return (*sides, told, second if isinstance(second, Runs) else None, e.counted_from)


def _key(value: Any) -> Any:
    """Return a measure with its arguments, or an argument, so that equal ones are equal."""
    if isinstance(value, partial):
        named = sorted(value.keywords.items())
        return _key(value.func), *map(_key, value.args), *((name, _key(argument)) for name, argument in named)
    return tuple(value) if isinstance(value, list) else value


def conditions_of(claim: Claim) -> list[Condition]:
    """Return the endpoints of a claim, then what is shown, at each of its settings."""
    asked: list[tuple[Role, Endpoint]] = [("endpoint", e) for e in claim.endpoints]
    asked += [("shown", e) for e in claim.shown]
    return [
        Condition(claim, endpoint, role, setup)
        for setup in claim.settings
        for role, endpoint in asked
        if endpoint.settings is None or setup in endpoint.settings
    ]


# --- values -------------------------------------------------------------------------------------------

ENOUGH = 4
"""Seeds from which on a setting's own variance counts alone: a pooled one is too small for two groups."""


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
            tuple(end if least is None else float(end >= least) for end in column)
            for column in (zip(*known, strict=True) if known else ((), ()))
        )
        return lows, highs

    @property
    def numbers(self) -> tuple[float, ...]:
        """The low or the high ends, whichever mean is nearer to the threshold, one per defined value."""
        holds = self.condition.threshold
        edge = math.nan if holds is None else holds.value
        return min(self.ends, key=lambda x: (math.isinf(sum(x)), abs(sum(x) - edge * len(x))))

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
            return [Proportion(round(sum(numbers)), len(numbers)) for numbers in self.ends]
        if len(self.ends[0]) >= ENOUGH:
            prior = NO_PRIOR
        return [Mean.of(numbers, self.variance(numbers), prior) for numbers in self.ends]


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
        return Measured(condition, missing=f"no seed has all of these runs: {condition.runs}")
    sources: dict[str, str] = {}
    for run in (run for sample in samples for runs in sample.values() for run in runs):
        for name, source in run.provenance.get("sources", {}).items():
            sources[name] = source if sources.get(name, source) == source else "user"
    values = tuple(tuple(of_side[seed] for seed in by_seed) for of_side in sides)
    told = "; ".join(dict.fromkeys(filter(None, map(absent, condition.needs))))
    return Measured(condition, tuple(by_seed.values()), values, absent=told, sources=sources)
