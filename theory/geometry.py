"""Cosine geometry of embeddings."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from theory.errors import InputError

FloatArray = npt.NDArray[np.float64]


def cosine_matrix(rows: npt.ArrayLike, other: npt.ArrayLike | None = None) -> FloatArray:
    """Return the cosine similarity of every row with every row (or with the rows of ``other``).

    Parameters
    ----------
    rows : array_like, shape (n, k)
        One vector a row.
    other : array_like, shape (m, k), optional
        The vectors to compare with; ``rows`` themselves by default.

    Returns
    -------
    ndarray of float64, shape (n, m)
        In [−1, 1]. A zero vector has no direction: its cosines are NaN.

    Raises
    ------
    InputError
        If an argument is not a matrix or the widths differ.
    """
    a = _unit_rows("rows", rows)
    b = a if other is None else _unit_rows("other", other)
    if a.shape[1] != b.shape[1]:
        raise InputError("other", b.shape, f"not as wide as rows {a.shape}", "give equal widths")
    return np.clip(a @ b.T, -1.0, 1.0)


def _unit_rows(argument: str, rows: npt.ArrayLike) -> FloatArray:
    matrix = np.asarray(rows, dtype=np.float64)
    if matrix.ndim != 2:
        raise InputError(argument, matrix.shape, "not a matrix", "give one vector a row")
    # Scaled by the largest entry first, so that tiny vectors do not underflow when squared.
    largest = np.abs(matrix).max(axis=1, keepdims=True, initial=0.0)
    scaled = matrix / np.where(largest > 0, largest, np.nan)
    return np.asarray(scaled / np.linalg.norm(scaled, axis=1, keepdims=True), dtype=np.float64)


def off_diagonal(matrix: npt.ArrayLike) -> FloatArray:
    """Return the entries above the diagonal of a square matrix, row by row: each pair once."""
    square = np.asarray(matrix, dtype=np.float64)
    if square.ndim != 2 or square.shape[0] != square.shape[1]:
        raise InputError("matrix", square.shape, "not square", "give a cosine matrix of one group")
    return square[np.triu_indices(len(square), 1)]
