"""Token sequences as blocks of flat arrays, which every pass over a corpus reads, and control corpora."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from theory.edge.arrays import AnyIntArray, FloatArray, Integer
from theory.edge.checked import Size, checked
from theory.edge.checks import check_tokens, refuse_masks
from theory.edge.errors import InputError

Tokens = AnyIntArray
"""Tokens of any integer type: a corpus is held in as few bytes as its vocabulary allows."""
Sequences = Iterable[npt.ArrayLike]
"""Token sequences of any lengths; several passes need a list, or an object that can be read again."""


@dataclass(frozen=True, eq=False)
class Block:
    """Some whole sequences, one after another; lengths are 1 or more."""

    tokens: Tokens  # (n,)
    lengths: npt.NDArray[np.int64]  # (n_sequences,)

    @cached_property
    def starts(self) -> npt.NDArray[np.int64]:
        """Where each sequence begins."""
        return np.cumsum(self.lengths) - self.lengths

    @cached_property
    def has_next(self) -> npt.NDArray[np.bool_]:
        """Whether a token has a next one in its own sequence, shape (n,)."""
        mask = np.ones(len(self.tokens), np.bool_)
        mask[self.starts + self.lengths - 1] = False
        return mask

    @cached_property
    def inputs(self) -> Tokens:
        """The first token of each pair."""
        return self.tokens[self.has_next]

    @cached_property
    def labels(self) -> Tokens:
        """The second token of each pair."""
        return self.tokens[1:][self.has_next[:-1]]

    @cached_property
    def sequence_of_pair(self) -> npt.NDArray[np.int64]:
        """The sequence, counted within the block, of each pair."""
        return np.repeat(np.arange(len(self.lengths)), self.lengths - 1)

    @cached_property
    def positions(self) -> FloatArray:
        """The position of each pair's first token in its sequence, from 1 on."""
        starts = np.repeat(self.starts, self.lengths - 1)
        return np.asarray(np.flatnonzero(self.has_next) - starts + 1, np.float64)

    def running_sum(self, rows: FloatArray, *, backwards: bool = False) -> FloatArray:
        """Return cumulative sums over the pairs of each sequence, rows of shape (n_pairs, k)."""
        order = -1 if backwards else 1
        sums = np.concatenate([np.zeros((1, rows.shape[1])), np.cumsum(rows[::order], axis=0)])
        lengths = (self.lengths - 1)[::order]
        before = np.repeat(np.cumsum(lengths) - lengths, lengths)
        return np.asarray((sums[1:] - sums[before])[::order], np.float64)

    def split(self) -> list[Tokens]:
        """Return each sequence's tokens."""
        return np.split(self.tokens, self.starts[1:])


def read_blocks(sequences: Sequences, vocab_size: int, size: int) -> Iterator[Block]:
    """Yield the sequences in blocks of about ``size`` tokens; empty sequences are passed over.

    Raises
    ------
    InputError
        If a sequence is not a list of integers in 0..vocab_size−1.
    """
    if isinstance(sequences, (str, bytes, dict)) or not np.iterable(sequences):
        raise InputError("sequences", sequences, "not token sequences", "give a list of lists of tokens")
    held: list[Tokens] = []
    n_held = 0
    for sequence in sequences:
        refuse_masks("sequences", sequence)
        try:
            tokens = np.asarray(sequence)
        except ValueError:  # lists of unequal lengths
            tokens = np.asarray(None)
        if tokens.ndim != 1 or (tokens.size and tokens.dtype.kind not in "iu"):
            raise InputError("sequences", sequence, "not a list of tokens", "give lists of whole numbers")
        if tokens.size and tokens.dtype == np.uint64:  # its common type with signed integers is a float
            tokens = check_tokens("sequences", tokens, vocab_size)
        if tokens.size:
            held.append(tokens)
            n_held += len(tokens)
        if n_held >= size:
            yield _block(held, vocab_size)
            held, n_held = [], 0
    if held:
        yield _block(held, vocab_size)


def _block(held: list[Tokens], vocab_size: int) -> Block:
    tokens = np.concatenate(held)
    if tokens.min() < 0 or tokens.max() >= vocab_size:
        check_tokens("sequences", tokens, vocab_size)
    return Block(tokens, np.array([len(part) for part in held], np.int64))


def check_repeatable(sequences: Sequences) -> None:
    """Refuse sequences that can be read only once."""
    if isinstance(sequences, Iterator):
        remedy = "give a list, or an object that can be read again"
        raise InputError("sequences", sequences, "can be read only once", remedy)


def no_pairs() -> InputError:
    """Return the refusal of a corpus in which no token follows another."""
    remedy = "give sequences of two tokens or more"
    return InputError("sequences", "too short", "no token follows another", remedy)


def as_lists(sequences: Sequences, vocab_size: int) -> list[Tokens]:
    """Return the sequences that are not empty as arrays, or refuse a corpus without any."""
    parts = [part for block in read_blocks(sequences, vocab_size, 2**20) for part in block.split()]
    if not parts:
        raise no_pairs()
    return parts


@checked
def shuffled_tokens(
    sequences: Any, vocab_size: Size, rng: np.random.Generator
) -> list[Integer[Tokens, " _"]]:
    """Return the corpus with all its tokens shuffled.

    Unigrams and the lengths of sequences stay the same; the next token no longer depends on the one before.

    Parameters
    ----------
    sequences : iterable of array_like of int
    vocab_size : int
    rng : numpy.random.Generator
    """
    documents = as_lists(sequences, vocab_size)
    ends = np.cumsum([len(document) for document in documents])
    return np.split(rng.permutation(np.concatenate(documents)), ends[:-1])


def nearest_in_ratio(
    frequencies: npt.NDArray[Any], others: npt.NDArray[Any], tokens: npt.NDArray[np.int64], factor: float
) -> list[tuple[int, int]]:
    """Return pairs of about equally frequent tokens, one from each of two corpora.

    Each token, the most frequent first, takes the token of the other corpus whose frequency is nearest in
    ratio and not taken yet; a token without one within ``factor`` is left out. Frequencies share one unit.
    """
    free = np.flatnonzero(others > 0)
    pairs = []
    for token in tokens[np.argsort(-frequencies[tokens], kind="stable")]:
        if not frequencies[token] or not free.size:
            continue
        distance = np.abs(np.log(others[free] / frequencies[token]))
        best = int(distance.argmin())
        if distance[best] <= np.log(factor) + 1e-12:
            pairs.append((int(token), int(free[best])))
            free = np.delete(free, best)
    return pairs
