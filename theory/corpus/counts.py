r"""How often one token follows another, and the rows that these counts predict for embeddings.

With n pairs of a token and the one that follows it in the same sequence, r_s is the share of s among first
tokens, P^s the distribution of the token after s, and C has the rows :math:`r_s (P^s - u)`. It is the matrix
C of eq. (5) for the task "predict the next token", and the bigram map of Im et al. (arXiv 2601.19208).
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal

import numpy as np
from scipy import sparse

from theory.corpus.sequences import no_pairs, read_blocks
from theory.edge.arrays import ArrayLike, Float64, FloatArray, Int64, IntArray, Integer
from theory.edge.checked import Size, checked
from theory.edge.checks import check_tokens
from theory.edge.errors import InputError, check_memory

CountPredictor = Literal["bigram", "marginal", "tied", "readout"]
"""The predictors of ``corpus_geometry`` that need the counts alone."""
_BLOCK = 2**21
"""The fewest tokens that are counted at once."""


@dataclass(frozen=True, eq=False)
class CorpusCounts:
    """Counts of a corpus. The counts of two shards add up exactly to the counts of the whole.

    Attributes
    ----------
    pairs : csr_array of int64, shape (V, V)
        How often token j follows token i within a sequence.
    unigrams : ndarray of int64, shape (V,)
        How often each token occurs, the last one of a sequence included.
    n_sequences : int
        The number of sequences that hold a token.
    """

    pairs: sparse.csr_array
    unigrams: Int64[IntArray, " V"]
    n_sequences: int

    def __add__(self, other: CorpusCounts) -> CorpusCounts:
        """Return the counts of both corpora together."""
        if not isinstance(other, CorpusCounts) or other.vocab_size != self.vocab_size:
            problem = "not counts over the same vocabulary"
            raise InputError("other", other, problem, "count with one vocab_size")
        return CorpusCounts(
            self.pairs + other.pairs, self.unigrams + other.unigrams, self.n_sequences + other.n_sequences
        )

    @property
    def vocab_size(self) -> int:
        """V.

        :meta private:
        """
        return len(self.unigrams)

    @cached_property
    def n_pairs(self) -> int:
        """n, the number of pairs."""
        return int(self.inputs.sum())

    @cached_property
    def inputs(self) -> Int64[IntArray, " V"]:
        """How often each token is the first of a pair, shape (V,)."""
        return np.asarray(self.pairs.sum(axis=1), np.int64)

    @cached_property
    def labels(self) -> Int64[IntArray, " V"]:
        """How often each token is the second of a pair, shape (V,)."""
        return np.asarray(self.pairs.sum(axis=0), np.int64)

    @property
    def ratios(self) -> Float64[FloatArray, " V"]:
        """r_s, shape (V,)."""
        return np.asarray(self.inputs / self.n_pairs)

    @cached_property
    def joint(self) -> sparse.csr_array:
        """r_s P^s_i in a sparse matrix of float64, shape (V, V)."""
        return self.pairs * (1.0 / self.n_pairs)

    @checked
    def label_distribution(self, token: int) -> Float64[FloatArray, " V"]:
        """Return P^s, shape (V,), for a token that another one follows."""
        (s,) = check_tokens("token", token, self.vocab_size)
        if not self.inputs[s]:
            problem = "no token follows it"
            raise InputError("token", token, problem, "choose one that occurs within a sequence")
        return np.asarray(self.pairs[[s]].toarray()[0] / self.inputs[s])


@checked
def corpus_counts(sequences: Any, vocab_size: Size) -> CorpusCounts:
    """Count a corpus in one pass; memory grows with the distinct pairs, not with the tokens.

    Parameters
    ----------
    sequences : iterable of array_like of int
        Token sequences of any lengths. No pair is counted across two of them.
    vocab_size : int
        V; tokens are 0..V−1.
    """
    check_memory("vocab_size", vocab_size, 32 * vocab_size, "counting", "give a smaller vocabulary")
    # Each entry has less than half the pairs of the one before: together they hold at most twice all pairs.
    held: list[sparse.csr_array] = []
    unigrams, n_sequences = np.zeros(vocab_size, np.int64), 0
    for block in read_blocks(sequences, vocab_size, _BLOCK):
        # Narrow integers: a block has fewer than 2^31 pairs, and the sort by rows moves all three arrays.
        # That counting sort is faster than sorting pairs or grouping them in a hash table.
        ones = np.ones(len(block.inputs), np.int32)
        pairs = sparse.coo_array((ones, (block.inputs, block.labels)), shape=(vocab_size, vocab_size))
        held.append(pairs.tocsr().astype(np.int64))
        while len(held) > 1 and held[-2].nnz <= 2 * held[-1].nnz:
            held[-2:] = [held[-2] + held[-1]]
        unigrams += np.bincount(block.tokens, minlength=vocab_size)
        n_sequences += len(block.lengths)
    if not any(part.nnz for part in held):
        raise no_pairs()
    return CorpusCounts(sum(held[1:], start=held[0]), unigrams, n_sequences)


@checked
def pair_counts(
    tokens: Integer[ArrayLike, " n *L"], labels: Integer[ArrayLike, " n"], vocab_size: Size
) -> CorpusCounts:
    """Count given pairs, for a labelled task instead of a corpus.

    Parameters
    ----------
    tokens : array_like of int, shape (n,) or (n, L)
        One token per label, or a sequence of L tokens, each of which is paired with the label.
    labels : array_like of int, shape (n,)
    vocab_size : int
        V; tokens and labels are 0..V−1.
    """
    check_memory("vocab_size", vocab_size, 32 * vocab_size, "counting", "give a smaller vocabulary")
    y = check_tokens("labels", labels, vocab_size)
    first = check_tokens("tokens", np.ravel(tokens), vocab_size)
    second = np.repeat(y, first.size // len(y))
    ones = np.ones(len(first), np.int64)
    pairs = sparse.coo_array((ones, (first, second)), shape=(vocab_size, vocab_size)).tocsr()
    unigrams = np.bincount(np.concatenate([first, y]), minlength=vocab_size)
    return CorpusCounts(pairs, unigrams, len(y))


@dataclass(frozen=True, eq=False)
class PredictedRows:
    """Rows D_s = a_s − Σ_k weights_sk reference_k."""

    counted: sparse.csr_array  # (n, V): a
    weights: FloatArray  # (n, k)
    references: FloatArray  # (k, V)

    @classmethod
    def of(cls, counts: CorpusCounts, tokens: IntArray, predictor: CountPredictor) -> PredictedRows:
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
