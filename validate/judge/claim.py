"""What a claim is: a sentence of the paper, and the endpoints that decide it at each setting.

An endpoint is a measure, which turns a run into a number, and a threshold fixed beforehand, with its reason.
The files in ``claims`` hold the paper's claims; one of your own is the same line in a file of yours.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from inspect import Parameter, signature
from typing import Any, Literal

from theory import InputError
from theory.edge.display import Shown
from validate.observe import Observations

# --- where it is judged, and on which runs -------------------------------------------------------------

LEVEL = 0.05
"""The two-sided level of a test, where a setting has no other."""


@dataclass(frozen=True)
class Setup:
    """A setting at which claims are judged: a network and how it is trained.

    ``label`` is its column in the table of claims; the runs of ``study``, and of ``more`` with further seeds,
    stand for it. ``looks`` are pairs of a number of seeds and the level used from it on (O'Brien–Fleming);
    fewer seeds decide nothing.
    """

    label: str
    name: str = ""
    study: str = ""
    meaning: str = ""
    more: str = ""
    looks: tuple[tuple[int, float], ...] = ((2, LEVEL),)
    robustness: bool = False

    def look(self, n_seeds: int) -> int | None:
        """Return how many of that many seeds the last planned look takes; None for too few."""
        return max((n for n, _ in self.looks if n <= n_seeds), default=None)

    def level(self, n_seeds: int) -> float | None:
        """Return the two-sided level at which that many seeds are judged; None for too few."""
        return dict(self.looks).get(self.look(n_seeds) or 0)


@dataclass(frozen=True)
class Steps:
    """How many steps of a measure make up 1: seeds that agree are known to agree only to within a step.

    ``most`` is for most studies, ``others`` for studies of another size.
    """

    most: float
    others: dict[tuple[str, ...], float] = field(default_factory=dict)

    def step(self, study: str) -> float:
        """Return how far apart neighbouring values are at a study's size."""
        return 1 / next((n for studies, n in self.others.items() if study in studies), self.most)


ALL_VARIANTS = "*"


@dataclass(frozen=True, init=False)
class Runs:
    """Runs of a study in place of the setting's own, of some of its variants or of ``ALL_VARIANTS``."""

    study: str
    variants: tuple[str, ...]

    def __init__(self, study: str = "", *variants: str) -> None:
        object.__setattr__(self, "study", study)
        object.__setattr__(self, "variants", variants or ("",))


OfRuns = Runs | Mapping[Setup, Runs]
"""For all settings of a claim, or for some of them by setting; the others have their own."""

# --- measures ----------------------------------------------------------------------------------------

Seed = Mapping[tuple[str, float], Observations]
"""One seed's runs at some cells; a cell is a variant of a study ("" where it has none) and γ."""
Sample = Mapping[tuple[str, float], Sequence[Observations]]
"""The runs of each cell, one a seed."""
Measure = Callable[..., Any]
"""From what the name of its first parameter says, one of ``KINDS``, to a value."""
KINDS = ("run", "seed", "runs", "draw")
"""Of a run, of a seed's runs by cell, of the runs of all seeds at once (one value each), or of the number of
a random draw; a measure without a parameter is one number. ``partial`` gives further arguments."""


def kind_of(measure: Measure) -> str:
    """Return which of ``KINDS`` a measure is of, empty for one computed number."""
    parameters = signature(measure).parameters.values()
    kind = next((p.name for p in parameters if p.kind is not Parameter.KEYWORD_ONLY), "")
    if kind not in ("", *KINDS):
        name = getattr(measure, "__name__", repr(measure))
        raise InputError("measure", name, f"of {kind!r}", f"name its first parameter {', '.join(KINDS)}")
    return kind


# --- thresholds --------------------------------------------------------------------------------------

Relation = Literal[">=", "<=", ">", "<", "within"]
_MET = {">=": operator.ge, "<=": operator.le, ">": operator.gt, "<": operator.lt}


@dataclass(frozen=True)
class Threshold:
    """When an endpoint holds. An effect within ``margin`` of the threshold is too small to matter."""

    relation: Relation
    value: float
    margin: float | None = None

    def __str__(self) -> str:
        if self.relation == "within":
            return f"within {self.margin or 0:g} of {self.value:g}"
        return f"{self.relation} {self.value:g}"

    def met(self, value: float) -> bool:
        """Return whether a value meets it; an undefined one does not."""
        if self.relation == "within":
            return abs(value - self.value) <= (self.margin or 0.0)
        return bool(_MET[self.relation](value, self.value))


def above(value: float, margin: float | None = None) -> Threshold:
    """Ask for an effect above a value; one within ``margin`` of it is no relevant effect."""
    return Threshold(">", value, margin)


def below(value: float, margin: float | None = None) -> Threshold:
    """Ask for an effect below a value; one within ``margin`` of it is no relevant effect."""
    return Threshold("<", value, margin)


def at_least(value: float, margin: float | None = None) -> Threshold:
    """Ask for a size; a mean within ``margin`` of it is at the threshold."""
    return Threshold(">=", value, margin)


def at_most(value: float, margin: float | None = None) -> Threshold:
    """Ask for a size not exceeded; a mean within ``margin`` of it is at the threshold."""
    return Threshold("<=", value, margin)


def within(margin: float, of: float = 0.0) -> Threshold:
    """Ask for equivalence: a mean at most ``margin`` from a value, by two one-sided tests."""
    return Threshold("within", of, margin)


# --- endpoints and claims ----------------------------------------------------------------------------


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
    scale: tuple[float, float] = (-math.inf, math.inf)
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
        The paper's words that it judges, quoted.
    section : str
        Where in the paper they stand, or what it is about.
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

    def _shown(self) -> tuple[str, tuple[str, ...], list[list[str]]]:
        judged = [("endpoint", e) for e in self.endpoints] + [("shown", e) for e in self.shown]
        rows = [[role, e.what, str(e.holds or ""), e.reason or self.reason] for role, e in judged]
        title = f"{self.number}. {self.name}" if self.number else self.name
        return f"{title}: {self.statement}", ("role", "measure", "threshold", "reason"), rows
