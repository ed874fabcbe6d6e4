"""What judging returns: plain values that the terminal, pages, notebooks and JSON show.

The models are the JSON documents: ``model_dump(mode="json", by_alias=True)`` writes one,
``model_json_schema(mode="serialization")`` describes it. Nothing is computed here but text.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Annotated, Any, Literal

from pydantic import Field, PlainSerializer, WithJsonSchema

from theory.edge.display import Shown
from validate.judge.claim import LEVEL, Relation, Threshold
from validate.judge.stats import Estimate
from validate.observe.bounds import Bound, Value
from validate.observe.observations import Result

State = Literal["holds", "fails", "undecided", "censored", "undefined", "not tested", "shown"]
Verdict = Literal["holds", "partly", "fails", "undecided", "censored", "not tested"]
Reading = Literal["", "no relevant effect", "at the threshold"]
NO_EFFECT: Reading = "no relevant effect"
AT_THRESHOLD: Reading = "at the threshold"
OUTCOME_HEADER = ("state", "role", "setting", "measure", "threshold", "mean [95 %]", "n")
_NUMBER = {"type": ["number", "null"]}
_BOUND = {"type": "object", "required": ["low", "high"], "additionalProperties": _NUMBER}


def _plain(value: Value) -> Any:
    if isinstance(value, Bound):
        return {"low": _plain(value.low), "high": _plain(value.high)}
    return value if math.isfinite(value) else None


OfSeed = Annotated[
    Any, PlainSerializer(_plain, when_used="json"), WithJsonSchema({"anyOf": [_NUMBER, _BOUND]})
]
"""One seed's value: a number, null where it is undefined, or the two ends of a bound."""


class Part(Result):
    """One side of a contrast, or the one measure, by itself."""

    measure: str
    runs: str
    values: tuple[OfSeed, ...]


class Outcome(Shown, Result):
    """An endpoint after the runs.

    Attributes
    ----------
    measure, reason, unit : str
        The endpoint in words, why threshold and margin are where they are, and how its number is written.
    role : {"endpoint", "shown"}
        Endpoints are judged, the first at a setting is its primary one; the rest is shown.
    relation, threshold, margin
        What was asked; an effect within the margin is too small to matter. None for what is shown.
    setting : str
        The label of the setting, a column of the table of claims.
    init_rates, runs, studies
        γ of the runs, or the two that are contrasted; the runs in words; their studies.
    state, corrected : str
        The state by itself, and after correction for the claim's endpoints at the setting (Holm).
    reading : str
        How an equivalence test reads it.
    estimate : Estimate
        Mean over seeds that have a value, with the interval at its level.
    adjusted : Estimate or None
        The same at the level to which the correction comes, where it leaves the endpoint undecided.
    side : str
        ≥, ≤ or ≈ where the mean is a bound.
    met : int or None
        How many seeds meet the threshold by themselves.
    level : float or None
        The two-sided level of test and interval; None for too few seeds.
    p_value, adjusted_p : float or None
        Of the state, and adjusted for the claim's endpoints at the setting (Holm).
    values, sides : tuple
        One value a seed, and those of each side by itself.
    missing, absent : str or None
        Why it could not be measured; how many of the study's seeds it was measured without, and why.
    sources : dict
        Where the runs' settings come from: paper, sibling, chosen or user; user, too, where runs disagree.
    """

    measure: str
    unit: str
    role: Literal["endpoint", "shown"]
    relation: Relation | None
    threshold: float | None
    margin: float | None
    reason: str
    setting: str
    init_rates: str
    runs: str
    studies: tuple[str, ...]
    state: State
    corrected: State
    reading: Reading
    estimate: Estimate
    adjusted: Estimate | None = None
    side: str
    met: int | None
    level: float | None
    p_value: float | None
    adjusted_p: float | None = None
    values: tuple[OfSeed, ...] = ()
    sides: tuple[Part, ...] = ()
    missing: str | None = None
    absent: str | None = None
    sources: Mapping[str, str] = {}

    @property
    def asked(self) -> str:
        """The threshold in words, empty where nothing is judged."""
        if self.relation is None or self.threshold is None:
            return ""
        return str(Threshold(self.relation, self.threshold, self.margin))

    def mean_text(self, brief: bool = False) -> str:
        """Return the mean with its interval, or how many seeds meet the threshold if there is none.

        The interval is the one that agrees with ``corrected``.
        """
        estimate, level = self.estimate, self.level
        if self.adjusted is not None and level and self.p_value and self.adjusted_p:
            estimate, level = self.adjusted, level * self.p_value / self.adjusted_p
        unknown = not math.isfinite(estimate.mean)
        if unknown and self.met:  # Too little is known of some seed for a mean.
            return f"{self.met} of {estimate.n} seeds {self.asked}"
        ends = [end for end in (estimate.low, estimate.high) if end is not None and math.isfinite(end)]
        known = "" if not ends or (brief and self.adjusted is None) else confidence(level)
        sign = f"{self.side} " * bool(self.side and not unknown)
        return sign + (estimate.brief if brief else str(estimate)) + known

    @property
    def with_unit(self) -> str:
        """The number with its unit, in two decimals."""
        return self.unit.format(self.mean_text(brief=True))

    def cells(self, header: Sequence[str], brief: bool = False) -> list[str]:
        """Return its cells in a table, by the names of the columns."""
        n, p = len(self.values), self.adjusted_p
        by_column = {
            "state": ": ".join(filter(None, (self.corrected, self.reading))),
            "role": self.role,
            "setting": self.setting,
            "γ": self.init_rates,
            "measure": self.measure,
            "threshold": self.asked,
            "mean [95 %]": self.missing or self.mean_text(brief),
            "n": str(self.estimate.n),
            "seeds": str(n) if self.met is None else f"{self.met}/{n}",
            "adjusted p": "" if p is None else "< 0.001" if p < 0.001 else f"{p:.3g}",
            "runs": self.runs,
            "why": "; ".join(filter(None, (self.reason, self.absent))),
        }
        return [by_column[name] for name in header]

    def _shown(self) -> tuple[str, tuple[str, ...], list[list[str]]]:
        result = f"not tested ({self.missing})" if self.missing else f"{self.mean_text()}, {self.corrected}"
        title = f"{self.measure} {self.asked}".rstrip()
        return f"{title}: {result}", OUTCOME_HEADER, [self.cells(OUTCOME_HEADER)]


class Finding(Shown, Result):
    """A claim after the runs.

    Attributes
    ----------
    number, name, statement, paper, section, opposing, appendix
        As of the claim.
    setting : str
        The likeliest setting with seeds enough for a look; without any, the likeliest that was tested.
    verdict : str
        The verdict there.
    verdicts : dict
        At every setting that the claim is about, the likeliest first.
    judged : tuple of str
        The settings with seeds enough for a look; without any, all that were tested.
    against_the_paper : bool
        Whether the verdict speaks against the paper: its claim fails, or an opposing one holds.
    q_values : dict
        At each setting the primary endpoint's p-value, adjusted for all claims (Benjamini–Hochberg).
    conditions : tuple of Outcome
        Each endpoint, and what is shown, at each setting.
    """

    number: int
    name: str
    statement: str
    paper: str
    section: str
    opposing: bool
    appendix: bool
    setting: str
    verdict: Verdict
    verdicts: Mapping[str, Verdict]
    judged: tuple[str, ...]
    against_the_paper: bool
    q_values: Mapping[str, float] = {}
    conditions: tuple[Outcome, ...] = Field(min_length=1)

    def endpoints(self, setting: str | None = None) -> list[Outcome]:
        """Return the endpoints at a setting, by default that of the verdict; the primary one is first."""
        setting = self.setting if setting is None else setting
        return [o for o in self.conditions if (o.setting, o.role) == (setting, "endpoint")]

    def rows(self, header: Sequence[str], brief: bool = False) -> list[list[str]]:
        """Return the cells of every condition in the columns of a table."""
        return [o.cells(header, brief) for o in self.conditions]

    @property
    def primary(self) -> Outcome:
        """The primary endpoint at the setting of the verdict."""
        return self.endpoints()[0]

    @property
    def is_measured(self) -> bool:
        """Whether any condition was measured."""
        return any(o.missing is None for o in self.conditions)

    @property
    def title(self) -> str:
        """Its number, where it has one, and its name."""
        return f"{self.number}. {self.name}" if self.number else self.name

    def _shown(self) -> tuple[str, tuple[str, ...], list[list[str]]]:
        verdicts = ", ".join(f"{v}{f' ({s})' if s else ''}" for s, v in self.verdicts.items())
        return f"{self.title}: {verdicts}", OUTCOME_HEADER, self.rows(OUTCOME_HEADER)


class Findings(Result):
    """What ``anchorflow claims --json`` prints."""

    format: Literal["anchorflow/claims/4"] = Field(default="anchorflow/claims/4", alias="schema")
    claims: tuple[Finding, ...]


def confidence(level: float | None, form: str = " ({})") -> str:
    """Return the level of an interval in some form, as " (98.4 %)"; nothing for the usual one."""
    return "" if level is None or level == LEVEL else form.format(f"{100 * (1 - level):.1f} %")
