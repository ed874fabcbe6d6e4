"""A predictor of your own: how far the label distributions of two anchors overlap."""

from collections.abc import Sequence

import numpy as np

from theory import Task
from validate import Predictor, register_predictor
from validate.predict.predictors import training_labels


def overlaps(task: Task, tokens: Sequence[int]) -> np.ndarray[tuple[int, ...], np.dtype[np.float64]]:
    """Return Σ_i √(P^s_i P^t_i) of every two tokens, shape (n, n)."""
    roots = np.sqrt(training_labels(task, tuple(tokens)))
    return roots @ roots.T


register_predictor(
    Predictor(
        name="overlap",
        label=r"$\sum_i \sqrt{P^s_i P^t_i}$",
        equation="Bhattacharyya's coefficient",
        colour=6,
        functions=("label_distribution",),
        of_task=overlaps,
    )
)
