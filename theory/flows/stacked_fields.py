"""Rungs 2 and 3 of a small model at many weights at once, sequence by sequence, and their derivatives."""

from __future__ import annotations

from typing import Literal

import numpy as np

from theory.arrays import FloatArray
from theory.flows.parameters import EmbMLPParameters, Matrices
from theory.labels.counts import CountPopulation

Rung = Literal["coupled", "linearised"]


class StackedFields:
    """The rung's field at many weights at once, its derivatives and one sequence's covariance."""

    def __init__(self, population: CountPopulation, initial: EmbMLPParameters, rung: Rung) -> None:
        self._initial, self._live = initial, rung == "linearised"
        self._C, self._S = population.token_label_matrix(), population.cooccurrence()
        i, j = np.nonzero(population.weights)
        row, self._labels = np.nonzero(population.label_distributions[i, j])
        i, j = i[row], j[row]
        self._counts = population.left[i] + population.right[j]
        self._shares = population.weights[i, j] * population.label_distributions[i, j, self._labels]

    def _matrices(self, vectors: FloatArray) -> Matrices:
        cuts = np.cumsum([m.size for m in self._initial.matrices])[:-1]
        parts = zip(np.split(vectors, cuts, axis=1), self._initial.matrices, strict=True)
        return Matrices(*(part.reshape(-1, *m.shape) for part, m in parts))

    def field(self, vectors: FloatArray) -> FloatArray:
        """Return F at every row of weights, shape (k, n)."""
        now = self._matrices(vectors)
        drive = np.broadcast_to(self._C, (len(vectors), *self._C.shape))
        if self._live:
            B = now.W_emb @ now.W1 @ now.W2
            drive = drive - self._S @ (B - B.mean(axis=2, keepdims=True)) / len(self._S)
        return _pulled_back(now, drive)

    def jacobian(self, theta: FloatArray) -> FloatArray:
        """Return F' by central differences, exact for the coupled rung's quadratic field."""
        step = 1e-4 * float(np.sqrt(np.mean(theta**2)))
        moves = step * np.eye(len(theta))
        return np.asarray((self.field(theta + moves) - self.field(theta - moves)).T / (2 * step))

    def curvature(self, theta: FloatArray, P: FloatArray) -> FloatArray:
        """Return F''[P] by second differences along P's principal axes."""
        values, axes = np.linalg.eigh(P)
        if values[-1] <= 0:
            return np.zeros_like(theta)
        kept = values > 1e-9 * values[-1]
        step = 1e-2 * float(np.linalg.norm(theta))
        moves = step * axes[:, kept].T
        bent = self.field(theta + moves) + self.field(theta - moves) - 2 * self.field(theta[None])
        return np.asarray(values[kept] @ bent / step**2)

    @property
    def n_pairs(self) -> int:
        """How many pairs of counts and label there are."""
        return len(self._shares)

    def covariance(self, theta: FloatArray) -> FloatArray:
        """Return the covariance of one sequence's gradient, shape (n, n)."""
        away = self.deviations(theta)
        return np.asarray(away @ away.T)

    def deviations(self, theta: FloatArray) -> FloatArray:
        """Return every pair's F_i − F, times the root of its share, shape (n, n_pairs)."""
        own = self._own_fields(theta[None])
        return np.asarray(((own - self._shares @ own) * np.sqrt(self._shares)[:, None]).T)

    def turned(self, theta: FloatArray, moves: FloatArray) -> FloatArray:
        """Return the sum of F_i' times column i, with the root of its share, by central differences."""
        lengths = np.linalg.norm(moves, axis=0)
        step = 1e-4 * float(np.linalg.norm(theta)) / np.maximum(lengths, 1e-300)
        ahead, behind = (self._own_fields(theta + sign * (step * moves).T) for sign in (1, -1))
        return np.asarray((np.sqrt(self._shares) / (2 * step)) @ (ahead - behind))

    def _own_fields(self, vectors: FloatArray) -> FloatArray:
        """Return every pair's own F_i at its row of weights, or at the only one, shape (n_pairs, n)."""
        now = self._matrices(vectors)
        d = len(self._S)
        p = np.full((len(self._counts), d), 1 / d)
        if self._live:
            logits = (self._counts[:, None] @ (now.W_emb @ now.W1 @ now.W2))[:, 0]
            p += (logits - logits.mean(axis=1, keepdims=True)) / d
        residual = -p
        residual[np.arange(len(p)), self._labels] += 1
        return _pulled_back(now, self._counts[:, :, None] * residual[:, None])


def _pulled_back(now: Matrices, drive: FloatArray) -> FloatArray:
    """Return the velocities of the three matrices for M = −∂L/∂B, packed, shape (k, n)."""
    W_emb, W1, W2 = (np.swapaxes(m, 1, 2) for m in now)
    backward = W_emb @ drive
    parts = drive @ (W2 @ W1), backward @ W2, W1 @ backward
    return np.concatenate([part.reshape(len(drive), -1) for part in parts], axis=1)
