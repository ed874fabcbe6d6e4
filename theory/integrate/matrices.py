"""The three matrices of an Emb-MLP, unchecked: what a vector field takes and returns."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from theory.arrays import FloatArray


class Matrices(NamedTuple):
    """W_emb (d, d_m), W1 (d_m, d_f) and W2 (d_f, d)."""

    W_emb: FloatArray
    W1: FloatArray
    W2: FloatArray

    def packed(self) -> FloatArray:
        """Return all entries as one vector."""
        return np.concatenate([matrix.ravel() for matrix in self])

    def unpack(self, vector: FloatArray) -> Matrices:
        """Return views of a vector that have the shapes of these matrices."""
        cuts = np.cumsum([matrix.size for matrix in self[:2]])
        parts = zip(np.split(vector, cuts), self, strict=True)
        return Matrices(*(part.reshape(matrix.shape) for part, matrix in parts))
