"""Label statistics and predicted cosines of a task whose labels can be counted."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from theory import (
    Mapping,
    Task,
    TooManyEntriesError,
    finite_sample_cosine,
    label_distribution,
    marginal_distribution,
    off_diagonal,
    token_ratio,
)
from theory.arrays import FloatArray
from theory.display import ranges
from validate.figures.embedding import label_curves
from validate.figures.panels.curves import Curves
from validate.judge.compare import ALL, groups_of
from validate.judge.stats import UNDEFINED
from validate.predict.by_distance import distance_notes, known_mean, means_text, pairs_apart
from validate.predict.predictors import Tokens, task_cosines

Cosines = dict[str, dict[str, FloatArray]]
"""Group → predictor → matrix of shape (n, n)."""
ONE_DATA_SET = "expected in one data set"


@dataclass(frozen=True)
class TokenStatistics:
    """One token's label distribution in numbers, of the training data."""

    token: int
    kind: str
    ratio: float
    mean: float
    std: float
    norm2: float


@dataclass(frozen=True)
class ExactStatistics:
    """What can be counted.

    Attributes
    ----------
    task : Task
    tokens : list of TokenStatistics
    cosines : dict
    """

    task: Task
    tokens: list[TokenStatistics]
    cosines: Cosines

    @classmethod
    def of(cls, task: Task) -> ExactStatistics:
        """Count the labels of a task, or raise ``TooManyEntriesError``."""
        tokens = [_statistics(task, s) for s in shown_tokens(task)]
        cosines = {
            name: task_cosines(task, found) | finite_sample(task, found)
            for name, found in groups_of(task).items()
        }
        return cls(task, tokens, cosines)

    def token_rows(self) -> list[list[str]]:
        """Return one line per token: its kind, r_s, and its label distribution in numbers."""
        return [
            [str(t.token), t.kind, f"{t.ratio:.4g}", f"{t.mean:.2f}", f"{t.std:.2f}", f"{t.norm2:.3g}"]
            for t in self.tokens
        ]

    def cosine_rows(self) -> list[list[str]]:
        """Return one line per group and predictor: mean, extremes, and the mean at each distance."""
        rows = []
        for group, tokens in groups_of(self.task).items():
            apart = pairs_apart(tokens)
            for name, matrix in self.cosines[group].items():
                pairs = off_diagonal(matrix)
                by_distance = means_text([*apart], [_cell(known_mean(matrix[at])) for at in apart.values()])
                summary = [
                    _cell(known_mean(pairs)),
                    _cell(np.fmin.reduce(pairs)),
                    _cell(np.fmax.reduce(pairs)),
                ]
                rows.append([group, name, *summary, by_distance])
        return rows

    def notes(self) -> list[str]:
        """Return sentences on how the numbers are shown."""
        return [
            *distance_notes(groups_of(self.task).values()),
            *too_few_notes(self.task),
            *self._undefined(),
        ]

    def _undefined(self) -> list[str]:
        """Return a sentence for each predictor with anchors whose vectors are zero."""
        found: dict[str, set[int]] = defaultdict(set)
        for group, tokens in groups_of(self.task).items():
            for name, matrix in self.cosines[group].items():
                found[name].update(np.array(tokens)[np.isnan(np.diagonal(matrix))].tolist())
        return [
            f"{UNDEFINED} under {name}: that vector of {ranges(sorted(lost))} is zero, and has no direction."
            for name, lost in found.items()
            if lost
        ]

    def label_distributions(self, mapping: Mapping) -> Curves:
        """Return the panel of a mapping's label distributions."""
        return label_curves(self.task, mapping.anchors, f"{mapping.name} anchors")

    def to_json(self) -> dict[str, Any]:
        """Return plain data."""
        anchors = {str(s): label_distribution(self.task, s, held_out=True) for s in self.task.anchors}
        return {
            "tokens": [asdict(t) for t in self.tokens],
            "cosines": plain_cosines(self.cosines),
            "label_distributions": {s: distribution.tolist() for s, distribution in anchors.items()},
            "marginal": marginal_distribution(self.task, held_out=True).tolist(),
        }


def plain_cosines(cosines: Cosines) -> dict[str, dict[str, list[list[Any]]]]:
    """Return matrices as lists, NaN as None."""
    return {
        group: {
            name: [[None if np.isnan(x) else x for x in row] for row in matrix.tolist()]
            for name, matrix in matrices.items()
        }
        for group, matrices in cosines.items()
    }


def shown_tokens(task: Task) -> list[int]:
    """Return every anchor, and the first, middle and last key."""
    keys = (task.keys[0], task.keys[len(task.keys) // 2], task.keys[-1])
    return [*task.anchors, *dict.fromkeys(keys)]


def too_few_notes(task: Task) -> list[str]:
    """Return a sentence for each mapping that has too few anchors for a table of its own."""
    groups = groups_of(task)
    there = f"; {ALL!r} has them" if ALL in groups else ""
    return [
        f"{m.name!r} has no rows of its own, since it has {len(m.anchors)} anchor"
        f"{'s, one pair' if len(m.anchors) == 2 else ', no pair'}{there}."
        for m in task.mappings
        if m.name not in groups
    ]


def mean_and_std(distribution: FloatArray) -> tuple[float, float]:
    """Return the mean and the standard deviation of a label."""
    labels = np.arange(len(distribution))
    mean = float(distribution @ labels)
    return mean, float(np.sqrt(distribution @ (labels - mean) ** 2))


def kind_of(task: Task, token: int) -> str:
    """Return what tables call a token of this kind."""
    mapping = task.mapping_of(token)
    return "key" if mapping is None else f"{mapping.name} anchor"


def finite_sample(task: Task, tokens: Tokens) -> dict[str, FloatArray]:
    """Return the cosines expected of the training data's P̂ − u when each table entry is drawn once.

    Empty where they cannot be counted.
    """
    try:
        cosines = [[finite_sample_cosine(task, a, b, held_out=True).cosine for b in tokens] for a in tokens]
    except TooManyEntriesError:
        return {}
    return {ONE_DATA_SET: np.array(cosines)}


def _cell(value: float) -> str:
    return UNDEFINED if np.isnan(value) else f"{value:.3f}"


def _statistics(task: Task, token: int) -> TokenStatistics:
    distribution = label_distribution(task, token, held_out=True)
    mean, std = mean_and_std(distribution)
    norm2 = float(((distribution - 1 / task.vocab_size) ** 2).sum())
    ratio = token_ratio(task, token, held_out=True)
    return TokenStatistics(token, kind_of(task, token), ratio, mean, std, norm2)
