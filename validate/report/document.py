"""A report as one JSON document; its schema is ``ReportDocument.model_json_schema(mode="serialization")``."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import Field

from validate.compare.answer import Answer
from validate.compare.flow import Aligned
from validate.compare.ranking import RungDistance
from validate.compare.rows import Row
from validate.judge.result import Finding
from validate.plain import Result

Line = dict[str, Any]


class ErrorBudget(Result):
    """What each idealisation of the theory costs, and what is left out."""

    distances: tuple[RungDistance, ...]
    left_out: str


class NotDrawn(Result):
    """A figure of the paper that the runs cannot fill, and why."""

    number: int
    title: str
    reason: str


class ReportDocument(Result):
    """What ``report.json`` and ``anchorflow compare --json`` hold.

    ``stands_for`` are given runs that stand for a study, with their differences from those that thresholds
    were fixed for; ``aligned`` are the lines at equal training accuracy, by setting.
    """

    format: Literal["anchorflow/report/6"] = Field(default="anchorflow/report/6", alias="schema")
    title: str
    made: Line
    answers: tuple[Answer, ...]
    verdicts: tuple[Finding, ...]
    claims: tuple[Finding, ...]
    stands_for: tuple[Line, ...]
    comparison: tuple[Row, ...]
    aligned: dict[str, tuple[Aligned, ...]]
    error_budget: ErrorBudget
    settings: tuple[Line, ...]
    runs: tuple[Line, ...] = Field(min_length=1)
    equations: tuple[Line, ...]
    figures: tuple[Line, ...]
    figures_not_drawn: tuple[NotDrawn, ...]
