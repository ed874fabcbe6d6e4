r"""S = E[c(X)ᵀ c(X)], how often two tokens stand in one sequence: what the linearised flow needs beside C."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import numpy.typing as npt

from theory.arrays import ArrayLike, Float64, FloatArray, Integer
from theory.checked import Size, checked
from theory.errors import InputError
from theory.labels.sample import check_vocabulary
from theory.task.task import Mapping, Task


@checked
def expected_cooccurrence(
    task: Task, *, held_out: bool = False
) -> Float64[FloatArray, "{task.vocab_size} {task.vocab_size}"]:
    r"""Return S in the limit of infinite data, exact to rounding.

    S_{st} = E[c_s c_t], c being the token counts of a sequence, with multiplicity. Keys (m = L − q of
    them, independent and uniform) and anchors are independent, so that S splits into
    :math:`m\,\mathrm{diag}(v) + m(m-1) v^\top v` on the keys, v = 1/N_Z; the product of means between
    keys and anchors; and a count of combinations on the anchors.

    Parameters
    ----------
    task : Task
        The task.
    held_out : bool, optional
        True: the training distribution, without the held-out combinations.

    Returns
    -------
    ndarray of float64, shape (vocab_size, vocab_size)
        Symmetric, non-negative and positive semi-definite; its entries sum to L².
    """
    m, n_keys, keys = task.length - task.n_anchors, len(task.keys), list(task.keys)
    total = sum(task.n_combinations(mapping, held_out=held_out) for mapping in task.mappings)
    S = np.zeros((task.vocab_size, task.vocab_size))
    S[np.ix_(keys, keys)] = m * (m - 1) / n_keys**2
    S[keys, keys] += m / n_keys
    for mapping in task.mappings:
        anchors = list(mapping.anchors)
        pairs = _anchor_pairs(mapping, task.n_anchors, held_out)
        shares = [[float(Fraction(int(count), total)) for count in row] for row in pairs]
        S[np.ix_(anchors, anchors)] = shares
        # Every row of pair counts sums to q times how often the combinations hold that anchor.
        single = [float(Fraction(int(sum(row)) * m, total * task.n_anchors * n_keys)) for row in pairs]
        S[np.ix_(anchors, keys)] = np.array(single)[:, None]
        S[np.ix_(keys, anchors)] = np.array(single)
    return S


def _anchor_pairs(mapping: Mapping, q: int, held_out: bool) -> npt.NDArray[np.object_]:
    """Return Σ c_s c_t over a mapping's combinations in exact integers, shape (N_A, N_A)."""
    n = len(mapping.anchors)
    apart = q * (q - 1) * n ** (q - 2) if q > 1 else 0
    pairs = np.full((n, n), apart, dtype=object)
    pairs[np.diag_indices(n)] += q * n ** (q - 1)
    for combination in mapping.held_out if held_out else ():
        counts = np.array([combination.count(a) for a in mapping.anchors], dtype=object)
        pairs -= np.outer(counts, counts)
    return pairs


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
        If there is no sequence, or a token is not an integer or outside the vocabulary.
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
