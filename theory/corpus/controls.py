"""Corpora and sets of tokens that share one property with another and lack what a claim is about."""

from __future__ import annotations

from typing import Annotated, Any

import numpy as np
import numpy.typing as npt

from theory.arrays import ArrayLike, FloatArray, Integer
from theory.checked import Between, Size, check_tokens, checked
from theory.corpus.sequences import Tokens, as_lists
from theory.errors import InputError


@checked
def shuffled_tokens(
    sequences: Any, vocab_size: Size, rng: np.random.Generator
) -> list[Integer[Tokens, " _"]]:
    """Return the corpus with all its tokens shuffled.

    Unigrams and the lengths of sequences stay as they are; what follows a token no longer depends on it.

    Parameters
    ----------
    sequences : iterable of array_like of int
    vocab_size : int
    rng : numpy.random.Generator

    Raises
    ------
    InputError
        If there is no token, or one is not an integer or outside the vocabulary.
    """
    found = as_lists(sequences, vocab_size)
    return np.split(rng.permutation(np.concatenate(found)), np.cumsum([len(s) for s in found])[:-1])


@checked
def limited_corpus(
    sequences: Any, vocab_size: Size, n_distinct: Size, n_tokens: Size | None = None
) -> list[Integer[Tokens, " _"]]:
    """Return the part of a corpus that has a given number of distinct tokens, the most frequent ones.

    A sequence ends where it held another token and a new one begins behind it, so that no pair is invented.

    Parameters
    ----------
    sequences : iterable of array_like of int
    vocab_size : int
    n_distinct : int
        The number of distinct tokens to keep; of equally frequent ones, those with the lower number.
    n_tokens : int, optional
        Stop after this many tokens, to match a length as well.

    Raises
    ------
    InputError
        If the corpus has fewer distinct tokens or fewer tokens left than asked for.
    """
    found = as_lists(sequences, vocab_size)
    counts = np.bincount(np.concatenate(found), minlength=vocab_size)
    if n_distinct > np.count_nonzero(counts):
        problem = f"the corpus has {np.count_nonzero(counts)} distinct tokens"
        raise InputError("n_distinct", n_distinct, problem, "ask for fewer")
    kept = np.zeros(vocab_size, np.bool_)
    kept[np.argsort(-counts, kind="stable")[:n_distinct]] = True
    pieces = [piece for sequence in found for piece in _runs(sequence, kept[sequence])]
    if n_tokens is None:
        return pieces
    lengths = np.cumsum([len(piece) for piece in pieces])
    if n_tokens > lengths[-1]:
        raise InputError("n_tokens", n_tokens, f"{lengths[-1]} tokens are left", "ask for fewer")
    last = int(np.searchsorted(lengths, n_tokens))
    pieces[last] = pieces[last][: len(pieces[last]) - int(lengths[last] - n_tokens)]
    return pieces[: last + 1]


def _runs(sequence: Tokens, kept: npt.NDArray[np.bool_]) -> list[Integer[Tokens, " _"]]:
    """Return the longest stretches of kept tokens."""
    edges = np.flatnonzero(np.diff(np.concatenate([[False], kept, [False]]).astype(np.int8)))
    return [sequence[first:end] for first, end in edges.reshape(-1, 2)]


@checked
def frequency_matched(
    counts: Integer[ArrayLike, " V"],
    other: Integer[ArrayLike, " W"],
    tokens: Integer[ArrayLike, " n"],
    factor: Annotated[float, Between(1)] = 1.25,
) -> list[tuple[int, int]]:
    """Return pairs of a token of one corpus and a token of another that are equally frequent.

    Each token, the most frequent first, takes the token of the other corpus whose share is nearest in ratio
    and not taken yet; a token without one within ``factor`` is left out.

    Parameters
    ----------
    counts, other : array_like of int, shapes (V,), (V',)
        The unigrams of both corpora.
    tokens : array_like of int
        Tokens of the first corpus.
    factor : float, optional
        The largest ratio of two shares, at least 1.

    Raises
    ------
    InputError
        If a corpus is empty or a token lies outside the vocabulary.
    """
    own, theirs = (_shares(name, values) for name, values in (("counts", counts), ("other", other)))
    return nearest_in_ratio(own, theirs, check_tokens("tokens", tokens, len(own)), factor)


def nearest_in_ratio(
    own: npt.NDArray[Any], theirs: npt.NDArray[Any], tokens: npt.NDArray[np.int64], factor: float
) -> list[tuple[int, int]]:
    """Return ``frequency_matched`` for frequencies of one unit, whatever they add up to."""
    free = np.flatnonzero(theirs > 0)
    found = []
    for token in tokens[np.argsort(-own[tokens], kind="stable")]:
        if not own[token] or not free.size:
            continue
        distance = np.abs(np.log(theirs[free] / own[token]))
        best = int(distance.argmin())
        if distance[best] <= np.log(factor) + 1e-12:
            found.append((int(token), int(free[best])))
            free = np.delete(free, best)
    return found


def _shares(argument: str, values: ArrayLike) -> FloatArray:
    counts = np.asarray(values)
    if counts.ndim != 1 or not counts.size or counts.min() < 0 or not counts.any():
        raise InputError(
            argument, values, "not counts of a corpus", "give one count per token, not all of them 0"
        )
    return np.asarray(counts / counts.sum(dtype=np.float64), np.float64)
