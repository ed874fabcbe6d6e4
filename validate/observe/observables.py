"""The observables of one member: pure functions of its embedding, its matrices, and its outputs."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import numpy as np
import numpy.typing as npt
from scipy.special import entr, softmax

from theory import Task, principal_components
from theory.edge.arrays import FloatArray, IntArray
from theory.edge.settled import ROUNDING, settled_turn
from validate.observe.observations import tokens_of

COMPONENTS = 3
LEMMA1_EPSILONS = (0.1, 0.03, 0.01)
"""ε of Lemma 1 at which the share of entries within ε of 1/i is observed."""
FARTHEST = 10
"""The largest deviation of an answer that is counted."""


def embedding_geometry(embedding: FloatArray, task: Task) -> dict[str, FloatArray]:
    """Return "gram" (A, T), "norms" (T,), "pca" (T, 3) and "pca_variance" (3,) of anchors and keys.

    The components of the reasoning anchors alone are "pca_anchors" and "pca_anchors_variance". Fewer than
    four rows have fewer components; fewer than two have none.
    """
    rows = embedding[list(tokens_of(task))]
    n_anchors = len(task.anchors)
    arrays = {"gram": rows[:n_anchors] @ rows.T, "norms": np.linalg.norm(rows, axis=1)}
    for name, vectors in (("pca", rows), ("pca_anchors", embedding[list(task.reasoning_anchors)])):
        if len(vectors) > 1:
            # Centred, n rows span n − 1 directions at most.
            parts = principal_components(vectors, min(COMPONENTS, len(vectors) - 1, vectors.shape[1]))
            arrays |= {name: parts.coordinates, f"{name}_variance": parts.explained}
    return arrays


def value_direction(
    embedding: FloatArray, W_V: FloatArray, tokens: Sequence[int], sign_by: Sequence[int]
) -> FloatArray:
    """Return the cosine of tokens' embeddings with the top left singular vector of W_V (Fig. 6D).

    A singular vector has no sign of its own: the mean cosine of the tokens ``sign_by`` is made
    non-negative. NaN for a zero embedding, which has no effect on the sign.
    """
    left, values, _ = np.linalg.svd(W_V, full_matrices=False)
    vector = left @ settled_turn(left, values)[:, 0]
    norms = np.linalg.norm(embedding, axis=1)
    cosines = embedding @ vector / np.where(norms > 0, norms, np.nan)
    sign = -1.0 if np.nansum(cosines[list(sign_by)]) < -ROUNDING else 1.0
    return np.asarray(sign * cosines[list(tokens)])


def spectra(parameters: Mapping[str, FloatArray]) -> dict[str, FloatArray]:
    """Return "singular/NAME" (k,) and "effective_rank/NAME" () of every matrix among the parameters."""
    arrays: dict[str, FloatArray] = {}
    for name, matrix in parameters.items():
        if matrix.ndim == 2:
            values = np.asarray(np.linalg.svd(matrix, compute_uv=False), np.float64)
            arrays[f"singular/{name}"] = values
            arrays[f"effective_rank/{name}"] = np.asarray(effective_rank(values))
    return arrays


def effective_rank(singular_values: npt.ArrayLike) -> float:
    r"""Return :math:`\exp(-\sum_i p_i \ln p_i)`, :math:`p_i = \sigma_i / \sum_j \sigma_j`.

    Roy and Vetterli (2007): r for r equal values, 1 for a single one. NaN for a zero matrix, or one with NaN.
    """
    values = np.asarray(singular_values, dtype=np.float64)
    total = values.sum()
    return float(np.exp(entr(values / total).sum())) if total > 0 else math.nan


def first_attention(attention: FloatArray) -> dict[str, FloatArray]:
    """Return how far one head's first attention, shape (n, L, L), is from the average (Lemma 1, Fig. 6A-B).

    "first_attention" and "first_attention_sd" (L, L) are mean and standard deviation over the n sequences,
    "first_attention_error" () is the largest |A_ij − 1/i|, "lemma1_share" (3,) the share of entries within
    each ε of 1/i, without the first row, which is 1 for any weights.
    """
    n, length, _ = attention.shape
    average = np.tri(length) / np.arange(1, length + 1)[:, None]
    error = np.abs(attention - average)
    rows, columns = np.tril_indices(length)
    entries = error[:, rows[rows > 0], columns[rows > 0]]
    return {
        "first_attention": attention.mean(axis=0),
        "first_attention_sd": attention.std(axis=0, ddof=1 if n > 1 else 0),
        "first_attention_error": np.asarray(error.max()),
        "lemma1_share": np.array([np.mean(entries <= epsilon) for epsilon in LEMMA1_EPSILONS]),
    }


def last_row(logits: FloatArray, attention: FloatArray, position: IntArray) -> dict[str, FloatArray]:
    """Return the last position's attention in the last layer, by the place of the key (Fig. 15A).

    From one head's last rows before and after the softmax, shape (n, L), and the place of each sequence's
    key: "last_logits", "last_logits_sd" and "last_attention", shape (P, L). Every place has to occur.
    """
    groups = [position == p for p in range(int(position.max()) + 1)]
    return {
        "last_logits": np.array([logits[group].mean(axis=0) for group in groups]),
        "last_logits_sd": np.array([logits[g].std(axis=0, ddof=1 if g.sum() > 1 else 0) for g in groups]),
        "last_attention": np.array([attention[group].mean(axis=0) for group in groups]),
    }


def mean_outputs(logits: FloatArray, mapping: IntArray, task: Task) -> dict[str, FloatArray]:
    """Return each mapping's mean softmax and its mass on the mapping's range of labels (Fig. 8 right).

    From logits, shape (n, d), and indices into ``task.mappings``: "outputs/NAME" (d,) and
    "label_mass/NAME" ().
    """
    probabilities = softmax(logits, axis=1)
    arrays: dict[str, FloatArray] = {}
    for index, m in enumerate(task.mappings):
        mean = probabilities[mapping == index].mean(axis=0)
        labels = task.label_range(m)
        arrays[f"outputs/{m.name}"] = mean
        arrays[f"label_mass/{m.name}"] = np.asarray(mean[labels.start : labels.stop].sum())
    return arrays


def held_out_deviations(logits: FloatArray, labels: IntArray) -> dict[str, FloatArray]:
    """Return the shares of answers off by −10 to 10, "held_out_deviations" (21,), from logits (n, d)."""
    off = logits.argmax(axis=1) - labels
    near = off[np.abs(off) <= FARTHEST] + FARTHEST
    return {"held_out_deviations": np.bincount(near, minlength=2 * FARTHEST + 1) / len(labels)}
