"""What a claim is: conditions with fixed thresholds, and the controls that have to fail."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

from sim.runs.files import finite
from theory.display import Shown
from validate.judge.bounds import Value
from validate.judge.stats import ANY
from validate.judge.times import has_learned
from validate.observe import Observations

Cell = tuple[str, float]
"""A variant of a study ("" where it has none) and γ."""
Sample = Mapping[Cell, Sequence[Observations]]
"""The runs that a measure is about: for each cell one run a seed, sorted by seed."""
Seed = Mapping[Cell, Observations]
"""One seed's runs, by variant and γ."""
Measure = Callable[[Sample], Sequence[Value]]
"""From the runs to one value a seed: a number, or a bound where a run was too short."""
Role = Literal["claim", "control", "note"]
Relation = Literal[">=", "<=", ">", "<"]
SMALL, LARGE = 0.8, 0.3
"""The γ of small initial weights, and that of large ones."""
ALL_RATES: tuple[float, ...] = ()
ALL_VARIANTS: tuple[str, ...] = ()

_CONDITIONS = ("role", "setting", "measure", "threshold", "runs")


@dataclass(frozen=True)
class Needs:
    """The runs that a condition is about.

    Attributes
    ----------
    study : str
    init_rates : tuple of float
        γ; ``ALL_RATES`` for every γ of the study.
    variants : tuple of str
        Variants of the study; "" where it has none, ``ALL_VARIANTS`` for each.
    least_rates : int
        How many values of γ the measure needs at least.
    """

    study: str
    init_rates: tuple[float, ...] = ALL_RATES
    variants: tuple[str, ...] = ("",)
    least_rates: int = 1

    def __str__(self) -> str:
        rates = ", ".join(f"{rate:g}" for rate in self.init_rates) or "all"
        variants = ", ".join(name for name in self.variants if name) or ("" if self.variants else "all")
        return f"{self.study}{f' ({variants})' if variants else ''}, γ = {rates}"


@dataclass(frozen=True, repr=False)
class Condition(Shown):
    """One measure against one threshold.

    Attributes
    ----------
    what : str
        The measure in words.
    measure : callable
        From the runs to one number a seed; from an empty sample if ``needs`` is None.
    relation : {">=", "<=", ">", "<"}
    threshold : float
        NaN for a note.
    within : tuple of float
        The values that the measure can take.
    reason : str
        Why the threshold is where it is.
    needs : Needs or None
        The runs; None for what is computed without any.
    role : {"claim", "control", "note"}
        A control has to miss its threshold: it measures the same where the claimed effect must be absent.
        A note is reported and decides nothing.
    part : str
        Which part of the claim it belongs to; a part stands or falls with its own controls.
    setting : str
        The label of the setting (``validate.claims.settings``) that it is about.
    step : float
        The distance of neighbouring values that the measure can take: equal values of a share of six key
        positions do not say that it never varies (``validate.judge.stats.standard_error``). 0 for any value.
    """

    what: str
    measure: Measure
    relation: Relation = ">="
    threshold: float = math.nan
    within: tuple[float, float] = ANY
    reason: str = ""
    needs: Needs | None = None
    role: Role = "claim"
    part: str = ""
    setting: str = ""
    step: float = 0.0

    @property
    def init_rate(self) -> float | None:
        """γ of the runs, where they have one in common."""
        rates = self.needs.init_rates if self.needs else ()
        return rates[0] if len(rates) == 1 else None

    def as_dict(self) -> dict[str, Any]:
        """Return plain data for JSON: measure, role, threshold and its reason."""
        return {
            "measure": self.what,
            "role": self.role,
            "relation": None if self.role == "note" else self.relation,
            "threshold": finite(self.threshold),
            "reason": self.reason,
        }

    def met(self, value: float) -> bool:
        """Return whether a value meets the threshold; an undefined one does not."""
        if self.relation == ">=":
            return value >= self.threshold
        if self.relation == "<=":
            return value <= self.threshold
        return value > self.threshold if self.relation == ">" else value < self.threshold

    @property
    def asked(self) -> str:
        """The threshold in words, empty for a note."""
        return "" if self.role == "note" else f"{self.relation} {self.threshold:g}"

    def _shown(self) -> tuple[str, tuple[str, ...], list[list[str]]]:
        return f"{self.role}: {self.what} {self.asked}".rstrip(), _CONDITIONS, [self.row()]

    def row(self) -> list[str]:
        """Return its line in a table of conditions."""
        return [self.role, self.setting, self.what, self.asked, str(self.needs) if self.needs else "computed"]


def with_control(
    condition: Condition,
    reason: str,
    *,
    needs: Needs | None = None,
    measure: Measure | None = None,
    what: str = "",
) -> tuple[Condition, Condition]:
    """Return a condition and its own control, which has the same threshold.

    Parameters
    ----------
    condition : Condition
    reason : str
        Why the control has to fail.
    needs : Needs, optional
        The control's runs; the condition's own by default.
    measure : callable, optional
        The control's measure; the condition's own by default.
    what : str, optional
        That measure in words.
    """
    own = replace(condition, part=condition.part or f"{condition.what}; {condition.needs}")
    control = replace(
        own,
        what=what or own.what,
        role="control",
        reason=reason,
        needs=needs or own.needs,
        measure=measure or own.measure,
    )
    return own, control


def note(
    what: str, measure: Measure, needs: Needs | None = None, within: tuple[float, float] = ANY
) -> Condition:
    """Return a condition that is reported and decides nothing."""
    return Condition(what, measure, within=within, needs=needs, role="note")


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
    number : int
        In the ledger; 0 outside of it.
    section : str
        Where the paper says so.
    opposing : bool
        Whether it is said against the paper.
    """

    name: str
    statement: str
    conditions: tuple[Condition, ...]
    number: int = 0
    section: str = ""
    opposing: bool = False

    @property
    def studies(self) -> tuple[str, ...]:
        """The studies whose runs it needs, each once."""
        return tuple(dict.fromkeys(c.needs.study for c in self.conditions if c.needs))

    def _shown(self) -> tuple[str, tuple[str, ...], list[list[str]]]:
        number = f"{self.number}. " if self.number else ""
        n = len(self.conditions)
        title = f"{number}{self.name}: {self.statement} ({n} condition{'s' * (n != 1)})"
        return title, _CONDITIONS, [condition.row() for condition in self.conditions]


def each(function: Callable[[Observations], Value]) -> Measure:
    """Return the measure that applies a function to every run of one cell."""

    def measure(sample: Sample) -> list[Value]:
        (runs,) = sample.values()
        return [function(run) for run in runs]

    return measure


def if_learned(function: Callable[[Observations], Value]) -> Callable[[Observations], Value]:
    """Return a measure of a run that is undefined where the run fitted no training set."""
    return lambda run: function(run) if has_learned(run) else math.nan


def each_seed(function: Callable[[Seed], Value]) -> Measure:
    """Return the measure that applies a function to a seed's runs at all cells.

    Seeds that a cell lacks are left out: the comparison is within a seed.
    """

    def measure(sample: Sample) -> list[Value]:
        by_seed = {cell: {run.config.seed: run for run in runs} for cell, runs in sample.items()}
        shared = sorted(set.intersection(*(set(found) for found in by_seed.values())))
        return [function({cell: found[seed] for cell, found in by_seed.items()}) for seed in shared]

    return measure
