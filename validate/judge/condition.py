"""What a claim is: endpoints at settings, each a mean over seeds against a threshold fixed beforehand."""

from __future__ import annotations

import math
import operator
import tomllib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from theory.edge.display import Shown
from validate.judge.stats import ANY, LEVEL
from validate.observe import Observations
from validate.observe.bounds import Value

LARGE, SMALL = 0.3, 0.8
"""γ of large and of small initial weights, which the paper contrasts."""
Sample = Mapping[tuple[str, float], Sequence[Observations]]
"""The runs of each cell, one a seed; a cell is a variant of a study ("" where it has none) and γ."""
Seed = Mapping[tuple[str, float], Observations]
"""One seed's runs at some cells."""
Measure = Callable[[Sample], dict[int, Value]]
"""From runs to one value a seed, by seed; NaN where it is undefined."""
Relation = Literal[">=", "<=", ">", "<", "within"]
Role = Literal["endpoint", "shown"]
_HEADER = ("role", "setting", "measure", "threshold", "runs")
_HOLDS = {">=": operator.ge, "<=": operator.le, ">": operator.gt, "<": operator.lt}


@dataclass(frozen=True)
class Setup:
    """A setting at which claims are judged: a network and how it is trained, as ``settings.toml`` lists it.

    ``label`` is its column in the table of claims; the runs of ``study``, and of ``more`` with further seeds,
    stand for it. ``looks`` gives the level from each number of seeds on; fewer decide nothing.
    """

    label: str
    name: str = ""
    study: str = ""
    more: str = ""
    meaning: str = ""
    robustness: bool = False
    looks: Mapping[str, float] = field(default_factory=lambda: {"2": LEVEL})

    def look(self, n_seeds: int) -> int | None:
        """Return how many of that many seeds the last planned look takes; None for too few."""
        return max((int(n) for n in self.looks if int(n) <= n_seeds), default=None)

    def level(self, n_seeds: int) -> float | None:
        """Return the two-sided level at which that many seeds are judged; None for too few."""
        return self.looks.get(str(self.look(n_seeds)))


SETTINGS_DATA: dict[str, Any] = tomllib.loads(
    Path(__file__).with_name("settings.toml").read_text(encoding="utf-8")
)
SETTINGS = tuple(Setup(**entry) for entry in SETTINGS_DATA["setting"])
"""The likeliest setting of the paper first, fixed by where it comes from and not by what it shows."""
BY_LABEL = {setup.label: setup for setup in SETTINGS}
GROUPS: dict[str, list[str]] = SETTINGS_DATA["groups"]
"""The labels of each group of settings that claims name."""
NORMED, FULL_SIZE = (tuple(BY_LABEL[label] for label in GROUPS[name]) for name in ("normed", "full-size"))
"""The Transformers with layer norm, and those on the paper's whole task."""
MORE = {setup.study: setup for setup in SETTINGS if setup.more}
"""The settings with a study that another one continues with further seeds, by study."""


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


def by_seed(function: Callable[..., Any], of: str, draws: int = 1) -> Measure:
    """Return the measure that gives each seed its value.

    The function is applied ``of`` a "run" of the only cell, a "seed"'s runs by cell, the "runs" of all
    seeds at once (one value each), the number of a random "draw", or nothing (one computed number).
    """

    def measure(sample: Sample) -> dict[int, Value]:
        if of == "":
            return {0: function()}
        if of == "draw":
            return {draw: function(draw) for draw in range(draws)}
        cells = {cell: {run.config.seed: run for run in runs} for cell, runs in sample.items()}
        shared = sorted(set.intersection(*map(set, cells.values())))
        if of == "runs":
            values = function([[runs[n] for runs in cells.values()] for n in shared])
            return dict(zip(shared, values, strict=True))
        if of == "run":
            (runs,) = cells.values()
            return {n: function(runs[n]) for n in shared}
        return {n: function({cell: runs[n] for cell, runs in cells.items()}) for n in shared}

    return measure


@dataclass(frozen=True)
class Side:
    """One side of a contrast, or the whole of a condition; one that is computed ``needs`` no runs."""

    what: str
    measure: Measure
    needs: Needs | None = None


def asked_text(relation: str, threshold: float, margin: float | None) -> str:
    """Return a threshold in words."""
    return f"within {margin or 0:g} of {threshold:g}" if relation == "within" else f"{relation} {threshold:g}"


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
        An effect within it is too small to matter: an interval within it means "no relevant effect".
    within : tuple of float
        The values that it can take.
    reason : str
        Why threshold and margin are where they are.
    role : {"endpoint", "shown"}
        A claim's endpoints are judged, and the first is the primary one; the rest is shown.
    setting : str
        The label of the setting that it is about.
    step : float
        The distance between neighbouring values: seeds that agree may still differ by less than it.
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
    role: Role = "endpoint"
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
        rates = [", ".join(f"{rate:g}" for rate in s.needs.init_rates) for s in self.sides if s.needs]
        return " − ".join(dict.fromkeys(rates)) or "all"

    @property
    def asked(self) -> str:
        """The threshold in words, empty where nothing is judged."""
        return "" if self.role == "shown" else asked_text(self.relation, self.threshold, self.margin)

    def met(self, value: float) -> bool:
        """Return whether a value meets the threshold; an undefined one does not."""
        if self.relation == "within":
            return abs(value - self.threshold) <= (self.margin or 0.0)
        return bool(_HOLDS[self.relation](value, self.threshold))

    def row(self) -> list[str]:
        """Return its line in a table of conditions."""
        return [self.role, self.setting, self.what, self.asked, self.runs]

    def _shown(self) -> tuple[str, tuple[str, ...], list[list[str]]]:
        return f"{self.what} {self.asked}".rstrip(), _HEADER, [self.row()]


@dataclass(frozen=True, repr=False)
class Claim(Shown):
    """A statement and the conditions under which it holds.

    Attributes
    ----------
    name, statement : str
        In a few words, and in one sentence.
    conditions : tuple of Condition
        At each setting the first endpoint is the primary one.
    number : int
        In the ledger; 0 outside of it.
    section : str
        Where the paper says so.
    opposing, appendix : bool
        Whether it is made against the paper, and whether it is about another paper.
    """

    name: str
    statement: str
    conditions: tuple[Condition, ...]
    number: int = 0
    section: str = ""
    opposing: bool = False
    appendix: bool = False

    @property
    def title(self) -> str:
        """Its number, where it has one, and its name."""
        return f"{self.number}. {self.name}" if self.number else self.name

    def _shown(self) -> tuple[str, tuple[str, ...], list[list[str]]]:
        return f"{self.title}: {self.statement}", _HEADER, [c.row() for c in self.conditions]
