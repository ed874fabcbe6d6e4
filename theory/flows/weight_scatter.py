r"""The scatter of a run's weights about their mean course, sustained by the noise of batches.

Let D be the factor of the gradient (1 for SGD, :math:`1/(\sqrt{\hat v} + \epsilon)` for AdamW, either divided
by the divisor of clipping), H the curvature of the loss and Σ the covariance of one sequence's gradient. With
the time t = Σ learning rate the distance ζ from the mean course obeys

.. math:: d\zeta = -DH\zeta\,dt + \sqrt{\eta s}\,D\,\Sigma^{1/2} dW, \qquad s = \frac1B\,\frac{n}{n - 1}.

Σ = H would hold if each input's label followed the model's own distribution (the information identity); with
one right label per input it does not, and |H − Σ| is as large as |Σ|. Along the directions of most noise
the two are nearly alike (median ratio 0.9 to 1.6 along the top 20, docs/theory/learning_times.md), and with
Σ = H the covariance of ζ is

.. math:: P = \frac{\eta s}{2}\,D^{1/2} f\bigl(D^{1/2} H D^{1/2}\bigr) D^{1/2},

with :math:`f(\lambda) = 1 - e^{-2\lambda t}` for batches drawn independently. Batches of a reshuffled epoch
of length T add up to the training set: W returns to zero, and at the end of an epoch

.. math:: f(\lambda) = 1 - \frac{\tanh(\lambda T/2)}{\lambda T/2}.

A direction that has relaxed has the variance :math:`\eta s D/2` whatever its curvature; H only decides which
directions have. Each matrix's H is therefore taken to be a product of two factors, E aaᵀ of its inputs and
E ggᵀ of the errors at its outputs, without terms between matrices.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from theory.edge.arrays import FloatArray
from theory.flows.batches import Batching
from theory.flows.gradient import hidden_blocks, softmax
from theory.flows.network import Activation
from theory.integrate.trajectory import Matrices
from theory.labels.counts import CountPopulation

_SMALL = 1e-2
"""Below this λT/2 the first term of the expansion of f is exact to 4e-5."""
_RANK = 1e-6
"""Directions whose λ is a smaller share of the largest are lost in single precision, and do not scatter."""


def reshuffled_share(half: FloatArray) -> FloatArray:
    """Return f at the end of a reshuffled epoch; ``half`` is λT/2."""
    safe = np.maximum(half, _SMALL)
    return np.asarray(np.where(half < _SMALL, half**2 / 3, 1 - np.tanh(safe) / safe))


@dataclass(frozen=True)
class CurvatureFactors:
    """For W_emb, W1 and W2: E aaᵀ of the inputs and E ggᵀ of the errors, over the training set."""

    inputs: tuple[FloatArray, FloatArray, FloatArray]
    errors: tuple[FloatArray, FloatArray, FloatArray]


def curvature_factors(population: CountPopulation, now: Matrices, activation: Activation) -> CurvatureFactors:
    """Return the factors of one sequence's squared gradient, each an exact mean over sequences and labels."""
    d_f, d = now.W2.shape
    value_square, delta_square = (np.zeros((d_f, d_f), now.W2.dtype) for _ in range(2))
    residual_square = np.zeros((d, d), now.W2.dtype)
    for rows, h in hidden_blocks(population, now.W_emb @ now.W1):
        value, slope = activation.value(h), activation.derivative(h)
        weights = population.weights[rows].reshape(-1, 1)
        value_square += value.T @ (weights * value)
        shares = weights * population.label_distributions[rows].reshape(len(h), d)
        row, label = np.nonzero(shares)
        residual = softmax(value @ now.W2)[row]
        residual[np.arange(len(row)), label] -= 1
        residual *= np.sqrt(shares[row, label])[:, None]
        residual_square += residual.T @ residual
        delta = (residual @ now.W2.T) * slope[row]
        delta_square += delta.T @ delta
    tokens = population.cooccurrence().astype(now.W2.dtype)
    return CurvatureFactors(
        (tokens, now.W_emb.T @ tokens @ now.W_emb, value_square),
        (now.W1 @ delta_square @ now.W1.T, delta_square, residual_square),
    )


class WeightScatter:
    """Draws of the weights' distance from their mean course, at one point of it; ``mobility`` is D."""

    def __init__(
        self, factors: CurvatureFactors, mobility: Matrices, batching: Batching, rate: float
    ) -> None:
        self._variance = rate * batching.independent_factor / 2
        self._half_epoch = rate * (batching.per_epoch or 1) / 2
        pairs = zip(factors.inputs, factors.errors, mobility, strict=True)
        self._blocks = [_Block.of(*pair) for pair in pairs]

    def independent(self, time: float, rng: np.random.Generator) -> FloatArray:
        """Return a draw after some time, had all batches been drawn independently."""
        return self._draw(lambda rates: -np.expm1(-2 * rates * time), rng)

    def reshuffled(self, rng: np.random.Generator) -> FloatArray:
        """Return a draw at the end of a reshuffled epoch."""
        return self._draw(lambda rates: reshuffled_share(rates * self._half_epoch), rng)

    def _draw(self, share: Callable[[FloatArray], FloatArray], rng: np.random.Generator) -> FloatArray:
        drawn = (block.draw(np.sqrt(self._variance * share(block.rates)), rng) for block in self._blocks)
        return np.concatenate([matrix.ravel() for matrix in drawn])


@dataclass(frozen=True)
class _Block:
    """One matrix: the eigenvectors of its two factors, and the rates at which their products relax."""

    left: FloatArray
    right: FloatArray
    rates: FloatArray
    root: FloatArray
    """D^½, entry by entry."""

    @classmethod
    def of(cls, inputs: FloatArray, errors: FloatArray, mobility: FloatArray) -> _Block:
        rows, columns = _row_and_column(mobility)
        a, left = _spectrum(inputs, rows)
        g, right = _spectrum(errors, columns)
        return cls(left, right, np.outer(a, g), np.sqrt(mobility))

    def draw(self, deviation: FloatArray, rng: np.random.Generator) -> FloatArray:
        """Return a draw with this standard deviation along each product of eigenvectors.

        The normal numbers are those of the matrix's own entries, turned into the basis of eigenvectors: which
        basis a processor's kernels return makes no difference.
        """
        normal = rng.standard_normal(deviation.shape).astype(self.root.dtype)
        turned = deviation.astype(self.root.dtype) * (self.left.T @ normal @ self.right)
        return np.asarray(self.root * (self.left @ turned @ self.right.T))


def _row_and_column(mobility: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return r and c with D ≈ r cᵀ, by least squares on the logarithms."""
    logs = np.log(mobility)
    middle = logs.mean() / 2
    return np.exp(logs.mean(axis=1) - middle), np.exp(logs.mean(axis=0) - middle)


def _spectrum(square: FloatArray, mobility: FloatArray) -> tuple[FloatArray, FloatArray]:
    root = np.sqrt(mobility)
    values, vectors = np.linalg.eigh(root[:, None] * square * root)
    return np.maximum(values, 0.0), vectors


class SampledScatter:
    """The same for any network: H = Σ is that of single gradients, shape (n, n_weights), less their mean.

    With G their matrix over √n, P acts within the range of D^½Gᵀ, whose eigenvalues are those of G D Gᵀ.
    """

    def __init__(self, single: FloatArray, mobility: FloatArray, batching: Batching, rate: float) -> None:
        self._variance = rate * batching.independent_factor / 2
        self._half_epoch = rate * (batching.per_epoch or 1) / 2
        self._root = np.sqrt(mobility)
        self._rows = single * (self._root / np.sqrt(len(single)).astype(single.dtype))
        self._rates, self._vectors = np.linalg.eigh((self._rows @ self._rows.T).astype(np.float64))

    def independent(self, time: float, rng: np.random.Generator) -> FloatArray:
        """Return a draw after some time, had all batches been drawn independently."""
        return self._draw(-np.expm1(-2 * self._rates * time), rng)

    def reshuffled(self, rng: np.random.Generator) -> FloatArray:
        """Return a draw at the end of a reshuffled epoch."""
        return self._draw(reshuffled_share(self._rates * self._half_epoch), rng)

    def _draw(self, share: FloatArray, rng: np.random.Generator) -> FloatArray:
        """Return a draw; as in ``_Block``, it does not depend on the basis of eigenvectors."""
        found = self._rates > _RANK * self._rates[-1]
        deviation = np.sqrt(np.where(found, self._variance * share / np.where(found, self._rates, 1.0), 0.0))
        turned = self._vectors @ (deviation * (self._vectors.T @ rng.standard_normal(len(share))))
        return np.asarray(self._root * (turned.astype(self._rows.dtype) @ self._rows))
