"""A report as one JSON document; its schema is ``ReportDocument.model_json_schema(mode="serialization")``."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import Field

from validate.compare.answer import Answer
from validate.compare.ranking import RungDistance
from validate.compare.rows import Row
from validate.judge.result import Finding
from validate.judge.stats import Estimate
from validate.plain import Result


class StandsFor(Result):
    """Given runs that stand for a study, and their differences from those that thresholds were fixed for."""

    study: str
    variant: str | None
    runs: list[dict[str, float]] = Field(min_length=1)
    differences: tuple[str, ...]


class AlignedLine(Result):
    """How one predictor does at one training accuracy, over all pairs of anchors of a setting."""

    setting: str
    level: float
    predictor: str
    pearson: Estimate
    slope: Estimate
    rmse: Estimate
    seconds: float


class ErrorBudget(Result):
    """What each idealisation of the theory costs, and what is left out."""

    distances: tuple[RungDistance, ...]
    left_out: str


class Configured(Result):
    """A key of a configuration, and where its value comes from."""

    name: str
    value: Any
    source: Literal["paper", "sibling", "chosen", "user"]


class SettingLine(Result):
    """Runs that differ in nothing but the seed."""

    setting: str
    init_rate: float
    seeds: list[int]
    snapshot_epochs: list[int]
    configuration: list[Configured]


class RunLine(Result):
    """A run: where it lies, its setting, configuration, provenance and metrics."""

    path: str
    setting: str
    config: dict[str, Any]
    provenance: dict[str, Any]
    metrics: list[dict[str, Any]]


class Equation(Result):
    """An equation of the paper, the functions that compute it, and the largest error that tests recorded."""

    equation: str
    says: str
    functions: list[str]
    derivation: str | None
    largest_error: float | None
    standing: str


class FigureLine(Result):
    """A figure's texts, and the numbers behind its panels."""

    name: str
    title: str
    caption: str
    note: str
    numbers: list[str]


class NotDrawn(Result):
    """A figure of the paper that the runs cannot fill, and why."""

    number: int
    title: str
    reason: str


class ReportDocument(Result):
    """What ``report.json`` and ``anchorflow compare --json`` hold."""

    format: Literal["anchorflow/report/5"] = Field(default="anchorflow/report/5", alias="schema")
    title: str
    made: dict[str, Any]
    answers: tuple[Answer, ...]
    verdicts: tuple[Finding, ...]
    claims: tuple[Finding, ...]
    stands_for: tuple[StandsFor, ...]
    comparison: tuple[Row, ...]
    aligned: tuple[AlignedLine, ...]
    error_budget: ErrorBudget
    settings: tuple[SettingLine, ...]
    runs: tuple[RunLine, ...] = Field(min_length=1)
    equations: tuple[Equation, ...]
    figures: tuple[FigureLine, ...]
    figures_not_drawn: tuple[NotDrawn, ...]
