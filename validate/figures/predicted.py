"""What the theory says of a setting's cosines, from its task and from what was observed of its data."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from theory import Task, cosine_matrix, eq14_embedding, marginal_distribution
from validate.figures.members import Members
from validate.figures.style import MARKERS, PALETTE
from validate.predictors import Tokens, training_laws

FloatArray = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Look:
    """How a prediction is called and drawn, the same in every figure."""

    label: str
    colour: str
    marker: str


UNIFORM, MARGINAL, SAMPLE, FROZEN, EQ14 = "P^s - u", "P^s - mean P", "finite sample", "frozen flow", "eq. 14"
_LABELS = {
    UNIFORM: "$P^s - u$ (eq. 5, 8)",
    MARGINAL: r"$P^s - \bar P$",
    SAMPLE: r"$\hat P^s - u$ of the run's data",
    FROZEN: "frozen flow (eq. 5)",
    EQ14: "eq. 14, width 12",
}
LOOKS = {
    name: Look(label, colour, marker)
    for (name, label), colour, marker in zip(_LABELS.items(), PALETTE, MARKERS, strict=False)
}


def law_cosines(task: Task, tokens: Tokens) -> dict[str, FloatArray]:
    """Return what the label distributions predict, each a cosine matrix of shape (n, n)."""
    laws = training_laws(task, tokens)
    found = {
        UNIFORM: cosine_matrix(laws - 1 / task.vocab_size),
        MARGINAL: cosine_matrix(laws - marginal_distribution(task, held_out=True)),
    }
    if set(tokens) <= {*task.reasoning_anchors, *task.keys}:
        found[EQ14] = cosine_matrix(eq14_embedding(task, tokens))
    return found


def predictions(setting: Members, tokens: Tokens) -> dict[str, FloatArray]:
    """Return every prediction of some anchors' cosines, each of shape (n_seeds or 1, n, n).

    Those of the label distributions are the same for every seed and stand once; that of the run's own label
    counts and that of the frozen flow's late direction (Emb-MLP only) are given where they were observed.
    """
    found = {name: matrix[None] for name, matrix in law_cosines(setting.task, tokens).items()}
    places = [setting.task.anchors.index(s) for s in tokens]
    if setting.has("token_label_matrix_anchors"):
        rows = setting.array("token_label_matrix_anchors")[:, places]
        found[SAMPLE] = np.array([cosine_matrix(c) for c in rows])
    if setting.has("frozen_direction"):
        grams = setting.array("frozen_direction")[:, places][:, :, places]
        found[FROZEN] = np.array([gram_cosines(g) for g in grams])
    return {name: found[name] for name in LOOKS if name in found}


def gram_cosines(gram: npt.ArrayLike) -> FloatArray:
    """Return the cosine matrix that belongs to inner products, shape (n, n); NaN for a zero vector."""
    inner = np.asarray(gram, dtype=np.float64)
    norms = np.sqrt(np.diagonal(inner))
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.asarray(np.clip(inner / norms[:, None] / norms, -1.0, 1.0))
