"""The embedding that training will have produced by the time a data set is learned to some accuracy.

P^s − u gives the order of the cosines; a narrow network's training, or the mean course, gives their size when
a network answers a tenth or a half of its training set correctly. Where a symmetry of the task is broken by
chance, runs differ, and so do predictions from several starts: their distance is part of the prediction.
"""

from __future__ import annotations

import itertools
import warnings
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Annotated

import numpy as np

from theory.edge.arrays import Float64, FloatArray
from theory.edge.checked import Positive, Rate, Size, checked
from theory.edge.checks import Between, check_tokens
from theory.edge.errors import InputError
from theory.flows.batches import (
    EMBEDDING_LIMIT,
    AdamSettings,
    OutsideValidityWarning,
    SGDSettings,
    warn_outside,
)
from theory.flows.learning_curves import EmbMLPTraining, Followed, Route, WidthShare
from theory.flows.mean_training import MOST_GRADIENTS
from theory.flows.network import ActivationLike
from theory.shapes.cosines import cosine_matrix, off_diagonal
from theory.task.task import Task

GROWTH = 1.15
"""The ratio of successive steps, between which the embedding and the accuracy are taken to be linear."""
_FAR, _BEYOND_CHANCE = 0.3, 1.5
"""Starts whose cosines are further apart than this, and than this many times the distance of random vectors'
cosines, break a symmetry differently, and so do runs."""
Accuracy = Annotated[float, Between(0, 1)]
_Point = tuple[float, float, FloatArray]
"""Step, accuracy and embedding."""


@dataclass(frozen=True, eq=False)
class PredictedEmbedding:
    """W_emb at some points of training, from several starts.

    Attributes
    ----------
    steps : ndarray, shape (n_starts, n)
        Numbers of steps, fractional where an accuracy was asked for; infinite where it is never reached.
    accuracy : ndarray, shape (n_starts, n)
        The data set's accuracy at these points.
    W_emb : ndarray, shape (n_starts, n, d, n_m)
        NaN where the point is never reached. n_m is d_m times the share of the widths that was followed.
    data_set : str
        The data set that ``accuracy`` refers to.
    gradient_error : float
        The standard error of the gradients relative to their norm, its root mean square over all points; 0
        where they are those of the whole training set.
    """

    steps: Float64[FloatArray, "n_starts n"]
    accuracy: Float64[FloatArray, "n_starts n"]
    W_emb: Float64[FloatArray, "n_starts n d n_m"]
    data_set: str
    gradient_error: float = 0.0

    def cosines(self, tokens: Sequence[int]) -> Float64[FloatArray, "n k k"]:
        """Return the cosines of some tokens' embeddings, shape (n, k, k): the mean over starts."""
        return np.asarray(np.mean([self._cosines(start, tokens) for start in self.W_emb], axis=0))

    def apart(self, tokens: Sequence[int]) -> Float64[FloatArray, " n"]:
        """Return the root mean square distance between two starts' cosines; NaN for one start or token."""
        each = np.array([[off_diagonal(m) for m in self._cosines(start, tokens)] for start in self.W_emb])
        if len(each) == 1 or len(tokens) == 1:
            return np.full(each.shape[1], np.nan)
        return np.asarray(np.sqrt(2 * each.var(axis=0, ddof=1).mean(axis=1)))

    @staticmethod
    def _cosines(W_emb: FloatArray, tokens: Sequence[int]) -> FloatArray:
        unknown = np.full((len(tokens), len(tokens)), np.nan)
        chosen = W_emb[:, check_tokens("tokens", tokens, W_emb.shape[1])]
        return np.array([unknown if np.isnan(W).any() else cosine_matrix(W) for W in chosen])


@checked
def predicted_embedding(
    task: Task,
    settings: AdamSettings | SGDSettings,
    *,
    init_rate: Rate,
    accuracies: Sequence[Accuracy] = (0.1, 0.3, 0.5),
    steps: Sequence[Size] | None = None,
    data_set: str | None = None,
    max_epochs: Size = 1000,
    d_m: Size = 200,
    d_f: Size = 512,
    batch_size: Size = 100,
    clip_norm: Annotated[float, Between(0)] = 1.0,
    activation: ActivationLike = "tanh",
    seeds: Sequence[Annotated[int, Between(0)]] = (0, 1),
    route: Route = "batches",
    width_share: WidthShare | None = None,
    tolerance: Positive = 1e-2,
    max_gradients: Size = MOST_GRADIENTS,
) -> PredictedEmbedding:
    """Return the embedding that an Emb-MLP will have at some training accuracies, or after some steps.

    Parameters
    ----------
    task, settings, init_rate, d_m, d_f, batch_size, clip_norm, activation, route, width_share
        As in ``predict_learning``.
    tolerance, max_gradients
        As in ``predict_learning``; for the flow.
    accuracies : sequence of float, optional
        Increasing; the embedding is returned where the accuracy first reaches each of them.
    steps : sequence of int, optional
        Increasing numbers of steps to use in place of the accuracies.
    data_set : str, optional
        The data set whose accuracy counts: by default a rule's training set, or a table if there is no rule.
    max_epochs : int, optional
        Where to stop if an accuracy is not reached.
    seeds : sequence of int, optional
        One start for each: it draws weights and memory tables.

    Raises
    ------
    InputError
        If the task is too large to enumerate, there is no such data set, a batch is larger than the training
        set, accuracies or steps do not increase, or no seed is given.
    IntegrationError
        If the weights overflow, or the flow would need more than ``max_gradients``.

    Warns
    -----
    OutsideValidityWarning
        If the cosines of the anchors from two starts differ so much that runs will, too, or if the flow's
        AdamW has batches too small for its rate.
    """
    if len(seeds) == 0:
        raise InputError("seeds", seeds, "no start", "give at least one")
    wanted = Wanted(tuple(accuracies if steps is None else steps), by_accuracy=steps is None)
    followed = route, width_share, tolerance, max_gradients
    training = EmbMLPTraining(
        task, settings, init_rate, (d_m, d_f), batch_size, clip_norm, activation, *followed
    )
    if route == "flow":
        warn_outside(settings, training.batching, EMBEDDING_LIMIT)
    last = max_epochs * training.steps_per_epoch if steps is None else wanted.values[-1]
    grid = sorted({*training.recorded_steps(int(last), GROWTH), *(steps or ())})
    courses = (training.follow(grid, seed) for seed in seeds)
    predicted = wanted.embedding(courses, learned_set(task) if data_set is None else data_set)
    warn_if_apart(predicted, task.anchors)
    return predicted


@dataclass(frozen=True)
class Wanted:
    """The accuracies, or numbers of steps, at which embeddings are wanted."""

    values: tuple[float, ...]
    by_accuracy: bool

    def __post_init__(self) -> None:
        if not self.values or any(a >= b for a, b in itertools.pairwise(self.values)):
            name = "accuracies" if self.by_accuracy else "steps"
            raise InputError(name, [*self.values], "not increasing", "give increasing numbers, one or more")

    def embedding(self, courses: Iterable[Iterable[Followed]], learned: str) -> PredictedEmbedding:
        """Return the embedding where the accuracy on a data set is first reached, one row for each course."""
        starts, squares = [], []
        for course in courses:
            points: list[_Point] = []
            for step, W_emb, scores, error in course:
                squares.append(error**2)
                if learned not in scores:
                    remedy = f"choose from {', '.join(scores)}"
                    raise InputError("data_set", learned, "no such data set", remedy)
                points.append((step, scores[learned][1], W_emb.astype(np.float64)))
                if self.by_accuracy and points[-1][1] >= self.values[-1]:
                    break
            starts.append([self._reached(points, value) for value in self.values])
        steps, accuracy, W_emb = (
            np.array([[point[part] for point in start] for start in starts], np.float64) for part in range(3)
        )
        return PredictedEmbedding(steps, accuracy, W_emb, learned, float(np.mean(squares) ** 0.5))

    def _reached(self, points: Sequence[_Point], value: float) -> _Point:
        """Return the first point at a value, interpolated between two; NaN where there is none."""
        known = [point[self.by_accuracy] for point in points]
        k = next((k for k, at in enumerate(known) if at >= value), None)
        if k is None:
            return np.inf, np.nan, np.full_like(points[0][2], np.nan)
        if k == 0:
            return points[0]
        share = float((value - known[k - 1]) / (known[k] - known[k - 1]))
        (s, a, W), (t, b, V) = points[k - 1 : k + 1]
        return s + share * (t - s), a + share * (b - a), W + share * (V - W)


def warn_if_apart(predicted: PredictedEmbedding, tokens: Sequence[int]) -> None:
    """Warn the caller's caller if the cosines of two starts differ so much that runs will differ, too."""
    apart, by_chance = predicted.apart(tokens), np.sqrt(2 / predicted.W_emb.shape[-1])
    if (apart > max(_FAR, _BEYOND_CHANCE * by_chance)).any():
        text = (
            f"The cosines of the anchors from two starts are {np.nanmax(apart):.2f} apart (root mean "
            "square): runs differ as much, and none is predicted by another."
        )
        warnings.warn(text, OutsideValidityWarning, stacklevel=4)


def learned_set(task: Task) -> str:
    """Return the name of the first rule's training set, or of the first mapping's where all are tables."""
    mapping = next((m for m in task.mappings if not m.is_table), task.mappings[0])
    return f"{mapping.name} train" if mapping.held_out else mapping.name
