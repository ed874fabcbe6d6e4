"""The tokens whose embeddings a corpus predicts to point the same way as a given one's."""

from __future__ import annotations

from typing import Any

import numpy as np

from theory.arrays import ArrayLike, Integer
from theory.checked import Size, check_tokens, checked
from theory.corpus.geometry import CorpusGeometry, CorpusPredictor, corpus_cosines, corpus_geometry
from theory.errors import InputError


@checked
def nearest_tokens(
    sequences: Any,
    vocab_size: Size,
    token: int,
    candidates: Integer[ArrayLike, " k"],
    n: Size = 10,
    predictor: CorpusPredictor = "bigram",
) -> CorpusGeometry:
    """Return the geometry of a token and the n candidates of the largest predicted cosine with it.

    Two passes over the corpus: the first ranks the candidates, the second computes the errors of those kept.
    The largest of many uncertain cosines are on average larger than they would be in another corpus like it.

    Parameters
    ----------
    sequences, vocab_size, predictor
        As in ``corpus_geometry``; sequences that can be read twice.
    token : int
    candidates : array_like of int
        Those of them whose cosine is defined are ranked; the token itself is passed over.
    n : int, optional

    Returns
    -------
    CorpusGeometry
        Of the token, which is first, and its neighbours by falling cosine.

    Raises
    ------
    InputError
        As ``corpus_geometry``, or if no candidate has a cosine with the token.
    """
    (own,) = check_tokens("token", token, vocab_size)
    others = np.setdiff1d(check_tokens("candidates", candidates, vocab_size), [own])
    cosines = corpus_cosines(sequences, vocab_size, np.concatenate([[own], others]), predictor)[0, 1:]
    order = np.argsort(-cosines, kind="stable")[: min(n, int(np.isfinite(cosines).sum()))]
    if not order.size:
        raise InputError(
            "token", int(own), "too rare to compare with any other", "choose a more frequent one"
        )
    return corpus_geometry(sequences, vocab_size, [own, *others[order]], predictor)
