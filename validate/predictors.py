"""Predicted cosine matrices of a run's embedding, from what is known before training."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from sim.run import Run
from theory import (
    Task,
    cosine_matrix,
    eq14_embedding,
    label_distribution,
    marginal_distribution,
)

FloatArray = npt.NDArray[np.float64]
Tokens = tuple[int, ...]


@dataclass(frozen=True)
class Predictor:
    """One way to predict cosines.

    Attributes
    ----------
    name : str
        What tables and figures call it.
    equation : str
        Where it comes from.
    cosines : callable
        (run, tokens, sum_learning_rate) → matrix of shape (n, n), or None where it says nothing.
    """

    name: str
    equation: str
    cosines: Callable[[Run, Tokens, float], FloatArray | None]


def training_laws(task: Task, tokens: Sequence[int]) -> FloatArray:
    """Return P^s of the training distribution (held-out combinations removed), shape (n, d)."""
    return np.stack([label_distribution(task, s, held_out=True) for s in tokens])


def from_uniform(run: Run, tokens: Tokens, _: float) -> FloatArray:
    """Predict by P^s − u, the drive of eq. 5."""
    return cosine_matrix(training_laws(run.task, tokens) - 1 / run.task.vocab_size)


def from_marginal(run: Run, tokens: Tokens, _: float) -> FloatArray:
    """Predict by P^s − P̄, the drive once the common part of the labels is fitted."""
    return cosine_matrix(training_laws(run.task, tokens) - marginal_distribution(run.task, held_out=True))


def from_sample(run: Run, tokens: Tokens, _: float) -> FloatArray:
    """Predict by P̂^s − u of the run's own training data."""
    return cosine_matrix(run.token_label_matrix[list(tokens)])


def from_frozen_flow(run: Run, tokens: Tokens, time: float) -> FloatArray | None:
    """Predict by eq. 5 from the run's own initial weights and data, at Σ learning rate.

    It speaks of the Emb-MLP only, as does its limit.
    """
    if run.config.model.kind != "emb-mlp":
        return None
    rows = list(tokens)
    return cosine_matrix(run.embedding(0)[rows] + time * run.frozen_direction[rows])


def from_frozen_direction(run: Run, tokens: Tokens, _: float) -> FloatArray | None:
    """Predict by the limit of eq. 5 at late times, where the initial embedding no longer matters."""
    if run.config.model.kind != "emb-mlp":
        return None
    return cosine_matrix(run.frozen_direction[list(tokens)])


def from_eq14(run: Run, tokens: Tokens, _: float) -> FloatArray | None:
    """Predict by eq. 14 with the paper's width; it speaks of reasoning anchors and keys only."""
    if not set(tokens) <= {*run.task.reasoning_anchors, *run.task.keys}:
        return None
    return cosine_matrix(eq14_embedding(run.task, tokens))


PREDICTORS = (
    Predictor("P^s - u", "eq. 5, 7, 8", from_uniform),
    Predictor("P^s - mean P", "eq. 5 once the marginal label law is fitted", from_marginal),
    Predictor("finite sample", "eq. 5 with the run's own label counts", from_sample),
    Predictor(
        "frozen flow", "eq. 5, the run's initial weights, matched sum of learning rates", from_frozen_flow
    ),
    Predictor("frozen flow, late", "eq. 5, the run's initial weights, t to infinity", from_frozen_direction),
    Predictor("eq. 14", "eq. 14, width 12", from_eq14),
)
FITTED_WIDTH = "eq. 14, fitted width"
FUNCTIONS = {
    "P^s - u": ("theory.label_distribution",),
    "P^s - mean P": ("theory.label_distribution",),
    "finite sample": ("theory.token_label_matrix",),
    "frozen flow": ("theory.frozen_flow", "theory.frozen_direction"),
    "frozen flow, late": ("theory.frozen_direction",),
    "eq. 14": ("theory.eq14_embedding",),
    FITTED_WIDTH: ("theory.eq14_embedding", "theory.fit_width"),
}
"""The functions behind each predictor, as the table of equations names them."""


def predictor_notes() -> list[tuple[str, str]]:
    """Return each predictor's name and where it comes from."""
    fitted = (FITTED_WIDTH, "eq. 14; each run's width is fitted on the other seeds (on itself if alone)")
    return [*((p.name, p.equation) for p in PREDICTORS), fitted]
