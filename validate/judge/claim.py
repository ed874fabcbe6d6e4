"""What a claim is: a sentence of the paper, and the endpoints that decide it at each setting.

An endpoint is a measure, which turns a run into a number, and a threshold fixed beforehand, with its reason.
The files in ``claims`` hold the paper's claims; one of your own is the same line in a file of yours.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from inspect import Parameter, signature
from typing import Any, Literal

from theory import InputError
from theory.edge.display import Shown
from validate.judge.runs import ALL_VARIANTS, Needs, Runs, Sample
from validate.judge.settings import Setup, Steps
from validate.judge.stats import ANY
from validate.judge.threshold import Threshold
from validate.observe import Observations
from validate.observe.bounds import Value
from validate.observe.times import has_learned

Measure = Callable[..., Any]
"""From what the name of its first parameter says, one of ``KINDS``, to a value."""
KINDS = ("run", "seed", "runs", "draw")
"""Of a run, of a seed's runs by cell, of the runs of all seeds at once (one value each), or of the number of
a random draw; a measure without a parameter is one number. ``partial`` gives further arguments."""
Role = Literal["endpoint", "shown"]
_HEADER = ("role", "setting", "measure", "threshold", "runs")


def kind_of(measure: Measure) -> str:
    """Return which of ``KINDS`` a measure is of, empty for one computed number."""
    parameters = signature(measure).parameters.values()
    kind = next((p.name for p in parameters if p.kind is not Parameter.KEYWORD_ONLY), "")
    if kind not in ("", *KINDS):
        name = getattr(measure, "__name__", repr(measure))
        raise InputError("measure", name, f"of {kind!r}", f"name its first parameter {', '.join(KINDS)}")
    return kind


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


OfRuns = Runs | Mapping[Setup, Runs]
"""For all settings of a claim, or for some of them by setting; the others have their own."""


# --- endpoints and claims -------------------------------------------------------------------------------


@dataclass(frozen=True)
class Other:
    """What is subtracted within each seed: another measure, γ or runs; the first side's where not given."""

    what: str = ""
    measure: Measure | None = None
    at: float | tuple[float, ...] | None = None
    runs: OfRuns | None = None


@dataclass(frozen=True, repr=False)
class Endpoint(Shown):
    """A mean over seeds, or a contrast within each seed, against a threshold fixed beforehand.

    Attributes
    ----------
    what : str
        The endpoint in words, which decide nothing.
    measure : callable
        From a run, or what else ``KINDS`` has, to a number.
    at : float or tuple of float
        γ of its runs; empty for all that the study has.
    minus : float, Other or None
        What is subtracted within each seed: the same measure at another γ, or anything else.
    holds : Threshold or None
        ``above``, ``below``, ``at_least``, ``at_most`` or ``within``; None where nothing is judged.
    reason : str
        Why threshold and margin are where they are; the claim's by default.
    scale : tuple of float
        The values that the measure can take.
    step : Steps or None
        How far apart neighbouring values are: seeds that agree may still differ by less.
    counted_from : float or None
        Where seeds fall into two groups: the value from which a seed counts, and the mean is their share.
    runs : Runs or dict of Setup to Runs, optional
        Runs in place of the setting's own; the claim's by default.
    settings : tuple of Setup, optional
        Those of the claim's settings that it is about; all by default.
    learned : bool, optional
        Whether a run that fitted no training set has no value; the claim's by default.
    draws : int
        How many random draws stand for seeds, if the measure is of a draw.
    unit : str
        A number of it as text, with {} for the number: "{} doublings", "cosine {}".
    """

    what: str
    measure: Measure
    at: float | tuple[float, ...] = ()
    minus: float | Other | None = None
    holds: Threshold | None = None
    reason: str = ""
    scale: tuple[float, float] = ANY
    step: Steps | None = None
    counted_from: float | None = None
    runs: OfRuns | None = None
    settings: tuple[Setup, ...] | None = None
    learned: bool | None = None
    draws: int = 3
    unit: str = "{}"

    def __post_init__(self) -> None:
        kind_of(self.measure)

    def _shown(self) -> tuple[str, tuple[str, ...], list[list[str]]]:
        asked = str(self.holds or "")
        header = ("measure", "threshold", "reason")
        return f"{self.what} {asked}".rstrip(), header, [[self.what, asked, self.reason]]


@dataclass(frozen=True, repr=False)
class Claim(Shown):
    """A sentence of the paper and the endpoints that decide it.

    Attributes
    ----------
    number : int
        In the ledger; 0 outside of it.
    name, statement : str
        In a few words, and in one sentence.
    paper : str
        The paper's words that it judges, and where they stand.
    section : str
        Where the paper says so.
    settings : sequence of Setup
        Where it is judged, the likeliest first.
    endpoints : sequence of Endpoint
        It holds where all of them do; the first is the primary one.
    shown : sequence of Endpoint
        What stands beside them and decides nothing.
    runs, reason, learned
        As of an endpoint, for all that do not say otherwise.
    opposing, appendix : bool
        Whether it is made against the paper, and whether it is about another paper.
    """

    number: int
    name: str
    statement: str
    endpoints: Sequence[Endpoint]
    shown: Sequence[Endpoint] = ()
    paper: str = ""
    section: str = ""
    settings: Sequence[Setup] = (Setup(""),)
    runs: OfRuns | None = None
    reason: str = ""
    learned: bool = False
    opposing: bool = False
    appendix: bool = False

    @cached_property
    def conditions(self) -> tuple[Condition, ...]:
        """Its endpoints, then what is shown, at each of its settings."""
        roles: tuple[tuple[Role, Sequence[Endpoint]], ...] = (
            ("endpoint", self.endpoints),
            ("shown", self.shown),
        )
        return tuple(
            Condition(self, endpoint, role, setup)
            for setup in self.settings
            for role, endpoints in roles
            for endpoint in endpoints
            if endpoint.settings is None or setup in endpoint.settings
        )

    @property
    def title(self) -> str:
        """Its number, where it has one, and its name."""
        return f"{self.number}. {self.name}" if self.number else self.name

    def _shown(self) -> tuple[str, tuple[str, ...], list[list[str]]]:
        return f"{self.title}: {self.statement}", _HEADER, [c.row() for c in self.conditions]


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

    def row(self) -> list[str]:
        """Return its line in a table of conditions."""
        return [self.role, self.setting, self.endpoint.what, str(self.threshold or ""), self.runs]


def _key(value: Any) -> Any:
    """Return a measure with its arguments, or an argument, so that equal ones are equal."""
    if isinstance(value, partial):
        named = sorted(value.keywords.items())
        return _key(value.func), *map(_key, value.args), *((name, _key(own)) for name, own in named)
    return tuple(value) if isinstance(value, list) else value
