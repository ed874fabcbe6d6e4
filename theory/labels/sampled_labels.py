r"""Label distributions of several tokens from samples, and what follows from them, with standard errors.

Sampling noise makes vectors longer: :math:`E\|\hat p\|^2 = \|p\|^2 + (1 - \|p\|^2)/n`, so that cosines of
sampled distributions come out too small. Here every squared norm is the unbiased
:math:`(n\|\hat p\|^2 - 1)/(n - 1)`; inner products of independent samples are unbiased as they are.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Annotated, Any

import numpy as np
import numpy.typing as npt

from theory.arrays import Float64, FloatArray, Int64, IntArray
from theory.checked import Between, check_tokens, checked
from theory.errors import TooManyEntriesError
from theory.labels.distribution import label_distribution
from theory.labels.sampled import sample_label_distribution
from theory.memory import check_memory
from theory.task.task import Task

N_BLOCKS = 20
"""Independent blocks of draws, of which the jackknife leaves out one at a time."""
Draws = Annotated[int, Between(2 * N_BLOCKS)]
"""How many sequences are drawn for each token: standard errors need two in every block."""

_ROUNDING = 1e-13


@dataclass(frozen=True)
class LabelMoments:
    r"""Estimates of distributions P^s and of their inner products.

    Attributes
    ----------
    shares : ndarray of float64, shape (n, d)
        An unbiased estimate of each P^s.
    inner : ndarray of float64, shape (n, n)
        Unbiased estimates of :math:`P^s \cdot P^t`, the squared norms on the diagonal included.
    """

    shares: Float64[FloatArray, "n d"]
    inner: Float64[FloatArray, "n n"]

    def centred(self, weights: FloatArray | None = None) -> FloatArray:
        """Return unbiased inner products of P^s − c: c is u, or the mean of the P^s with these weights."""
        if weights is None:
            return np.asarray(self.inner - 1 / self.shares.shape[1])
        crossed = self.inner @ weights
        return np.asarray(self.inner - crossed[:, None] - crossed + weights @ crossed)


@dataclass(frozen=True)
class SampledValue:
    """An estimate and its standard error, two arrays of one shape; the error of an exact entry is 0."""

    value: Float64[FloatArray, "*shape"]
    standard_error: Float64[FloatArray, "*shape"]


@dataclass(frozen=True, eq=False)
class SampledLabels:
    """Label distributions of some tokens: sampled where they cannot be counted, exact elsewhere.

    Attributes
    ----------
    tokens : tuple of int
    blocks : ndarray of float64, shape (20, n, d)
        The shares of the labels in each block of draws; all alike for a token whose P^s is exact.
    n_samples : ndarray of int64, shape (n,)
        The number of sequences drawn for each token, 0 where P^s is exact.
    """

    tokens: tuple[int, ...]
    blocks: Float64[FloatArray, "20 n d"]
    n_samples: Int64[IntArray, " n"]

    @functools.cached_property
    def moments(self) -> LabelMoments:
        """The estimates from all draws."""
        return self._moments(self.blocks.mean(axis=0), self.n_samples)

    @functools.cached_property
    def left_out(self) -> list[LabelMoments]:
        """The estimates without each of the blocks in turn."""
        share = 1 / (N_BLOCKS - 1)
        kept = self.n_samples - self.n_samples // N_BLOCKS
        total = self.blocks.sum(axis=0)
        return [self._moments((total - block) * share, kept) for block in self.blocks]

    def estimate(self, statistic: Callable[[LabelMoments], npt.ArrayLike]) -> SampledValue:
        """Return a statistic of the estimates with its standard error, by the jackknife over blocks."""
        replicates = np.array([statistic(moments) for moments in self.left_out], dtype=np.float64)
        spread = ((replicates - replicates.mean(axis=0)) ** 2).sum(axis=0)
        error = np.sqrt(spread * (N_BLOCKS - 1) / N_BLOCKS)
        value = np.asarray(statistic(self.moments), dtype=np.float64)
        # What does not depend on the draws differs between the blocks by rounding alone.
        return SampledValue(value, np.where(error > _ROUNDING * np.maximum(1, np.abs(value)), error, 0.0))

    def _moments(self, shares: FloatArray, n_samples: npt.NDArray[np.int64]) -> LabelMoments:
        inner = shares @ shares.T
        squares = np.diagonal(inner)
        noise = np.where(n_samples > 0, (1 - squares) / np.maximum(n_samples - 1, 1), 0.0)
        return LabelMoments(shares, inner - np.diag(noise))


@checked
def sample_labels(
    task: Task,
    tokens: Sequence[int],
    rng: np.random.Generator,
    *,
    n_samples: Draws = 100_000,
    held_out: bool = False,
) -> SampledLabels:
    """Return the label distributions of tokens: exact where ``label_distribution`` gives them, else sampled.

    Parameters
    ----------
    task : Task
    tokens : sequence of int
    rng : numpy.random.Generator
        Draws the sequences, independently for each token.
    n_samples : int, optional
        The sequences drawn for each token, at least 40; rounded up to a multiple of 20.
    held_out : bool, optional
        True: the training distribution, without the held-out combinations.

    Raises
    ------
    InputError
        If there are too few samples, or a token lies outside the vocabulary.
    """
    found = tuple(check_tokens("tokens", tokens, task.vocab_size).tolist())
    shape = (N_BLOCKS, len(found), task.vocab_size)
    n_bytes = 16 * int(np.prod(shape, dtype=object))
    check_memory("tokens", len(found), n_bytes, "label distributions in blocks", "give fewer tokens")
    blocks = np.empty(shape)
    in_block = -(-n_samples // N_BLOCKS)
    sampled = [_fill(blocks[:, i], task, s, rng, in_block, held_out) for i, s in enumerate(found)]
    return SampledLabels(found, blocks, np.array(sampled, np.int64) * in_block * N_BLOCKS)


def _fill(rows: FloatArray, task: Task, token: int, rng: Any, in_block: int, held_out: bool) -> bool:
    """Write a token's shares in every block, shape (20, d), and return whether they are sampled."""
    try:
        rows[:] = label_distribution(task, token, held_out=held_out)
    except TooManyEntriesError:
        for row in rows:
            row[:] = sample_label_distribution(task, token, rng, n_samples=in_block, held_out=held_out).shares
        return True
    return False
