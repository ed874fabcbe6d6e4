"""Geometry of embeddings: cosines and principal components."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

import numpy as np
import numpy.typing as npt

from theory.edge.arrays import ArrayLike, Float64, FloatArray, Real
from theory.edge.checked import Size, checked
from theory.edge.checks import Entries
from theory.edge.errors import InputError
from theory.edge.settled import settled_turn


@checked
def cosine_matrix(
    rows: Real[ArrayLike, "n k"], other: Real[ArrayLike, "m k"] | None = None
) -> Float64[FloatArray, "n m"]:
    """Return the cosine similarity of every row with every row (or with the rows of ``other``).

    Parameters
    ----------
    rows : array_like, shape (n, k)
        One vector per row.
    other : array_like, shape (m, k), optional
        The vectors to compare with; ``rows`` themselves by default.

    Returns
    -------
    ndarray of float64, shape (n, m)
        In [−1, 1]. A zero vector has no direction: its cosines are NaN.
    """
    a = unit_rows(rows)
    b = a if other is None else unit_rows(other)
    return np.clip(a @ b.T, -1.0, 1.0)


def unit_rows(rows: npt.ArrayLike) -> FloatArray:
    """Return the rows of a matrix scaled to length 1; a zero row becomes NaN."""
    matrix = np.asarray(rows, dtype=np.float64)
    # Scaled by the largest entry first, so that tiny vectors do not underflow when squared.
    largest = np.abs(matrix).max(axis=1, keepdims=True, initial=0.0)
    scaled = matrix / np.where(largest > 0, largest, np.nan)
    return np.asarray(scaled / np.linalg.norm(scaled, axis=1, keepdims=True), dtype=np.float64)


@checked
def off_diagonal(
    matrix: Annotated[Real[ArrayLike, "n n"], Entries(undefined=True)],
) -> Float64[FloatArray, " n*(n-1)//2"]:
    """Return the entries above the diagonal of a square matrix, row by row: each pair once.

    Parameters
    ----------
    matrix : array_like, shape (n, n)
        NaN where a cosine is undefined.
    """
    square = np.asarray(matrix, dtype=np.float64)
    return square[np.triu_indices(len(square), 1)]


@dataclass(frozen=True)
class PrincipalComponents:
    """Rows seen along the directions in which they vary most.

    Attributes
    ----------
    coordinates : ndarray, shape (n, n_components)
        Centred; each column's largest entry in absolute value is positive, the first where several are, which
        fixes the signs.
    explained : ndarray, shape (n_components,)
        Share of the whole variance along each direction; NaN if the rows are equal.
    """

    coordinates: Float64[FloatArray, "n n_components"]
    explained: Float64[FloatArray, " n_components"]


@checked
def principal_components(rows: Real[ArrayLike, "n k"], n_components: Size = 2) -> PrincipalComponents:
    """Return the principal components of some rows (Fig. 5B, 5D).

    Parameters
    ----------
    rows : array_like, shape (n, k)
        One vector per row, at least two.
    n_components : int, optional
        How many directions to keep, at most min(n, k).
    """
    matrix = np.asarray(rows, dtype=np.float64)
    if len(matrix) < 2:
        raise InputError("rows", matrix.shape, "fewer than two rows", "give one vector per row")
    if n_components > min(matrix.shape):
        problem, remedy = f"rows of shape {matrix.shape}", f"give 1 to {min(matrix.shape)}"
        raise InputError("n_components", n_components, problem, remedy)
    # The mean of equal numbers may differ from them in the last bit.
    middle = np.where((matrix == matrix[0]).all(axis=0), matrix[0], matrix.mean(axis=0))
    left, sizes, _ = np.linalg.svd(matrix - middle, full_matrices=False)
    coordinates = (left @ settled_turn(left, sizes) * sizes)[:, :n_components]
    squares = (sizes / (sizes[0] if sizes[0] > 0 else np.nan)) ** 2  # scaled first, as in ``unit_rows``
    return PrincipalComponents(coordinates, squares[:n_components] / squares.sum())
