r"""The matrices of a corpus as operators: products with a few vectors, for any vocabulary.

C comes from the counts. The context map needs a pass over the sequences for every product: with
:math:`c_k = \frac1k \sum_{m \le k} e_{x_m}`, what averaged attention sees at position k of a sequence,

.. math:: \Phi_{ij} = E\, 1[x_{k+1} = i]\, c_{k,j}

averaged over all positions that have a next token, with equal weights.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from scipy import sparse
from scipy.sparse.linalg import LinearOperator, svds

from theory.corpus.counts import CorpusCounts
from theory.corpus.sequences import Block, Tokens, check_repeatable, no_pairs, read_blocks
from theory.edge.arrays import Float64, FloatArray
from theory.edge.checked import Size, checked
from theory.edge.errors import InputError
from theory.edge.settled import settled_turn

LARGEST_MATRIX = 4096
"""The largest vocabulary for a dense matrix: 128 MiB."""
_BLOCK = 2**16
_ENTRIES = 2**22
"""The most numbers that a pass holds at once in each of its arrays, unless one sequence is longer."""
Labelled = tuple[Tokens, FloatArray]
"""A token for each row of an array."""


@checked
def bigram_operator(counts: CorpusCounts) -> LinearOperator:
    r"""Return C, shape (V, V), whose row s is :math:`r_s (P^s - u)`: B̄ of Im et al. (arXiv 2601.19208)."""
    joint, ratios = counts.joint, counts.ratios
    uniform = np.full(counts.vocab_size, 1 / counts.vocab_size)
    return _operator(
        counts.vocab_size,
        lambda v: joint @ v - np.outer(ratios, uniform @ v),
        lambda v: joint.T @ v - np.outer(uniform, ratios @ v),
    )


@checked
def context_operator(sequences: Any, vocab_size: Size) -> LinearOperator:
    """Return the context map Φ̄ of Im et al., shape (V, V): Φ with its columns centred.

    Under averaged attention its transpose replaces C: row s is E c_{k,s} (y_k − u).

    Parameters
    ----------
    sequences : iterable of array_like of int
        Token sequences, read once for every product: a list, or anything that can be read again.
    vocab_size : int
        V.
    """
    check_repeatable(sequences)
    n_pairs = sum(len(block.inputs) for block in read_blocks(sequences, vocab_size, _BLOCK))
    if not n_pairs:
        raise no_pairs()

    def summed(vectors: FloatArray, part: Callable[[Block, FloatArray], Labelled]) -> FloatArray:
        """Return a part's rows over all positions, summed by token and divided by n: shape (V, k)."""
        total = np.zeros((vocab_size, vectors.shape[1]))
        for block in read_blocks(sequences, vocab_size, _BLOCK):
            width = max(1, _ENTRIES // len(block.tokens))
            for first in range(0, vectors.shape[1], width):
                columns = slice(first, first + width)
                tokens, rows = part(block, vectors[:, columns])
                place = (np.ones(len(tokens)), tokens, np.arange(len(tokens) + 1))
                by_token = sparse.csc_array(place, shape=(vocab_size, len(tokens)))
                total[:, columns] += np.asarray(by_token @ rows)
        return total / n_pairs

    def averages(block: Block, v: FloatArray) -> Labelled:
        return block.labels, block.running_sum(v[block.inputs]) / block.positions[:, None]

    def to_contexts(block: Block, v: FloatArray) -> Labelled:
        return block.inputs, block.running_sum(v[block.labels] / block.positions[:, None], backwards=True)

    def product(v: FloatArray) -> FloatArray:
        rows = summed(v, averages)
        return np.asarray(rows - rows.mean(axis=0))

    def adjoint(v: FloatArray) -> FloatArray:
        return summed(np.asarray(v - v.mean(axis=0)), to_contexts)

    return _operator(vocab_size, product, adjoint)


@checked
def as_matrix(operator: LinearOperator) -> Float64[FloatArray, "{operator.shape[0]} {operator.shape[1]}"]:
    """Return an operator as a dense matrix, of at most 4096 rows and columns."""
    if max(operator.shape) > LARGEST_MATRIX:
        problem = f"too many tokens for a dense matrix (at most {LARGEST_MATRIX})"
        raise InputError("operator", operator.shape, problem, "multiply it with the vectors you need")
    return np.asarray(operator.matmat(np.eye(operator.shape[1])), np.float64)


@checked
def top_singular(
    operator: LinearOperator, n: Size = 10
) -> tuple[
    Float64[FloatArray, "{operator.shape[0]} {n}"],
    Float64[FloatArray, " {n}"],
    Float64[FloatArray, "{n} {operator.shape[1]}"],
]:
    """Return the n largest singular triplets: left (rows, n), values (n,) falling, right (n, columns).

    Each left vector's largest entry is positive.
    """
    smaller = min(operator.shape)
    if n >= smaller:
        remedy = f"give 1 to {smaller - 1}" if smaller > 1 else "use a vocabulary of two tokens or more"
        raise InputError("n", n, f"an operator of shape {operator.shape}", remedy)
    # A fixed start vector makes results reproducible.
    first = np.random.default_rng(0).standard_normal(max(operator.shape))
    if not operator.matvec(first[: operator.shape[1]]).any():  # ARPACK fails on a zero matrix
        return np.eye(operator.shape[0], n), np.zeros(n), np.eye(n, operator.shape[1])
    left, values, right = svds(operator, k=n, v0=first[:smaller])
    order = np.argsort(values)[::-1]
    falling = np.asarray(values[order], np.float64)
    turn = settled_turn(np.asarray(left[:, order], np.float64), falling)
    return left[:, order] @ turn, falling, turn.T @ right[order]


def _operator(
    size: int,
    product: Callable[[FloatArray], FloatArray],
    adjoint: Callable[[FloatArray], FloatArray],
) -> LinearOperator:
    return LinearOperator(
        shape=(size, size),
        dtype=np.float64,
        matmat=product,
        rmatmat=adjoint,
        matvec=lambda v: product(v.reshape(-1, 1))[:, 0],
        rmatvec=lambda v: adjoint(v.reshape(-1, 1))[:, 0],
    )
