"""An endpoint of a claim at one of its settings: the runs that each side needs there, and its values."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any, Literal

from theory import InputError
from validate.judge.claim import Claim, Endpoint, Measure, OfRuns, Other, Threshold, kind_of
from validate.judge.settings import ALL_VARIANTS, Needs, Runs, Sample, Setup
from validate.observe import Observations
from validate.observe.bounds import Value
from validate.observe.times import has_learned

Role = Literal["endpoint", "shown"]


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
            return {n: self._of_run(runs[n]) for n in shared}
        return {n: self.measure({cell: runs[n] for cell, runs in cells.items()}) for n in shared}

    def _of_run(self, run: Observations) -> Value:
        undefined = self.learned and not has_learned(run)
        value: Value = math.nan if undefined else self.measure(run)
        return value


@dataclass(frozen=True, eq=False)
class Condition:
    """An endpoint of a claim at one setting, with the runs that it needs there."""

    claim: Claim
    endpoint: Endpoint
    role: Role
    setup: Setup

    @property
    def setting(self) -> str:
        """The label of the setting."""
        return self.setup.label

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
        own = self._runs(runs)
        study = own.study or self.setup.study
        if not study:
            problem = "needs runs, but neither a study nor a setting is given"
            raise InputError("endpoint", what, problem, 'add settings=(MLP,) or runs=Runs("emb-mlp")')
        rates = at if isinstance(at, tuple) else (at,)
        every = ALL_VARIANTS in own.variants
        least = 3 if of == "seed" and not rates and not every else 1
        needs = Needs(study, rates, () if every else own.variants, least)
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
        """The runs in words."""
        return "; ".join(map(str, self.needs)) or "computed"

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
        return _key(value.func), *map(_key, value.args), *((name, _key(own)) for name, own in named)
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
