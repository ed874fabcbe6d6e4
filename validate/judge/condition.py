"""What a claim is: endpoints, each a mean over seeds against a threshold that was fixed beforehand."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from sim.runs.files import finite
from theory.display import Shown
from validate.judge.bounds import Value, minus
from validate.judge.stats import ANY
from validate.observe import Observations

LARGE, SMALL = 0.3, 0.8
"""γ of large and of small initial weights, between which the paper contrasts."""
Cell = tuple[str, float]
"""A variant of a study ("" where it has none) and γ."""
Sample = Mapping[Cell, Sequence[Observations]]
"""The runs of each cell, one a seed."""
Seed = Mapping[Cell, Observations]
"""One seed's runs at some cells."""
Measure = Callable[[Sample], dict[int, Value]]
"""From runs to one value a seed, by seed; NaN where it is undefined."""
Relation = Literal[">=", "<=", ">", "<", "within"]


@dataclass(frozen=True)
class Needs:
    """The runs that a measure is taken of.

    Attributes
    ----------
    study : str
    init_rates : tuple of float
        γ; all that have runs if empty.
    variants : tuple of str
        All that the study defines if empty.
    least_rates : int
        How many values of γ there have to be.
    """

    study: str
    init_rates: tuple[float, ...] = ()
    variants: tuple[str, ...] = ("",)
    least_rates: int = 1

    def __str__(self) -> str:
        rates = ", ".join(f"{rate:g}" for rate in self.init_rates) or "all"
        variants = ", ".join(name for name in self.variants if name) or ("" if self.variants else "all")
        return f"{self.study}{f' ({variants})' if variants else ''}, γ = {rates}"


@dataclass(frozen=True)
class Side:
    """A measure of some runs: one side of a contrast, or the whole of a condition.

    Attributes
    ----------
    what : str
        The measure in words.
    measure : callable
    needs : Needs or None
        None for what is computed without runs.
    """

    what: str
    measure: Measure
    needs: Needs | None = None


@dataclass(frozen=True, repr=False)
class Condition(Shown):
    """One endpoint: a mean over seeds, or a contrast within each seed, against a threshold.

    Attributes
    ----------
    what : str
        The endpoint in words.
    sides : tuple of Side
        One, or two of which the second is subtracted from the first within each seed.
    relation : {">=", "<=", ">", "<", "within"}
        "within": at most ``margin`` from the threshold.
    threshold : float
        NaN where nothing is judged.
    margin : float or None
        What is too small an effect to matter: an interval within it says "no relevant effect".
    within : tuple of float
        The values that it can take.
    reason : str
        Why threshold and margin are where they are.
    role : {"endpoint", "shown"}
        A claim's endpoints are judged, the first of them is its primary one; the rest is shown.
    setting : str
        The label of the setting that it is about.
    step : float
        The distance of neighbouring values; seeds that agree do not agree any closer.
    counted_from : float or None
        Where seeds fall into two groups: the value from which a seed counts, and the mean is their share.
    """

    what: str
    sides: tuple[Side, ...]
    relation: Relation = ">"
    threshold: float = math.nan
    margin: float | None = None
    within: tuple[float, float] = ANY
    reason: str = ""
    role: Literal["endpoint", "shown"] = "endpoint"
    setting: str = ""
    step: float = 0.0
    counted_from: float | None = None

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
        rates = [
            ", ".join(f"{rate:g}" for rate in side.needs.init_rates) for side in self.sides if side.needs
        ]
        return " − ".join(dict.fromkeys(rates)) or "all"

    @property
    def asked(self) -> str:
        """The threshold in words, empty where nothing is judged."""
        if self.role == "shown":
            return ""
        if self.relation == "within":
            return f"within {self.margin:g} of {self.threshold:g}"
        return f"{self.relation} {self.threshold:g}"

    def met(self, value: float) -> bool:
        """Return whether a value meets the threshold; an undefined one does not."""
        if self.relation == "within":
            return abs(value - self.threshold) <= (self.margin or 0.0)
        if self.relation in (">", ">="):
            return value > self.threshold or (self.relation == ">=" and value == self.threshold)
        return value < self.threshold or (self.relation == "<=" and value == self.threshold)

    def as_dict(self) -> dict[str, Any]:
        """Return plain data for JSON."""
        judged = self.role == "endpoint"
        return {
            "measure": self.what,
            "role": self.role,
            "relation": self.relation if judged else None,
            "threshold": finite(self.threshold),
            "margin": self.margin,
            "reason": self.reason,
        }

    def _shown(self) -> tuple[str, tuple[str, ...], list[list[str]]]:
        return f"{self.what} {self.asked}".rstrip(), _HEADER, [self.row()]

    def row(self) -> list[str]:
        """Return its line in a table of conditions."""
        return [self.role, self.setting, self.what, self.asked, self.runs]


_HEADER = ("role", "setting", "measure", "threshold", "runs")


@dataclass(frozen=True, repr=False)
class Claim(Shown):
    """A statement, and what has to be measured for it to hold.

    Attributes
    ----------
    name : str
        In a few words.
    statement : str
        In one sentence.
    conditions : tuple of Condition
        At each setting the first endpoint is the primary one.
    number : int
        In the ledger; 0 outside of it.
    section : str
        Where the paper says so.
    opposing, appendix : bool
        Whether it is said against the paper, and whether it is of another paper.
    """

    name: str
    statement: str
    conditions: tuple[Condition, ...]
    number: int = 0
    section: str = ""
    opposing: bool = False
    appendix: bool = False

    @property
    def studies(self) -> tuple[str, ...]:
        """The studies whose runs it needs, each once."""
        return tuple(dict.fromkeys(needs.study for c in self.conditions for needs in c.needs))

    def _shown(self) -> tuple[str, tuple[str, ...], list[list[str]]]:
        number = f"{self.number}. " if self.number else ""
        return f"{number}{self.name}: {self.statement}", _HEADER, [c.row() for c in self.conditions]


def each(function: Callable[[Observations], Value]) -> Measure:
    """Return the measure that applies a function to every run of one cell."""

    def measure(sample: Sample) -> dict[int, Value]:
        (runs,) = sample.values()
        return {run.config.seed: function(run) for run in runs}

    return measure


def each_seed(function: Callable[[Seed], Value]) -> Measure:
    """Return the measure that applies a function to a seed's runs at all cells; seeds that one lacks go."""

    def measure(sample: Sample) -> dict[int, Value]:
        by_seed = {cell: {run.config.seed: run for run in runs} for cell, runs in sample.items()}
        shared = sorted(set.intersection(*(set(runs) for runs in by_seed.values())))
        return {seed: function({cell: runs[seed] for cell, runs in by_seed.items()}) for seed in shared}

    return measure


def together(function: Callable[[Sequence[Sequence[Observations]]], Sequence[Value]]) -> Measure:
    """Return the measure that sees the runs of all seeds at once, and gives each seed its value."""

    def measure(sample: Sample) -> dict[int, Value]:
        of_seeds = each_seed(lambda seed: seed)(sample)  # type: ignore[arg-type, return-value]
        runs = [list(seed.values()) for seed in of_seeds.values()]  # type: ignore[union-attr]
        return dict(zip(of_seeds, function(runs), strict=True))

    return measure


def each_draw(function: Callable[[int], Value], draws: int) -> Measure:
    """Return the measure that needs no runs and has one value for each of some draws."""
    return lambda sample: {draw: function(draw) for draw in range(draws)}


def once(function: Callable[[], Value]) -> Measure:
    """Return the measure that needs no runs and is one number, without chance."""
    return lambda sample: {0: function()}


def difference(first: Mapping[int, Value], second: Mapping[int, Value]) -> dict[int, Value]:
    """Return one side minus the other within each seed that both have."""
    return {seed: minus(first[seed], second[seed]) for seed in first if seed in second}
