"""Factorisations as another processor's kernels may return them: as valid, with other signs and bases."""

from typing import Any

import numpy as np
import pytest

from theory.edge.arrays import FloatArray


def other_bases(monkeypatch: pytest.MonkeyPatch, seed: int) -> None:
    """Let NumPy's eigh, SVD and QR flip signs at random, and turn what belongs to equal values."""
    rng, linalg = np.random.default_rng(seed), np.linalg
    eigh, svd, qr = linalg.eigh, linalg.svd, linalg.qr

    def other_eigh(square: FloatArray) -> Any:
        values, vectors = eigh(square)
        return values, vectors @ _turn(values, rng).astype(vectors.dtype)

    def other_svd(matrix: FloatArray, full_matrices: bool = True, compute_uv: bool = True) -> Any:
        if not compute_uv:
            return svd(matrix, compute_uv=False)
        left, values, right = svd(matrix, full_matrices=full_matrices)
        turn, n = _turn(values, rng).astype(left.dtype), len(values)
        left, right = left.copy(), right.copy()
        left[:, :n], right[:n] = left[:, :n] @ turn, turn.T @ right[:n]
        for rest in (left.T[n:], right[n:]):  # of the null space any basis will do
            rest[:] = orthogonal(rng, len(rest)).astype(rest.dtype) @ rest
        return left, values, right

    def other_qr(matrix: FloatArray) -> Any:
        q, r = qr(matrix)
        signs = rng.choice([-1.0, 1.0], q.shape[1]).astype(q.dtype)
        return q * signs, signs[:, None] * r

    for name, other in (("eigh", other_eigh), ("svd", other_svd), ("qr", other_qr)):
        monkeypatch.setattr(linalg, name, other)


def _turn(values: FloatArray, rng: np.random.Generator) -> FloatArray:
    """Return an orthogonal matrix that mixes columns of equal values only, with signs at random."""
    near = 1e-12 if values.dtype == np.float64 else 1e-5
    order, turn = np.argsort(values), np.zeros((len(values), len(values)))
    gaps = np.flatnonzero(np.diff(values[order]) > near * np.abs(values).max(initial=0)) + 1
    for group in np.split(order, gaps):
        turn[np.ix_(group, group)] = orthogonal(rng, len(group))
    return turn


def orthogonal(rng: np.random.Generator, n: int) -> FloatArray:
    """Return a product of n reflections, without a factorisation."""
    product = np.diag(rng.choice([-1.0, 1.0], n))
    for axis in rng.standard_normal((n, n)):
        product -= 2 * np.outer(axis, axis @ product) / (axis @ axis)
    return product
