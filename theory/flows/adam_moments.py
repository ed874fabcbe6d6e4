"""What Adam remembers, along a course in continuous steps: the denominator √v̂ + ε and the first moment.

SGD has neither: its denominator is the divisor of clipping, and nothing lags.
"""

from __future__ import annotations

import numpy as np

from theory.edge.arrays import FloatArray
from theory.flows.batches import AdamSettings, SGDSettings


class Denominator:
    """The divisor of a gradient: clipping's D times Adam's √v̂ + ε, with v averaged over the past."""

    def __init__(self, settings: AdamSettings | SGDSettings, scale: FloatArray | float = 1.0) -> None:
        self._adam, self._scale = settings if isinstance(settings, AdamSettings) else None, scale
        self._average, self._taken = np.zeros(1), 0.0

    def inverse(self, squares: FloatArray, divisor: float, steps: float) -> FloatArray | float:
        """Return 1/(D(√v̂ + ε)) halfway through the next ``steps``, over which E ĝ² averages ``squares``."""
        if self._adam is None:
            return 1 / divisor
        beta = self._adam.betas[1]
        kept = beta ** (steps / 2)
        v = (kept * self._average + (1 - kept) * squares) / (1 - kept * beta**self._taken)
        return np.asarray(1 / (self._scale * np.sqrt(v) + self._adam.epsilon) / divisor)

    def now(self) -> FloatArray | float:
        """Return the largest factor of a gradient that v̂ allows after the steps so far."""
        if self._adam is None or self._taken == 0:
            return np.inf
        v = self._average / (1 - self._adam.betas[1] ** self._taken)
        return np.asarray(2 / (self._scale * np.sqrt(v) + self._adam.epsilon))

    def fastest(self, steps: float) -> FloatArray | float:
        """Return the limit of a weight's speed: within ``steps`` v̂ takes up a share of its own gradient."""
        if self._adam is None:
            return np.inf
        beta = self._adam.betas[1]
        kept = beta ** (steps / 2)
        return np.asarray(((1 - kept * beta**self._taken) / (1 - kept)) ** 0.5 / self._scale)

    def pass_by(self, squares: FloatArray, steps: float) -> None:
        """Advance by ``steps`` over which E ĝ² averages ``squares``."""
        if self._adam is not None:
            kept = self._adam.betas[1] ** steps
            self._average = kept * self._average + (1 - kept) * squares
        self._taken += steps


class FirstMoment:
    """Adam's first moment, times D: an average of what has driven x, by which θ is behind."""

    def __init__(self, settings: AdamSettings | SGDSettings | None) -> None:
        self._beta = settings.betas[0] if isinstance(settings, AdamSettings) else 0.0
        self._taken, self._average = 0.0, np.zeros(1)

    @property
    def behind(self) -> FloatArray:
        """ℓDm, (x − θ)/η."""
        return self._lag(self._taken) * self._average

    def gain(self, steps: float) -> float:
        """Return 1 + ℓ' over the next ``steps``."""
        return 1 + (self._lag(self._taken + steps) - self._lag(self._taken)) / steps

    def pass_by(self, driven: FloatArray, steps: float) -> None:
        """Advance by ``steps`` over which x was driven at some speed on average."""
        old, new = self._beta**steps * (1 - self._beta**self._taken), 1 - self._beta**steps
        self._average = (old * self._average + new * driven / self.gain(steps)) / (old + new)
        self._taken += steps

    def _lag(self, taken: float) -> float:
        """Return ℓ, the mean age of the gradients averaged after some steps."""
        kept = self._beta**taken
        return self._beta / (1 - self._beta) - taken * kept / (1 - kept) if taken > 1 else 0.0
