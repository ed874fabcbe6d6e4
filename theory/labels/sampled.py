r"""Label distributions by drawing sequences, for tasks too large to enumerate, and statistics of them.

Sampling noise makes vectors longer: :math:`E\|\hat p\|^2 = \|p\|^2 + (1 - \|p\|^2)/n`, so that cosines of
sampled distributions come out too small. ``SampledLabels`` estimates every squared norm by the unbiased
:math:`(n\|\hat p\|^2 - 1)/(n - 1)`; inner products of independent samples are unbiased as they are.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, get_args

import numpy as np
import numpy.typing as npt

from theory.edge.arrays import Float64, FloatArray, Int64, IntArray
from theory.edge.checked import checked
from theory.edge.checks import Between, check_tokens
from theory.edge.errors import InputError, TooManyEntriesError, check_memory
from theory.labels.distribution import Role, exact_ratio, label_distribution
from theory.task.domain import Domain, Selection
from theory.task.mapping import Mapping
from theory.task.task import Task

_MAX_DRAWN = 50_000_000


def drawn_shares(
    task: Task, token: int, rng: np.random.Generator, n_samples: int, *, held_out: bool
) -> FloatArray:
    """Return each label's share among drawn sequences, each in proportion to how often it holds ``token``."""
    drawn, roles = _Draw(task, rng, held_out), get_args(Role)[1:]
    ratios = [exact_ratio(task, token, role, held_out) for role in roles]
    if not any(ratios):
        raise InputError("token", token, "never occurs", "choose a token that does")
    counts = np.zeros(task.vocab_size, np.int64)
    shares = [float(ratio / sum(ratios)) for ratio in ratios]
    for role, n in zip(roles, rng.multinomial(n_samples, shares), strict=True):
        counts += np.bincount(drawn.labels(token, role, int(n)), minlength=task.vocab_size)
    return np.asarray(counts / n_samples)


@dataclass(frozen=True)
class _Draw:
    """Draws the labels of sequences that hold a token in a role."""

    task: Task
    rng: np.random.Generator
    held_out: bool

    def labels(self, token: int, role: Role, n: int) -> IntArray:
        """Return n labels."""
        if role == "anchor":
            mapping = self.task.mapping_of(token)
            return self._labels(mapping, n, token, None) if mapping is not None else np.zeros(0, np.int64)
        # Combinations are equally frequent, so that a mapping occurs in proportion to its number of them.
        sizes = [self.task.n_combinations(m, held_out=self.held_out) for m in self.task.mappings]
        shares = np.array([size / sum(sizes) for size in sizes])
        numbers = self.rng.multinomial(n, shares / shares.sum())
        key = token if role == "key" else None
        parts = [self._labels(m, int(k), None, key) for m, k in zip(self.task.mappings, numbers, strict=True)]
        return np.concatenate(parts)

    def _labels(self, mapping: Mapping, n: int, anchor: int | None, key: int | None) -> IntArray:
        domain = self.task.domain(mapping)
        anchors = self._combinations(domain, mapping, n, anchor)
        keys = np.full(n, key) if key is not None else self.rng.choice(np.array(domain.keys), size=n)
        return mapping.rule.draw_labels(domain, keys, anchors, self.rng)

    def _combinations(self, domain: Domain, mapping: Mapping, n: int, anchor: int | None) -> IntArray:
        """Draw combinations, shape (n, q), in proportion to how often they hold ``anchor``, if given."""
        held_out = mapping.held_out if self.held_out else frozenset()
        # Where most of an anchor's combinations may be held out, rejecting them one by one might not end.
        scarce = 2 * len(held_out) > domain.n_combinations // len(domain.anchors)
        if held_out and (domain.n_combinations <= n or (scarce and domain.is_enumerable)):
            weights = domain.times(Selection(anchor, held_out=held_out))
            return domain.combinations()[self.rng.choice(len(weights), size=n, p=weights / weights.sum())]
        drawn = self._any_combinations(domain, n, anchor)
        for row in range(n) if held_out else ():
            while tuple(drawn[row].tolist()) in held_out:
                drawn[row] = self._any_combinations(domain, 1, anchor)[0]
        return drawn

    def _any_combinations(self, domain: Domain, n: int, anchor: int | None) -> IntArray:
        """Draw combinations as if none were held out."""
        drawn = self.rng.choice(np.array(domain.anchors), size=(n, domain.n_anchors))
        if anchor is not None:
            # Putting the anchor into a uniform slot weights a combination by how often it holds the anchor.
            drawn[np.arange(n), self.rng.integers(domain.n_anchors, size=n)] = anchor
        return drawn


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
    """An estimate and its standard error, two arrays of one shape.

    The error is 0 for an exact entry, and NaN where an estimate from part of the data is undefined.
    """

    value: Float64[FloatArray, "*shape"]
    standard_error: Float64[FloatArray, "*shape"]


def jackknife(value: npt.ArrayLike, left_out: Sequence[npt.ArrayLike], least: float = 0) -> SampledValue:
    """Return a value with the standard error that follows from its values without each block of the data.

    Where these differ only by rounding, relative to their size or ``least``, the error is 0.
    """
    without = np.array(left_out, dtype=np.float64)
    squares = ((without - without.mean(axis=0)) ** 2).sum(axis=0)
    error = np.sqrt(squares * (len(without) - 1) / len(without))
    scale = np.maximum(least, np.abs(without).max(axis=0))
    return SampledValue(np.asarray(value, np.float64), np.where(error <= _ROUNDING * scale, 0.0, error))


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
        return jackknife(statistic(self.moments), [statistic(moments) for moments in self.left_out], least=1)

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
    """
    found = tuple(check_tokens("tokens", tokens, task.vocab_size).tolist())
    shape = (N_BLOCKS, len(found), task.vocab_size)
    n_bytes = 16 * int(np.prod(shape, dtype=object))
    check_memory("tokens", len(found), n_bytes, "an array of label distributions", "give fewer tokens")
    blocks = np.empty(shape)
    drawn = [_fill(blocks[:, i], task, s, rng, n_samples, held_out) for i, s in enumerate(found)]
    return SampledLabels(found, blocks, np.array(drawn, np.int64))


def _fill(rows: FloatArray, task: Task, token: int, rng: Any, n_samples: int, held_out: bool) -> int:
    """Write a token's shares in every block, shape (20, d), and return how many sequences were drawn."""
    try:
        rows[:] = label_distribution(task, token, held_out=held_out)
    except TooManyEntriesError:
        most = N_BLOCKS * (_MAX_DRAWN // (task.n_anchors + 1))
        if n_samples > most:
            problem = f"{n_samples * (task.n_anchors + 1):.3g} tokens to draw"
            raise InputError("n_samples", n_samples, problem, f"give at most {most}") from None
        in_block = -(-n_samples // N_BLOCKS)
        for row in rows:
            row[:] = drawn_shares(task, token, rng, in_block, held_out=held_out)
        return in_block * N_BLOCKS
    return 0
