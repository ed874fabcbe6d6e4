"""The geometry of an embedding: inner products, norms, principal components."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from theory import Task, principal_components
from theory.arrays import FloatArray
from validate.observe.observations import tokens_of

COMPONENTS = 3


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
    found |= _components("pca", rows)
    return found | _components("pca_anchors", embedding[list(task.reasoning_anchors)])


def _components(name: str, rows: FloatArray) -> dict[str, FloatArray]:
    if len(rows) < 2:
        return {}
    # Centred, n rows span n − 1 directions at most.
    found = principal_components(rows, min(COMPONENTS, len(rows) - 1, rows.shape[1]))
    return {name: found.coordinates, f"{name}_variance": found.explained}


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
