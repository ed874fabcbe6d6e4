"""The mean cosine of any number of tokens by the counts of a corpus as they are."""

from __future__ import annotations

import numpy as np

from theory.arrays import ArrayLike, Integer
from theory.checked import check_tokens, checked
from theory.corpus.counts import CorpusCounts
from theory.corpus.rows import CountPredictor, predicted_rows
from theory.errors import InputError


@checked
def corpus_mean_cosine(
    counts: CorpusCounts, tokens: Integer[ArrayLike, " n"], predictor: CountPredictor = "bigram"
) -> float:
    r"""Return the mean cosine of all pairs of some tokens, whose rows are those of ``corpus_geometry``.

    These are the cosines of a model that trains on this very corpus, in which chance counts as well: nothing
    is corrected for sampling, and there is no standard error. With unit rows x_s the mean is :math:`(|\sum_s
    x_s|^2 - n)/(n(n - 1))`, which needs no pair of tokens.

    Parameters
    ----------
    counts : CorpusCounts
    tokens : array_like of int, shape (n,)
        Those whose row is 0 are left out.
    predictor : {"bigram", "marginal", "tied", "readout"}, optional

    Raises
    ------
    InputError
        If fewer than two tokens have a row.
    """
    wanted = np.unique(check_tokens("tokens", tokens, counts.vocab_size))
    rows = predicted_rows(counts, wanted, predictor)
    squares = rows.squares()
    n = int(np.count_nonzero(squares))
    if n < 2:
        raise InputError("tokens", wanted.tolist(), "fewer than two of them have a row", "name more tokens")
    total = rows.sum(np.where(squares > 0, 1 / np.sqrt(np.where(squares > 0, squares, 1.0)), 0.0))
    return float((total @ total - n) / (n * (n - 1)))
