"""A prediction as one JSON document: ``prediction.json`` and ``anchorflow predict --json``."""

from __future__ import annotations

from typing import Any, Literal

import numpy as np
from pydantic import Field

from theory import Task
from theory.edge.arrays import FloatArray
from theory.task.task import task_to_dict
from validate.plain import Result
from validate.predict.statistics import Statistics, TokenStatistics

Matrix = list[list[float | None]]
"""Cosines of some tokens; null where samples do not resolve one."""


class Numbers(Result):
    """Every number of a prediction, or its standard error."""

    tokens: list[TokenStatistics]
    cosines: dict[str, dict[str, Matrix]]
    label_distributions: dict[str, list[float]]
    marginal: list[float]

    @staticmethod
    def of(task: Task, found: Statistics, which: Literal["value", "standard_error"]) -> dict[str, Any]:
        """Return the fields, of the values or of their standard errors."""
        shares = zip(task.anchors, getattr(found.shares, which).tolist(), strict=True)
        return {
            "tokens": found.tokens if which == "value" else found.token_errors,
            "cosines": {
                group: {name: plain(getattr(each.over(lambda m: m), which)) for name, each in own.items()}
                for group, own in found.cosines.items()
            },
            "label_distributions": {str(s): row for s, row in shares},
            "marginal": getattr(found.marginal, which).tolist(),
        }


class FlowCosines(Result):
    """The size of all anchors' cosines, by training accuracy; the distance of two starts; the cost."""

    anchors: tuple[int, ...]
    cosines: dict[str, Matrix]
    apart: dict[str, float | None]
    seconds: float


class PredictionDocument(Numbers):
    """The whole prediction; fields that do not apply are left out."""

    format: Literal["anchorflow/prediction/1"] = Field(alias="schema")
    task: dict[str, Any]
    left_out: list[str]
    n_samples: int | None = None
    seed: int | None = None
    standard_error: Numbers | None = None
    exact_tokens: list[int] | None = None
    notes: list[str] | None = None
    flow: FlowCosines | None = None
    learning: dict[str, Any] | None = None

    @classmethod
    def of_task(
        cls, task: Task, found: Statistics, left_out: list[str], notes: list[str]
    ) -> PredictionDocument:
        """Return the document of some statistics."""
        of_samples = {
            "n_samples": found.n_samples,
            "seed": found.seed,
            "standard_error": Numbers.of(task, found, "standard_error"),
            "exact_tokens": list(found.exact_tokens),
            "notes": notes,
        }
        about = {"schema": "anchorflow/prediction/1", "task": task_to_dict(task), "left_out": left_out}
        own = Numbers.of(task, found, "value")
        return cls.model_validate(about | own | (of_samples if found.why else {}))

    def to_json(self) -> dict[str, Any]:
        """Return plain data for JSON."""
        return self.model_dump(mode="json", by_alias=True, exclude_unset=True)


def plain(matrix: FloatArray) -> Matrix:
    """Return a matrix as lists, NaN as None."""
    return [[None if np.isnan(x) else x for x in row] for row in matrix.tolist()]
