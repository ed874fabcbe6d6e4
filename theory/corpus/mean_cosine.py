"""The mean cosine of any number of tokens by the counts of a corpus as they are."""

from __future__ import annotations

from typing import Literal

import numpy as np
import numpy.typing as npt
from scipy import sparse

from theory.checked import Integers, check_tokens, checked
from theory.corpus.counts import CorpusCounts
from theory.corpus.sequences import FloatArray
from theory.errors import InputError


@checked
def corpus_mean_cosine(
    counts: CorpusCounts,
    tokens: Integers,
    predictor: Literal["bigram", "marginal", "tied", "readout"] = "bigram",
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
    rows, weights, references = _rows(counts, wanted, predictor)
    squares = rows.multiply(rows).sum(axis=1) - 2 * np.sum((rows @ references.T) * weights, axis=1)
    squares = squares + np.sum((weights @ (references @ references.T)) * weights, axis=1)
    # Where a token has no pair at all, what is left of its row is rounding.
    largest = np.maximum(rows.max(axis=1).toarray(), weights @ references.max(axis=1))
    defined = squares > 1e-20 * largest**2
    n = int(defined.sum())
    if n < 2:
        raise InputError("tokens", wanted.tolist(), "fewer than two of them have a row", "name more tokens")
    scale = np.where(defined, 1 / np.sqrt(np.where(defined, squares, 1.0)), 0.0)
    total = rows.T @ scale - (scale @ weights) @ references
    return float((total @ total - n) / (n * (n - 1)))


def _rows(
    counts: CorpusCounts, tokens: npt.NDArray[np.int64], predictor: str
) -> tuple[sparse.csr_array, FloatArray, FloatArray]:
    """Return sparse rows, shape (n, V), and what is taken from them: weights (n, k) of references (k, V)."""
    joint, r = counts.joint, counts.ratios
    if predictor == "marginal":
        return joint[tokens], r[tokens, None], (counts.labels / counts.n_pairs)[None]
    # C is the joint distribution less r_s u in row s; its transpose, less r/V in each row.
    uniform, column = np.full(counts.vocab_size, 1 / counts.vocab_size), r / counts.vocab_size
    own, ones = r[tokens, None], np.ones((len(tokens), 1))
    if predictor == "bigram":
        return joint[tokens], own, uniform[None]
    if predictor == "readout":
        return joint.T.tocsr()[tokens], ones, column[None]
    both = np.stack([uniform, column])
    return (joint + joint.T).tocsr()[tokens], np.concatenate([own, ones], axis=1), both
