"""What the theory says about a task, gathered for printing and writing."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from sim.files import write_atomically, write_json
from theory import (
    Task,
    cosine_matrix,
    eq14_embedding,
    finite_sample_cosine,
    label_distribution,
    marginal_distribution,
    off_diagonal,
    token_ratio,
)
from theory.task_toml import task_to_dict
from validate.compare import groups_of
from validate.figures import CosineMatrices, LabelDistributions, new_axes, save
from validate.predictors import Tokens, training_laws

FloatArray = npt.NDArray[np.float64]


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
class Prediction:
    """Label statistics and predicted cosines of a task.

    Attributes
    ----------
    task : Task
    tokens : list of TokenStatistics
        Every anchor, and the first, middle and last key.
    cosines : dict
        group → predictor → matrix of shape (n, n).
    """

    task: Task
    tokens: list[TokenStatistics]
    cosines: dict[str, dict[str, FloatArray]]

    @classmethod
    def of(cls, task: Task) -> Prediction:
        """Compute everything from a task."""
        keys = (task.keys[0], task.keys[len(task.keys) // 2], task.keys[-1])
        shown = [*task.anchors, *dict.fromkeys(keys)]
        groups = groups_of(task)
        return cls(
            task,
            [_statistics(task, s) for s in shown],
            {name: _predicted(task, tokens) for name, tokens in groups.items()},
        )

    def cosine_rows(self) -> list[list[str]]:
        """Return one line a group and predictor: mean, extremes, and the mean at each distance."""
        rows = []
        for group, matrices in self.cosines.items():
            for name, matrix in matrices.items():
                pairs = off_diagonal(matrix)
                by_distance = [f"{np.diagonal(matrix, k).mean():.3f}" for k in range(1, min(len(matrix), 10))]
                summary = [f"{pairs.mean():.3f}", f"{pairs.min():.3f}", f"{pairs.max():.3f}"]
                rows.append([group, name, *summary, " ".join(by_distance)])
        return rows

    def to_json(self) -> dict[str, Any]:
        """Return plain data."""
        return {
            "schema": "anchorflow/prediction/1",
            "task": task_to_dict(self.task),
            "tokens": [asdict(t) for t in self.tokens],
            "cosines": {
                group: {name: matrix.tolist() for name, matrix in matrices.items()}
                for group, matrices in self.cosines.items()
            },
            "label_distributions": {
                str(s): label_distribution(self.task, s, held_out=True).tolist() for s in self.task.anchors
            },
            "marginal": marginal_distribution(self.task, held_out=True).tolist(),
        }

    def write(self, out: Path) -> None:
        """Write prediction.json, task.toml and the figures (4B, 4C)."""
        out.mkdir(parents=True, exist_ok=True)
        write_json(out / "prediction.json", self.to_json())
        write_atomically(out / "task.toml", self.task.to_toml())
        figure, axes = new_axes(1, len(self.task.mappings))
        for ax, m in zip(axes, self.task.mappings, strict=True):
            LabelDistributions.from_task(self.task, m.anchors, f"{m.name} anchors", held_out=True).plot(ax)
        for suffix in (".png", ".svg"):
            save(figure, out / "figures" / f"fig4b_label_distributions{suffix}")
        for group, tokens in groups_of(self.task).items():
            panels = list(self.cosines[group].items())
            figure, axes = new_axes(1, len(panels), size=(2.9, 2.9))
            CosineMatrices(tokens, panels).plot(axes)
            for suffix in (".png", ".svg"):
                save(figure, out / "figures" / f"fig4c_cosines_{group.replace(' ', '_')}{suffix}")


def _statistics(task: Task, token: int) -> TokenStatistics:
    law = label_distribution(task, token, held_out=True)
    labels = np.arange(task.vocab_size)
    mean = float(law @ labels)
    mapping = task.mapping_of(token)
    return TokenStatistics(
        token,
        "key" if mapping is None else f"{mapping.name} anchor",
        token_ratio(task, token, held_out=True),
        mean,
        float(np.sqrt(law @ (labels - mean) ** 2)),
        float(((law - 1 / task.vocab_size) ** 2).sum()),
    )


def _predicted(task: Task, tokens: Tokens) -> dict[str, FloatArray]:
    laws = training_laws(task, tokens)
    found = {
        "P^s - u": cosine_matrix(laws - 1 / task.vocab_size),
        "P^s - mean P": cosine_matrix(laws - marginal_distribution(task, held_out=True)),
        "expected in one data set": _finite_sample(task, tokens),
    }
    if set(tokens) <= set(task.reasoning_anchors):
        found["eq. 14"] = cosine_matrix(eq14_embedding(task, tokens))
    return found


def _finite_sample(task: Task, tokens: Tokens) -> FloatArray:
    """Return the cosines expected of P̂ − u when each table entry is drawn once."""
    cosines = [[finite_sample_cosine(task, a, b).cosine for b in tokens] for a in tokens]
    return np.array(cosines)
