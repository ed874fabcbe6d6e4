"""The first attention as an average, and the last attention's last row as a cliff."""

from __future__ import annotations

import numpy as np

from theory.arrays import FloatArray, IntArray

LEMMA1_EPSILONS = (0.1, 0.03, 0.01)
"""ε of Lemma 1 at which the share of entries within ε of 1/i is observed."""


def first_attention(attention: FloatArray) -> dict[str, FloatArray]:
    """Return how far a first attention is from the average operator (Lemma 1, Fig. 6A-B).

    Parameters
    ----------
    attention : ndarray, shape (n, L, L)
        One head's, for n sequences; rows sum to 1, entries after the diagonal are 0.

    Returns
    -------
    dict of ndarray
        "first_attention" and "first_attention_sd" (L, L), mean and standard deviation over sequences;
        "first_attention_error" (), the largest |A_ij − 1/i| over sequences and j ≤ i; "lemma1_share" (3,),
        the share of entries within ε of 1/i, for ε = 0.1, 0.03, 0.01. The first row is 1 for any weights
        and is left out of the share.
    """
    n, length, _ = attention.shape
    average = np.tril(np.ones((length, length))) / np.arange(1, length + 1)[:, None]
    error = np.abs(attention - average)
    rows, columns = np.tril_indices(length)
    entries = error[:, rows[rows > 0], columns[rows > 0]]
    return {
        "first_attention": attention.mean(axis=0),
        "first_attention_sd": attention.std(axis=0, ddof=1 if n > 1 else 0),
        "first_attention_error": np.asarray(error.max()),
        "lemma1_share": np.array([np.mean(entries <= epsilon) for epsilon in LEMMA1_EPSILONS]),
    }


def last_row(logits: FloatArray, attention: FloatArray, position: IntArray) -> dict[str, FloatArray]:
    """Return what the last position attends to in the last layer, by the place of the key (Fig. 15A).

    Parameters
    ----------
    logits, attention : ndarray, shape (n, L)
        The last row before and after the softmax, one head's, for n sequences.
    position : ndarray of int64, shape (n,)
        Where each sequence's key stands; every position from 0 to P − 1 occurs.

    Returns
    -------
    dict of ndarray
        "last_logits", "last_logits_sd", "last_attention", all of shape (P, L): mean, standard deviation
        over the sequences with the key at p, and mean.
    """
    groups = [position == p for p in range(int(position.max()) + 1)]
    return {
        "last_logits": np.array([logits[group].mean(axis=0) for group in groups]),
        "last_logits_sd": np.array([logits[g].std(axis=0, ddof=1 if g.sum() > 1 else 0) for g in groups]),
        "last_attention": np.array([attention[group].mean(axis=0) for group in groups]),
    }
