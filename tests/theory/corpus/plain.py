"""The statistics of a corpus written down position by position: slow and plain."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from theory.arrays import FloatArray


@dataclass(frozen=True)
class Plain:
    """The counts of a small corpus, C, and Φ before and after its columns are centred."""

    pairs: FloatArray
    C: FloatArray
    uncentred: FloatArray

    @property
    def context(self) -> FloatArray:
        return self.uncentred - self.uncentred.mean(axis=0)


def plain(sequences: Sequence[Sequence[int]], vocab_size: int) -> Plain:
    pairs, context = np.zeros((2, vocab_size, vocab_size))
    for sequence in sequences:
        for k in range(1, len(sequence)):
            average = np.bincount(sequence[:k], minlength=vocab_size) / k
            pairs[sequence[k - 1], sequence[k]] += 1
            context[sequence[k]] += average
    n = pairs.sum()
    r = pairs.sum(axis=1) / n
    return Plain(pairs, pairs / n - r[:, None] / vocab_size, context / n)


def markov(
    rng: np.random.Generator, transitions: FloatArray, n: int, length: int
) -> list[npt.NDArray[np.int64]]:
    """Return n independent chains of one length, each from a token drawn uniformly."""
    chains = np.empty((n, length), np.int64)
    chains[:, 0] = rng.integers(len(transitions), size=n)
    cumulative = transitions.cumsum(axis=1)
    for k in range(1, length):
        drawn = rng.random(n)[:, None] * (1 - 1e-12)
        chains[:, k] = (cumulative[chains[:, k - 1]] <= drawn).sum(axis=1)
    return list(chains)
