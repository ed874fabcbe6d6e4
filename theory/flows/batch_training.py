r"""Training on batches drawn from a population, step by step: SGD or AdamW, with clipping.

Unlike the mean course (``MeanTraining``) this neglects nothing: steps are finite, Adam's first moment lags,
batches are those of reshuffled epochs. Its cost is that of a run. It serves to follow narrow networks
(``Narrow``), for which that is a fraction of the wide one's.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import numpy as np

from theory.edge.arrays import FloatArray, IntArray
from theory.edge.errors import IntegrationError
from theory.flows.batches import AdamSettings, Batching, SGDSettings
from theory.flows.gradient import softmax
from theory.flows.mean_training import Moment
from theory.flows.network import Activation
from theory.integrate.trajectory import Matrices
from theory.labels.counts import CountPopulation

_MOST_ROWS = 2**24
"""More sequences than this in an epoch are drawn independently: reshuffling would make no difference."""


@dataclass(frozen=True)
class BatchTraining:
    """One training run of an Emb-MLP on a population."""

    population: CountPopulation
    batching: Batching
    activation: Activation
    settings: AdamSettings | SGDSettings
    clip_norm: float  # 0: no clipping
    scale: tuple[float, float, float]  # of a gradient's entries in Adam's denominator, for each matrix
    rng: np.random.Generator

    def follow(self, initial: Matrices, steps: Iterable[int]) -> Iterator[Moment]:
        """Yield the weights after each number of steps, in the population's precision.

        Raises
        ------
        IntegrationError
            If the weights overflow.
        """
        dtype = self.population.left.dtype
        y = initial.packed().astype(dtype)
        now = initial.unpack(y)
        scale = np.repeat(np.array(self.scale, dtype), [matrix.size for matrix in initial])
        adam = _AdamW(self.settings, y, scale) if isinstance(self.settings, AdamSettings) else None
        batches, done = self._batches(), 0
        for step in steps:
            with np.errstate(over="ignore", invalid="ignore"):
                for _ in range(step - done):
                    gradient = self._gradient(now, *next(batches)).packed()
                    norm = math.sqrt(float(gradient @ gradient))
                    if self.clip_norm and norm > self.clip_norm:
                        gradient *= self.clip_norm / norm
                    if adam is not None:
                        adam.step(gradient)
                    else:
                        y *= 1 - self.settings.rate * self.settings.weight_decay
                        y -= self.settings.rate * gradient
            done = step
            if not np.isfinite(y).all():
                remedy = "Lower the rate, or start from smaller weights"
                raise IntegrationError("training", "the weights overflow.", step * self.settings.rate, remedy)
            kept = y.copy()
            yield Moment(step, kept, (kept,))

    def _batches(self) -> Iterator[tuple[FloatArray, IntArray]]:
        """Yield token counts, shape (b, d), and labels of batches of reshuffled epochs."""
        of, n, size = self.population, self.batching.n_sequences or 0, self.batching.size or 0
        mass = of.weights.astype(np.float64)[:, :, None] * of.label_distributions
        left, right, label = np.nonzero(mass)
        share = mass[left, right, label]
        share /= share.sum()
        every = np.repeat(np.arange(len(share)), np.rint(share * n).astype(int)) if n <= _MOST_ROWS else None
        while True:
            order = (
                self.rng.choice(len(share), _MOST_ROWS, p=share)
                if every is None
                else self.rng.permutation(every)
            )
            for start in range(0, len(order), size):
                rows = order[start : start + size]
                yield of.left[left[rows]] + of.right[right[rows]], label[rows]

    def _gradient(self, now: Matrices, counts: FloatArray, labels: IntArray) -> Matrices:
        """Return the gradient of a batch's mean cross entropy."""
        x = counts @ now.W_emb
        h = x @ now.W1
        value = self.activation.value(h)
        p = softmax(value @ now.W2)
        p[np.arange(len(labels)), labels] -= 1
        p /= len(labels)
        delta = p @ now.W2.T
        delta *= self.activation.derivative(h)
        return Matrices(counts.T @ (delta @ now.W1.T), x.T @ delta, value.T @ p)


class _AdamW:
    """AdamW on one array, changed in place; ``scale`` multiplies the root of the second moment."""

    def __init__(self, settings: AdamSettings, weights: FloatArray, scale: FloatArray) -> None:
        self._settings, self._weights, self._scale = settings, weights, scale
        self._steps, self._first, self._second = 0, np.zeros_like(weights), np.zeros_like(weights)

    def step(self, gradient: FloatArray) -> None:
        self._steps += 1
        s, (b1, b2) = self._settings, self._settings.betas
        self._first += (1 - b1) * (gradient - self._first)
        self._second += (1 - b2) * (gradient**2 - self._second)
        root = self._scale * np.sqrt(self._second / (1 - b2**self._steps)) + s.epsilon
        self._weights *= 1 - s.rate * s.weight_decay
        self._weights -= s.rate / (1 - b1**self._steps) * self._first / root
