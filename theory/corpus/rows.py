"""The rows that a corpus's counts predict for embeddings: sparse rows minus multiples of dense ones."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
import numpy.typing as npt
from scipy import sparse

from theory.corpus.counts import CorpusCounts
from theory.edge.arrays import ArrayLike, Float64, FloatArray, Integer
from theory.edge.checked import check_tokens, checked
from theory.edge.errors import InputError, check_memory

CountPredictor = Literal["bigram", "marginal", "tied", "readout"]
"""The predictors of ``corpus_geometry`` that need the counts alone."""


@dataclass(frozen=True, eq=False)
class PredictedRows:
    """Rows D_s = a_s − Σ_k weights_sk reference_k."""

    counted: sparse.csr_array  # (n, V): a
    weights: FloatArray  # (n, k)
    references: FloatArray  # (k, V)

    @classmethod
    def of(
        cls, counts: CorpusCounts, tokens: npt.NDArray[np.int64], predictor: CountPredictor
    ) -> PredictedRows:
        """Return the rows of some tokens."""
        joint, r = counts.joint, counts.ratios
        if predictor == "marginal":
            return cls(joint[tokens], r[tokens, None], (counts.labels / counts.n_pairs)[None])
        # C is the joint distribution minus r_s u in row s; Cᵀ is its transpose minus r/V in each row.
        uniform, column = np.full(counts.vocab_size, 1 / counts.vocab_size), r / counts.vocab_size
        share, ones = r[tokens, None], np.ones((len(tokens), 1))
        if predictor == "bigram":
            return cls(joint[tokens], share, uniform[None])
        if predictor == "readout":
            return cls(joint.T.tocsr()[tokens], ones, column[None])
        both = np.stack([uniform, column])
        return cls((joint + joint.T).tocsr()[tokens], np.concatenate([share, ones], axis=1), both)

    def sum(self, scale: FloatArray) -> FloatArray:
        """Return Σ_s scale_s D_s, shape (V,)."""
        return np.asarray(self.counted.T @ scale - (scale @ self.weights) @ self.references)

    def squares(self) -> FloatArray:
        """Return |D_s|², shape (n,); 0 where nothing but rounding is left of a row."""
        counted = self.counted.multiply(self.counted).sum(axis=1)
        crossed = np.sum((self.counted @ self.references.T) * self.weights, axis=1)
        gram = self.references @ self.references.T
        dense = np.sum((self.weights @ gram) * self.weights, axis=1)
        squares = counted - 2 * crossed + dense
        return np.where(squares > 1e-12 * (counted + dense), squares, 0.0)

    def gram(self) -> FloatArray:
        """Return all inner products D_s · D_t, shape (n, n)."""
        crossed = (self.counted @ self.references.T) @ self.weights.T
        inner = self.weights @ (self.references @ self.references.T) @ self.weights.T
        return np.asarray((self.counted @ self.counted.T).toarray() - crossed - crossed.T + inner)


@checked
def corpus_gram(
    counts: CorpusCounts, tokens: Integer[ArrayLike, " n"], predictor: CountPredictor = "bigram"
) -> Float64[FloatArray, "n n"]:
    """Return the inner products of some tokens' rows from the uncorrected counts, shape (n, n).

    The diagonal is 0 where a token has no row. Nothing is corrected for sampling: a model that
    trains on this very corpus sees these numbers.

    Parameters
    ----------
    counts : CorpusCounts
    tokens : array_like of int, shape (n,)
    predictor : {"bigram", "marginal", "tied", "readout"}, optional
        As in ``corpus_geometry``.
    """
    wanted = check_tokens("tokens", tokens, counts.vocab_size)
    check_memory("tokens", len(wanted), 32 * len(wanted) ** 2, "the Gram matrix", "ask for fewer")
    rows = PredictedRows.of(counts, wanted, predictor)
    gram = rows.gram()
    np.fill_diagonal(gram, rows.squares())
    return gram


@checked
def corpus_mean_cosine(
    counts: CorpusCounts, tokens: Integer[ArrayLike, " n"], predictor: CountPredictor = "bigram"
) -> float:
    r"""Return the mean cosine of all pairs of some tokens, with rows as in ``corpus_gram``.

    With unit rows x_s it is :math:`(|\sum_s x_s|^2 - n)/(n(n - 1))`, which visits no pairs, so that
    there may be any number of tokens.

    Parameters
    ----------
    counts, predictor
        As in ``corpus_gram``.
    tokens : array_like of int, shape (n,)
        Tokens whose row is 0 are left out.

    Raises
    ------
    InputError
        If fewer than two tokens have a row.
    """
    wanted = np.unique(check_tokens("tokens", tokens, counts.vocab_size))
    rows = PredictedRows.of(counts, wanted, predictor)
    squares = rows.squares()
    n = int(np.count_nonzero(squares))
    if n < 2:
        raise InputError("tokens", wanted.tolist(), "fewer than two of them have a row", "name more tokens")
    total = rows.sum(np.where(squares > 0, 1 / np.sqrt(np.where(squares > 0, squares, 1.0)), 0.0))
    return float((total @ total - n) / (n * (n - 1)))
