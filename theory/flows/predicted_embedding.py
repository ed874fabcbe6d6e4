"""The embedding that training will have produced by the time a data set is learned to some accuracy.

P^s − u gives the order of the cosines; the mean course of AdamW (``MeanTraining``) gives their size when a
network answers a tenth or a half of its training set correctly.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Any, NamedTuple

import numpy as np

from theory.edge.arrays import Float64, FloatArray
from theory.edge.checked import Between, Positive, Rate, Size, checked
from theory.edge.errors import InputError
from theory.flows.batches import EMBEDDING_LIMIT, AdamSettings, Batching, SGDSettings, warn_outside
from theory.flows.learning_curves import follow_training, recorded_steps, training_size
from theory.flows.mean_training import MOST_GRADIENTS
from theory.flows.network import ActivationLike
from theory.task.task import Task

_GROWTH = 1.15
"""The ratio of successive steps, between which the embedding and the accuracy are taken to be linear."""
Accuracy = Annotated[float, Between(0, 1)]


@dataclass(frozen=True, eq=False)
class PredictedEmbedding:
    """The mean of W_emb over runs at some points of their course.

    Attributes
    ----------
    steps : ndarray, shape (n,)
        Numbers of steps, fractional where an accuracy was asked for; infinite where it is never reached.
    accuracy : ndarray, shape (n,)
        The data set's accuracy at these points.
    W_emb : ndarray, shape (n, d, d_m)
        NaN where the point is never reached.
    data_set : str
        The data set that ``accuracy`` refers to.
    """

    steps: Float64[FloatArray, " n"]
    accuracy: Float64[FloatArray, " n"]
    W_emb: Float64[FloatArray, "n d d_m"]
    data_set: str


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
    seed: Annotated[int, Between(0)] = 0,
    tolerance: Positive = 1e-2,
    scatter: bool = True,
    max_gradients: Size = MOST_GRADIENTS,
) -> PredictedEmbedding:
    """Return the embedding that an Emb-MLP will have at some training accuracies, or after some steps.

    Parameters
    ----------
    task, settings, init_rate, d_m, d_f, batch_size, clip_norm, activation, tolerance, scatter, max_gradients
        As in ``predict_learning``.
    accuracies : sequence of float, optional
        Increasing; the embedding is returned where the accuracy first reaches each of them.
    steps : sequence of int, optional
        Increasing numbers of steps to use in place of the accuracies.
    data_set : str, optional
        The data set whose accuracy counts: by default a rule's training set, or a table if there is no rule.
    max_epochs : int, optional
        Where to stop if an accuracy is not reached.
    seed : int, optional
        Draws weights and memory tables.

    Raises
    ------
    InputError
        If the task is too large to enumerate, there is no such data set, a batch is larger than the training
        set, or accuracies or steps do not increase.
    IntegrationError
        If the integrator fails or would need more than ``max_gradients``.

    Warns
    -----
    OutsideValidityWarning
        If AdamW's batches are too small for its rate.
    """
    warn_outside(settings, Batching(batch_size, training_size(task)), EMBEDDING_LIMIT)
    wanted = list(accuracies if steps is None else steps)
    name = "accuracies" if steps is None else "steps"
    if not wanted or any(a >= b for a, b in itertools.pairwise(wanted)):
        raise InputError(name, wanted, "not increasing", "give increasing numbers, one or more")
    last = max_epochs * -(-training_size(task) // batch_size) if steps is None else int(wanted[-1])
    grid = sorted({*recorded_steps(last, _GROWTH), *(() if steps is None else steps)})
    options: dict[str, Any] = {"init_rate": init_rate, "d_m": d_m, "d_f": d_f, "batch_size": batch_size}
    options |= {"clip_norm": clip_norm, "activation": activation, "tolerance": tolerance}
    options |= {"scatter": scatter, "max_gradients": max_gradients}
    points: list[_Point] = []
    learned = learned_set(task) if data_set is None else data_set
    for step, now, found in follow_training(task, settings, grid, seed, **options):
        if learned not in found:
            raise InputError("data_set", learned, "no such data set", f"choose from {', '.join(found)}")
        points.append(_Point(step, found[learned][1], now.W_emb.astype(np.float64)))
        if steps is None and points[-1].accuracy >= wanted[-1]:
            break
    chosen = [_reached(points, value, by_accuracy=steps is None) for value in wanted]
    numbers, hits, embeddings = (np.array(part, np.float64) for part in zip(*chosen, strict=True))
    return PredictedEmbedding(numbers, hits, embeddings, learned)


def learned_set(task: Task) -> str:
    """Return the name of the first rule's training set, or of the first mapping's where all are tables."""
    mapping = next((m for m in task.mappings if not m.is_table), task.mappings[0])
    return f"{mapping.name} train" if mapping.held_out else mapping.name


class _Point(NamedTuple):
    step: float
    accuracy: float
    W_emb: FloatArray


def _reached(points: Sequence[_Point], value: float, *, by_accuracy: bool) -> _Point:
    """Return the first point at a step or an accuracy, interpolated between two; NaN where there is none."""
    known = [point.accuracy if by_accuracy else point.step for point in points]
    k = next((k for k, at in enumerate(known) if at >= value), None)
    if k is None:
        return _Point(np.inf, np.nan, np.full_like(points[0].W_emb, np.nan))
    if k == 0:
        return points[0]
    a, b = points[k - 1], points[k]
    share = (value - known[k - 1]) / (known[k] - known[k - 1])
    step, accuracy = a.step + share * (b.step - a.step), a.accuracy + share * (b.accuracy - a.accuracy)
    return _Point(step, accuracy, a.W_emb + share * (b.W_emb - a.W_emb))
