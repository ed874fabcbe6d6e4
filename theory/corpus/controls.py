"""Corpora and sets of tokens that share one property with another and lack what a claim is about."""

from __future__ import annotations

from typing import Annotated, Any

import numpy as np
import numpy.typing as npt

from theory.arrays import ArrayLike, Integer
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
    """
    documents = as_lists(sequences, vocab_size)
    ends = np.cumsum([len(document) for document in documents])
    return np.split(rng.permutation(np.concatenate(documents)), ends[:-1])


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
    """
    documents = as_lists(sequences, vocab_size)
    counts = np.bincount(np.concatenate(documents), minlength=vocab_size)
    if n_distinct > np.count_nonzero(counts):
        problem = f"the corpus has {np.count_nonzero(counts)} distinct tokens"
        raise InputError("n_distinct", n_distinct, problem, "ask for fewer")
    kept = np.zeros(vocab_size, np.bool_)
    kept[np.argsort(-counts, kind="stable")[:n_distinct]] = True
    pieces = []
    for document in documents:
        # Stretches of kept tokens: where the mask rises, and where it falls.
        mask = np.concatenate([[False], kept[document], [False]]).astype(np.int8)
        edges = np.flatnonzero(np.diff(mask)).reshape(-1, 2)
        pieces += [document[first:end] for first, end in edges]
    if n_tokens is None:
        return pieces
    lengths = np.cumsum([len(piece) for piece in pieces])
    if n_tokens > lengths[-1]:
        raise InputError("n_tokens", n_tokens, f"{lengths[-1]} tokens are left", "ask for fewer")
    last = int(np.searchsorted(lengths, n_tokens))
    pieces[last] = pieces[last][: len(pieces[last]) - int(lengths[last] - n_tokens)]
    return pieces[: last + 1]


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
    """
    shares = []
    for argument, values in (("counts", counts), ("other", other)):
        number = np.asarray(values)
        if number.ndim != 1 or not number.size or number.min() < 0 or not number.any():
            remedy = "give one count per token, not all of them 0"
            raise InputError(argument, values, "not counts of a corpus", remedy)
        shares.append(number / number.sum(dtype=np.float64))
    first, second = shares
    return nearest_in_ratio(first, second, check_tokens("tokens", tokens, len(first)), factor)


def nearest_in_ratio(
    frequencies: npt.NDArray[Any], others: npt.NDArray[Any], tokens: npt.NDArray[np.int64], factor: float
) -> list[tuple[int, int]]:
    """Return ``frequency_matched`` for frequencies of one unit, whatever they add up to."""
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
