r"""What batches do to a gradient and to a displacement: variances, without replacement within an epoch.

A batch of b out of n sequences, drawn without replacement, has a mean gradient of variance
:math:`s^2 = \frac{\operatorname{Var} g}{b}\frac{n - b}{n - 1}`. The K = n/b batches of an epoch add up to the
whole, so two of them have the covariance :math:`-s^2/(K - 1)`. A displacement :math:`\sum_i a_i \xi_i` over
some of them has therefore the variance

.. math:: \frac{K}{K - 1} \Big[\sum_i (a_i s)^2 - \frac1K \Big(\sum_i a_i s\Big)^2\Big],

which returns to zero at the end of an epoch if a s does not change: most of the noise cancels there.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from theory.arrays import ArrayLike, FloatArray, Real
from theory.checked import check_shape, checked
from theory.errors import InputError

_FORGOTTEN = 1e-9
"""Of a batch's effect, momentum withholds less than this: its epoch's sums no longer change."""


@dataclass(frozen=True)
class Batching:
    """How batches are drawn; ``size`` None is the full batch, ``n_sequences`` None draws with replacement.

    All batches of an epoch are taken to have one size. Where n is no multiple of b the last one is smaller,
    and what it then leaves of an epoch's sum is left out.
    """

    size: int | None
    n_sequences: int | None

    def __post_init__(self) -> None:
        n, size = self.n_sequences, self.size
        if n is not None and size is not None and size > n:
            raise InputError("batch_size", size, f"an epoch has {n} sequences", "give a smaller batch")

    @property
    def factor(self) -> float:
        """The variance of a batch's mean gradient over that of one sequence's."""
        if self.size is None:
            return 0.0
        n = self.n_sequences
        rest = 1.0 if n is None else (n - self.size) / max(n - 1, 1)
        return rest / self.size

    @property
    def independent_factor(self) -> float:
        """The same for independent batches that, less their mean over an epoch, are those that are drawn."""
        K = self.per_epoch
        return self.factor if K is None or self.factor == 0 else self.factor * K / (K - 1)

    @property
    def per_epoch(self) -> int | None:
        """K, the number of batches in an epoch; None where batches are independent."""
        if self.size is None or self.n_sequences is None:
            return None
        return -(-self.n_sequences // self.size)


class Scatter:
    """The variance of a displacement over the order of batches, each entry by itself.

    A batch's effect on later gradients is left out.

    Parameters
    ----------
    shape : tuple of int
    per_epoch : int or None
        K; None where batches are independent.
    momentum : float
        β1. Step t moves by the bias-corrected moment: a batch adds (1 − β1) β1^k / (1 − β1^t) of its effect
        in the step that comes k after its own.
    """

    def __init__(self, shape: tuple[int, ...], per_epoch: int | None, momentum: float = 0.0) -> None:
        self._per_epoch, self._momentum = per_epoch, momentum
        self._steps = 0.0
        self._fixed = np.zeros(shape)
        self._epochs = [_Epoch(shape)]

    def add(self, spread: FloatArray, count: float = 1.0) -> None:
        """Add some steps; ``spread`` is the standard deviation of one batch's whole effect."""
        while count > 0:
            if self._epochs[-1].steps == self._per_epoch:
                self._epochs.append(_Epoch(spread.shape))
            now = self._epochs[-1]
            taken = count if self._per_epoch is None else min(count, self._per_epoch - now.steps)
            if self._momentum**self._steps > _FORGOTTEN:
                taken = min(taken, 1.0)  # The correction changes from step to step.
            self._steps += taken
            correction = 1 / (1 - self._momentum**self._steps)
            for epoch in self._epochs:
                epoch.age(taken, self._momentum, correction)
            now.add(spread, taken, self._momentum, correction)
            count -= taken
            if len(self._epochs) > 1 and self._momentum**now.steps < _FORGOTTEN:
                self._fixed += self._epochs.pop(0).variance(self._per_epoch)

    @property
    def variance(self) -> FloatArray:
        """The variance so far."""
        return np.asarray(self._fixed + sum(epoch.variance(self._per_epoch) for epoch in self._epochs))


class _Epoch:
    """Sums over an epoch's batches: of effects E so far, of their parts m of the moment, and of products."""

    def __init__(self, shape: tuple[int, ...]) -> None:
        self.steps = 0.0
        self._effects, self._moments = np.zeros(shape), np.zeros(shape)
        self._squares, self._cross, self._moment_squares = (np.zeros(shape) for _ in range(3))

    def age(self, count: float, momentum: float, correction: float) -> None:
        """Let steps pass: each β m is added to its effect, and m becomes β m."""
        gained, left = correction * _geometric(momentum, count), momentum**count
        self._effects += gained * self._moments
        self._squares += 2 * gained * self._cross + gained**2 * self._moment_squares
        self._cross = left * (self._cross + gained * self._moment_squares)
        self._moments *= left
        self._moment_squares *= left**2

    def add(self, spread: FloatArray, count: float, momentum: float, correction: float) -> None:
        """Add the batches of those steps, the first of which has aged through the others."""
        self.steps += count
        square, left = spread**2, 1 - momentum**count
        both = (1 - momentum ** (2 * count)) / (1 + momentum)
        reached = count - _geometric(momentum, count)
        reached_squares = count - 2 * _geometric(momentum, count) + _geometric(momentum**2, count)
        self._effects += correction * reached * spread
        self._squares += correction**2 * reached_squares * square
        self._moments += left * spread
        self._moment_squares += (1 - momentum) * both * square
        self._cross += correction * (left - momentum * both) * square

    def variance(self, per_epoch: int | None) -> FloatArray:
        if per_epoch is None:
            return self._squares
        mean_square = self._effects**2 / per_epoch
        return np.maximum(self._squares - mean_square, 0.0) * per_epoch / max(per_epoch - 1, 1)


def _geometric(ratio: float, count: float) -> float:
    """Return ratio + ratio² + … over ``count`` terms."""
    return float(ratio * (1 - ratio**count) / (1 - ratio))


@checked
def expected_cosine(mean: Real[ArrayLike, "n d_m"], variance: Real[ArrayLike, "n d_m"]) -> float:
    r"""Return the cosine between a mean displacement and one that noise scatters about it.

    :math:`|\mu| / \sqrt{|\mu|^2 + \sum \text{variance}}`: no prediction of the mean can do better on a
    single run.

    Parameters
    ----------
    mean, variance : array_like, shape (n, d_m)
        Of the same entries.

    Raises
    ------
    InputError
        If the shapes differ, a variance is negative or both are zero.
    """
    mu = np.asarray(mean, np.float64)
    spread = check_shape("variance", variance, mu.shape)
    if (spread < 0).any():
        raise InputError("variance", float(spread.min()), "negative", "give variances")
    signal, noise = float(np.sum(mu**2)), float(np.sum(spread))
    if signal + noise == 0:
        raise InputError("mean", 0.0, "no displacement and no noise", "give a displacement")
    return float(np.sqrt(signal / (signal + noise)))
