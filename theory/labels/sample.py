"""C and S of a finite sample, counted from its sequences and labels."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from theory.arrays import ArrayLike, Float64, FloatArray, Int64, IntArray, Integer
from theory.checked import Size, checked
from theory.errors import InputError


@checked
def token_label_counts(
    sequences: Integer[ArrayLike, "n L"], labels: Integer[ArrayLike, " n"], vocab_size: Size
) -> Int64[IntArray, "{vocab_size} {vocab_size}"]:
    """Return N, shape (vocab_size, vocab_size): how often token s stood in a sequence with label i.

    Parameters
    ----------
    sequences : array_like of int, shape (n, L)
        Tokens.
    labels : array_like of int, shape (n,)
        One label per sequence.
    vocab_size : int
        d; tokens and labels lie in 0..d−1.

    Raises
    ------
    InputError
        If shapes disagree or a token or label lies outside the vocabulary.
    """
    tokens, targets = check_sample(sequences, labels, vocab_size)
    pairs = tokens.astype(np.int64) * vocab_size + targets.astype(np.int64)[:, None]
    counts = np.bincount(pairs.ravel(), minlength=vocab_size**2)
    return counts.reshape(vocab_size, vocab_size)


@checked
def token_label_matrix(
    sequences: Integer[ArrayLike, "n L"], labels: Integer[ArrayLike, " n"], vocab_size: Size
) -> Float64[FloatArray, "{vocab_size} {vocab_size}"]:
    r"""Return C, whose row s is :math:`r_s (P^s - 1/d)` in this sample (eq. 5; eq. 4 for finite data).

    Every sequence counts as often as it holds s. Parameters and errors are those of
    ``token_label_counts``; the result has shape (vocab_size, vocab_size), float64, and its rows sum
    to zero.
    """
    return matrix_of_counts(token_label_counts(sequences, labels, vocab_size), len(np.asarray(labels)))


@checked
def cooccurrence_matrix(
    sequences: Integer[ArrayLike, "n L"], vocab_size: Size
) -> Float64[FloatArray, "{vocab_size} {vocab_size}"]:
    r"""Return S of a finite sample, the mean of cᵀc over its sequences.

    Parameters
    ----------
    sequences : array_like of int, shape (n, L)
        Tokens, each in 0..vocab_size−1.
    vocab_size : int
        d.

    Returns
    -------
    ndarray of float64, shape (vocab_size, vocab_size)

    Raises
    ------
    InputError
        If there is no sequence, or a token is outside the vocabulary.
    """
    tokens = np.asarray(sequences)
    if tokens.ndim != 2 or len(tokens) == 0:
        raise InputError("sequences", tokens.shape, "not a list of sequences", "give (n, L) with n >= 1")
    check_vocabulary("sequences", tokens, vocab_size)
    tokens = tokens.astype(np.int64)
    counts = np.zeros(vocab_size**2, np.int64)
    for left in tokens.T:
        for right in tokens.T:
            counts += np.bincount(left * vocab_size + right, minlength=vocab_size**2)
    return np.asarray(counts.reshape(vocab_size, vocab_size) / len(tokens), np.float64)


def matrix_of_counts(counts: npt.NDArray[np.int64], n_sequences: int) -> FloatArray:
    """Return C from the counts that ``token_label_counts`` gives and the number of sequences."""
    per_token = counts.sum(axis=1, keepdims=True)
    return np.asarray((counts - per_token / len(counts)) / n_sequences, np.float64)


def check_sample(
    sequences: npt.ArrayLike, labels: npt.ArrayLike, vocab_size: int
) -> tuple[npt.NDArray[Any], npt.NDArray[Any]]:
    """Return sequences and labels as arrays, or refuse shapes that do not fit and foreign tokens."""
    tokens, targets = np.asarray(sequences), np.asarray(labels)
    if tokens.ndim != 2 or targets.shape != tokens.shape[:1] or len(targets) == 0:
        shapes = (tokens.shape, targets.shape)
        remedy = "give shapes (n, L) and (n,) with n >= 1"
        raise InputError("sequences, labels", shapes, "shapes do not fit", remedy)
    check_vocabulary("sequences", tokens, vocab_size)
    check_vocabulary("labels", targets, vocab_size)
    return tokens, targets


def check_vocabulary(argument: str, values: npt.NDArray[Any], vocab_size: int) -> None:
    """Refuse tokens that are not integers in 0..vocab_size−1."""
    if not np.issubdtype(values.dtype, np.integer):
        raise InputError(argument, values.dtype, "not integers", "give token numbers")
    wrong = values[(values < 0) | (values >= vocab_size)]
    if wrong.size:
        problem = f"outside the vocabulary 0..{vocab_size - 1}"
        raise InputError(argument, int(wrong.flat[0]), problem, "raise vocab_size or correct the data")
