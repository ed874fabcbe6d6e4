"""Optimisers: their settings, and AdamW's recursion for every model that theory trains by it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from theory.arrays import FloatArray
from theory.checked import Decay, Positive, Share, checked_fields


@checked_fields
@dataclass(frozen=True)
class AdamSettings:
    """AdamW's settings, torch's defaults except for the rate.

    Attributes
    ----------
    rate : float
    betas : tuple of float
    epsilon : float
        Beside the root of the second moment.
    weight_decay : float
        Decoupled: a step multiplies the weights by 1 − rate · weight_decay. 0 is Adam.
    """

    rate: Positive
    betas: tuple[Share, Share] = (0.9, 0.999)
    epsilon: Positive = 1e-8
    weight_decay: Decay = 0.01


@checked_fields
@dataclass(frozen=True)
class SGDSettings:
    """Plain stochastic gradient descent.

    Attributes
    ----------
    rate : float
    weight_decay : float
        As an L2 penalty.
    """

    rate: Positive
    weight_decay: Decay = 0.0


class AdamW:
    """AdamW's steps on some arrays of float64, which every step changes in place."""

    def __init__(self, settings: AdamSettings, weights: Sequence[FloatArray]) -> None:
        self.settings, self.weights = settings, weights
        self.steps = 0
        self.first = [np.zeros_like(weight) for weight in weights]
        self.second = [np.zeros_like(weight) for weight in weights]

    def step(self, gradients: Sequence[FloatArray], squares: Sequence[FloatArray]) -> None:
        """Take one step; under noise the squares are not those of the mean gradients."""
        self.steps += 1
        s, (b1, b2) = self.settings, self.settings.betas
        for weight, m, v, g, square in zip(
            self.weights, self.first, self.second, gradients, squares, strict=True
        ):
            m += (1 - b1) * (g - m)
            v += (1 - b2) * (square - v)
            root = np.sqrt(v / (1 - b2**self.steps)) + s.epsilon
            weight *= 1 - s.rate * s.weight_decay
            weight -= s.rate / (1 - b1**self.steps) * m / root
