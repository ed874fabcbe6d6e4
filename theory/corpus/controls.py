"""What shares its frequencies with a corpus and lacks the rest: shuffled text, matched tokens."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from theory.arrays import Integer
from theory.checked import Size, checked
from theory.corpus.sequences import Tokens, as_lists


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


def nearest_in_ratio(
    frequencies: npt.NDArray[Any], others: npt.NDArray[Any], tokens: npt.NDArray[np.int64], factor: float
) -> list[tuple[int, int]]:
    """Return pairs of a token of one corpus and a token of another that are equally frequent.

    Each token, the most frequent first, takes the token of the other corpus whose frequency is nearest in
    ratio and not taken yet; a token without one within ``factor`` is left out. Frequencies have one unit.
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
