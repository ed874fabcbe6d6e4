"""The gradient of a batch: its mean, which is that of the whole population, and its variance."""

from __future__ import annotations

from typing import Literal

import numpy as np

from theory.flows.activation import Activation
from theory.flows.batch_noise import Batching
from theory.flows.coupled import product_field
from theory.flows.gradient import population_field, token_gradient
from theory.flows.gradient_noise import GradientNoise
from theory.flows.parameters import Matrices
from theory.integrate.solve import Field
from theory.labels.counts import CountPopulation

Softmax = Literal["live", "uniform"]


class BatchGradient:
    """Mean and variance of a batch's gradient of the loss.

    Parameters
    ----------
    population : CountPopulation
    batching : Batching
    activation : Activation
    softmax : {"live", "uniform"}
    noise_every : int
        The variance is computed anew after at most so many steps, or a twentieth of those taken; 0: always.
    """

    def __init__(
        self,
        population: CountPopulation,
        batching: Batching,
        activation: Activation,
        softmax: Softmax,
        noise_every: int,
    ) -> None:
        self._factor, self._noise_every, self._due = batching.factor, noise_every, 0.0
        self._activation, self._uniform = activation, softmax == "uniform"
        self._noise = GradientNoise(population) if self._factor > 0 else None
        self._variance: Matrices | None = None
        self._field = _flow(population, activation, uniform=self._uniform)

    def mean(self, now: Matrices) -> Matrices:
        """Return the gradient of the whole population, by the cheapest exact form."""
        return Matrices(*(-flow for flow in self._field(now)))

    def variance(self, now: Matrices, step: float) -> Matrices:
        """Return the variance of a batch's gradient, computed anew where that is due."""
        if self._noise is None:
            return Matrices(*(np.zeros_like(matrix) for matrix in now))
        if self._variance is None or step >= self._due:
            found = self._noise.moments(now, self._activation, uniform=self._uniform)
            self._variance = Matrices(*(self._factor * variance for variance in found.variance))
            self._due = step + min(self._noise_every, 1 + step // 20)
        return self._variance


def _flow(population: CountPopulation, activation: Activation, *, uniform: bool) -> Field:
    if activation.is_linear:
        C = population.token_label_matrix()
        return product_field((lambda _: C) if uniform else (lambda B: token_gradient(population, B)))
    if not uniform:
        return population_field(population, activation)
    noise = GradientNoise(population)

    def field(now: Matrices) -> Matrices:
        return Matrices(*(-g for g in noise.moments(now, activation, uniform=True).mean))

    return field
