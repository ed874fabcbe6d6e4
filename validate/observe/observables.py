"""The observables of one member: pure functions of its embedding, its matrices, and what it puts out."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import numpy.typing as npt
from scipy.special import softmax

from theory import Task, principal_components
from theory.arrays import FloatArray, IntArray
from validate.observe.observations import tokens_of

COMPONENTS = 3
LEMMA1_EPSILONS = (0.1, 0.03, 0.01)
"""ε of Lemma 1 at which the share of entries within ε of 1/i is observed."""
FARTHEST = 10
"""How far off an answer may be to be counted by its deviation."""


def embedding_geometry(embedding: FloatArray, task: Task) -> dict[str, FloatArray]:
    """Return inner products, norms and principal components of a task's tokens.

    Parameters
    ----------
    embedding : ndarray, shape (d, d_m)
    task : Task

    Returns
    -------
    dict of ndarray
        "gram" (A, T), "norms" (T,); "pca" (T, 3), "pca_variance" (3,), over all anchors and keys; the same
        over the reasoning anchors as "pca_anchors" and "pca_anchors_variance". Fewer rows than four have
        fewer components; fewer than two have none.
    """
    rows = embedding[list(tokens_of(task))]
    n_anchors = len(task.anchors)
    found = {"gram": rows[:n_anchors] @ rows.T, "norms": np.linalg.norm(rows, axis=1)}
    for name, own in (("pca", rows), ("pca_anchors", embedding[list(task.reasoning_anchors)])):
        if len(own) > 1:
            # Centred, n rows span n − 1 directions at most.
            parts = principal_components(own, min(COMPONENTS, len(own) - 1, own.shape[1]))
            found |= {name: parts.coordinates, f"{name}_variance": parts.explained}
    return found


def value_direction(
    embedding: FloatArray, W_V: FloatArray, tokens: Sequence[int], sign_by: Sequence[int]
) -> FloatArray:
    """Return the cosine of tokens' embeddings with the top left singular vector of W_V (Fig. 6D).

    Parameters
    ----------
    embedding : ndarray, shape (d, d_m)
    W_V : ndarray, shape (d_m, H d_k)
    tokens : sequence of int
    sign_by : sequence of int
        The tokens whose mean cosine is made non-negative: a singular vector has no sign of its own.

    Returns
    -------
    ndarray, shape (len(tokens),)
        NaN for a zero embedding.
    """
    vector = np.linalg.svd(W_V, full_matrices=False)[0][:, 0]
    norms = np.linalg.norm(embedding, axis=1)
    cosines = embedding @ vector / np.where(norms > 0, norms, np.nan)
    sign = -1.0 if cosines[list(sign_by)].mean() < 0 else 1.0
    return np.asarray(sign * cosines[list(tokens)])


def spectra(parameters: Mapping[str, FloatArray]) -> dict[str, FloatArray]:
    """Return "singular/NAME" (k,) and "effective_rank/NAME" () of every matrix among the parameters."""
    found: dict[str, FloatArray] = {}
    for name, matrix in parameters.items():
        if matrix.ndim == 2:
            values = np.asarray(np.linalg.svd(matrix, compute_uv=False), np.float64)
            found[f"singular/{name}"] = values
            found[f"effective_rank/{name}"] = np.asarray(effective_rank(values))
    return found


def effective_rank(singular_values: npt.ArrayLike) -> float:
    r"""Return :math:`\exp(-\sum_i p_i \ln p_i)`, :math:`p_i = \sigma_i / \sum_j \sigma_j`.

    Roy and Vetterli (2007): r for r equal values, 1 for a single one. NaN for a zero matrix.
    """
    values = np.asarray(singular_values, dtype=np.float64)
    total = values.sum()
    if total == 0:
        return float("nan")
    p = values[values > 0] / total
    return float(np.exp(-(p * np.log(p)).sum()))


def first_attention(attention: FloatArray) -> dict[str, FloatArray]:
    """Return how far a first attention is from the average operator (Lemma 1, Fig. 6A-B).

    Parameters
    ----------
    attention : ndarray, shape (n, L, L)
        One head's, for n sequences; rows sum to 1, entries after the diagonal are 0.

    Returns
    -------
    dict of ndarray
        "first_attention" and "first_attention_sd" (L, L), mean and standard deviation over sequences;
        "first_attention_error" (), the largest |A_ij − 1/i| over sequences and j ≤ i; "lemma1_share" (3,),
        the share of entries within ε of 1/i, for ε = 0.1, 0.03, 0.01. The first row is 1 for any weights
        and is left out of the share.
    """
    n, length, _ = attention.shape
    average = np.tril(np.ones((length, length))) / np.arange(1, length + 1)[:, None]
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
    """Return what the last position attends to in the last layer, by the place of the key (Fig. 15A).

    Parameters
    ----------
    logits, attention : ndarray, shape (n, L)
        The last row before and after the softmax, one head's, for n sequences.
    position : ndarray of int64, shape (n,)
        Where each sequence's key stands; every position from 0 to P − 1 occurs.

    Returns
    -------
    dict of ndarray
        "last_logits", "last_logits_sd", "last_attention", all of shape (P, L): mean, standard deviation
        over the sequences with the key at p, and mean.
    """
    groups = [position == p for p in range(int(position.max()) + 1)]
    return {
        "last_logits": np.array([logits[group].mean(axis=0) for group in groups]),
        "last_logits_sd": np.array([logits[g].std(axis=0, ddof=1 if g.sum() > 1 else 0) for g in groups]),
        "last_attention": np.array([attention[group].mean(axis=0) for group in groups]),
    }


def mean_outputs(logits: FloatArray, mapping: IntArray, task: Task) -> dict[str, FloatArray]:
    """Return each mapping's mean output distribution and its mass on the mapping's labels (Fig. 8 right).

    Parameters
    ----------
    logits : ndarray, shape (n, d)
        Of the label.
    mapping : ndarray of int64, shape (n,)
        Index into ``task.mappings``; every mapping occurs.
    task : Task

    Returns
    -------
    dict of ndarray
        For each mapping "outputs/NAME" (d,), the mean softmax, and "label_mass/NAME" (), its sum over the
        range of labels that the mapping can have.
    """
    probabilities = softmax(logits, axis=1)
    found: dict[str, FloatArray] = {}
    for index, own in enumerate(task.mappings):
        mean = probabilities[mapping == index].mean(axis=0)
        labels = task.label_range(own)
        found[f"outputs/{own.name}"] = mean
        found[f"label_mass/{own.name}"] = np.asarray(mean[labels.start : labels.stop].sum())
    return found


def held_out_deviations(logits: FloatArray, labels: IntArray) -> dict[str, FloatArray]:
    """Return the shares of answers that are off by −10 to 10, as "held_out_deviations" (21,).

    Parameters
    ----------
    logits : ndarray, shape (n, d)
        Of sequences with a held-out combination of anchors.
    labels : ndarray of int64, shape (n,)
        What their rule gives.
    """
    off = logits.argmax(axis=1) - labels
    near = off[np.abs(off) <= FARTHEST] + FARTHEST
    return {"held_out_deviations": np.bincount(near, minlength=2 * FARTHEST + 1) / len(labels)}
