"""The layer norm without gain or bias, and its derivative, as every model's theory needs them."""

from __future__ import annotations

import numpy as np

from theory.arrays import FloatArray
from theory.errors import InputError


def layer_norm(rows: FloatArray, epsilon: float) -> tuple[FloatArray, FloatArray]:
    """Return normed rows and 1/√(v + ε) of each, shape (n, 1)."""
    centred = rows - rows.mean(axis=1, keepdims=True)
    variance = (centred**2).mean(axis=1, keepdims=True) + epsilon
    if not variance.all():
        raise InputError("epsilon", epsilon, "a row has no variance", "give an ε above 0")
    return np.asarray(centred / np.sqrt(variance)), np.asarray(1 / np.sqrt(variance))


def norm_slope(rows: FloatArray, normed: FloatArray, scale: FloatArray) -> FloatArray:
    """Return rows times the derivative of the norm at each: what reaches its input."""
    centred = rows - rows.mean(axis=1, keepdims=True)
    along = (centred * normed).mean(axis=1, keepdims=True)
    return np.asarray((centred - along * normed) * scale)
