r"""The gradient of a batch: its mean is the population's, its variance depends on how batches are drawn.

The mean gradient of b out of n sequences, drawn without replacement, has the variance
:math:`\frac{\operatorname{Var} g}{b}\frac{n - b}{n - 1}`, where Var g is the variance over single sequences
(``GradientNoise``). The K = n/b batches of an epoch add up to the whole: they are like independent batches of
K/(K − 1) times this variance, minus their mean over the epoch.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass

from theory.edge.checked import Decay, Positive, Share, checked_fields
from theory.edge.errors import InputError

EMBEDDING_LIMIT, TIMES_LIMIT = 2.5e-5, 1e-4
"""AdamW's rate over its batch size: the largest at which embeddings and learning times were found right."""


@checked_fields
@dataclass(frozen=True)
class AdamSettings:
    """AdamW's settings, torch's defaults except for the rate.

    Attributes
    ----------
    rate : float
    betas : tuple of float
    epsilon : float
        Added to the root of the second moment.
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


class OutsideValidityWarning(UserWarning):
    """A prediction was requested where it is known to fail or was never tested."""


def warn_outside(settings: AdamSettings | SGDSettings, batching: Batching, limit: float) -> None:
    """Warn the caller's caller if AdamW's rate times a batch's share of the noise exceeds a limit."""
    noise = settings.rate * batching.factor
    if isinstance(settings, AdamSettings) and noise > limit:
        text = (
            f"AdamW at rate {settings.rate:g} on batches of {batching.size}: a noise of {noise:.2g} exceeds "
            f"{limit:g}, the largest at which this prediction was found right (table in "
            "docs/theory/adaptive.md). Take larger batches or a smaller rate."
        )
        warnings.warn(text, OutsideValidityWarning, stacklevel=4)


@dataclass(frozen=True)
class Batching:
    """How batches are drawn; ``size`` None is the full batch, ``n_sequences`` None draws with replacement.

    All batches of an epoch are taken to have one size. If n is not a multiple of b the last one is smaller,
    and an epoch's mean gradients do not quite add up to the whole; that is neglected.
    """

    size: int | None
    n_sequences: int | None

    def __post_init__(self) -> None:
        n, size = self.n_sequences, self.size
        if n is not None and size is not None and size > n:
            raise InputError("batch_size", size, f"an epoch has {n} sequences", "give a smaller batch")

    @property
    def factor(self) -> float:
        """The variance of a batch's mean gradient, relative to a single sequence's."""
        if self.size is None:
            return 0.0
        n = self.n_sequences
        rest = 1.0 if n is None else (n - self.size) / max(n - 1, 1)
        return rest / self.size

    @property
    def independent_factor(self) -> float:
        """The same for independent batches that, minus their mean over an epoch, are like those drawn."""
        K = self.per_epoch
        return self.factor if K is None or self.factor == 0 else self.factor * K / (K - 1)

    @property
    def per_epoch(self) -> int | None:
        """K, the number of batches in an epoch; None where batches are independent."""
        if self.size is None or self.n_sequences is None:
            return None
        return -(-self.n_sequences // self.size)
