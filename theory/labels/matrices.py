r"""C and S: in the limit of infinite data, and counted from the sequences and labels of a sample.

Row s of C is :math:`r_s (P^s - u)` (eq. 5); S = E[c(X)ᵀ c(X)] says how often two tokens occur in the same
sequence, c being the token counts.
"""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import numpy.typing as npt

from theory.edge.arrays import ArrayLike, Float64, FloatArray, Int64, IntArray, Integer
from theory.edge.checked import Size, checked
from theory.edge.checks import check_sequences, check_tokens
from theory.edge.errors import check_memory
from theory.labels.distribution import label_distribution, token_ratio
from theory.task.task import Mapping, Task

_MOST_PAIRS = 2**22
"""About how many pairs of tokens are counted at once."""


@checked
def label_table(
    task: Task, *, held_out: bool = False
) -> Float64[FloatArray, "{task.vocab_size} {task.vocab_size}"]:
    """Return P, every token's label distribution at once: shape (vocab_size, vocab_size), rows P^s."""
    return label_distribution(task, np.arange(task.vocab_size), held_out=held_out)


@checked
def token_ratios(task: Task, *, held_out: bool = False) -> Float64[FloatArray, " {task.vocab_size}"]:
    """Return r, every token's ratio at once: shape (vocab_size,), with sum L."""
    return np.array([token_ratio(task, s, held_out=held_out) for s in range(task.vocab_size)])


@checked
def expected_token_label_matrix(
    task: Task, *, held_out: bool = False
) -> Float64[FloatArray, "{task.vocab_size} {task.vocab_size}"]:
    r"""Return C in the limit of infinite data: row s is :math:`r_s (P^s - u)` (eq. 5).

    ``token_label_matrix`` returns C of a finite sample; both have shape (vocab_size, vocab_size).
    """
    ratios = token_ratios(task, held_out=held_out)
    return ratios[:, None] * (label_table(task, held_out=held_out) - 1 / task.vocab_size)


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
    held_out : bool, optional
        True: the training distribution, without the held-out combinations.

    Returns
    -------
    ndarray of float64, shape (vocab_size, vocab_size)
        Symmetric, non-negative and positive semi-definite; its entries sum to L².
    """
    check_square(task.vocab_size, 1)
    m, n_keys, keys = task.length - task.n_anchors, len(task.keys), list(task.keys)
    total = sum(task.n_combinations(mapping, held_out=held_out) for mapping in task.mappings)
    S = np.zeros((task.vocab_size, task.vocab_size))
    S[np.ix_(keys, keys)] = m * (m - 1) / n_keys**2
    S[keys, keys] += m / n_keys
    for mapping in task.mappings:
        anchors = list(mapping.anchors)
        pairs = _anchor_pairs(mapping, task.n_anchors, held_out)
        S[np.ix_(anchors, anchors)] = [[float(Fraction(int(n), total)) for n in row] for row in pairs]
        # Every row of pair counts sums to q times the anchor's occurrences in all combinations.
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
def token_label_counts(
    sequences: Integer[ArrayLike, "n L"], labels: Integer[ArrayLike, " n"], vocab_size: Size
) -> Int64[IntArray, "{vocab_size} {vocab_size}"]:
    """Return N, shape (vocab_size, vocab_size): how often token s occurs in a sequence with label i.

    Parameters
    ----------
    sequences : array_like of int, shape (n, L)
        Tokens.
    labels : array_like of int, shape (n,)
        One label per sequence.
    vocab_size : int
        d; tokens and labels lie in 0..d−1.
    """
    tokens = check_sequences(sequences, vocab_size)
    targets = check_tokens("labels", labels, vocab_size)
    check_square(vocab_size, 1)
    pairs = tokens * vocab_size + targets[:, None]
    counts = np.bincount(pairs.ravel(), minlength=vocab_size**2)
    return counts.reshape(vocab_size, vocab_size)


@checked
def token_label_matrix(
    sequences: Integer[ArrayLike, "n L"], labels: Integer[ArrayLike, " n"], vocab_size: Size
) -> Float64[FloatArray, "{vocab_size} {vocab_size}"]:
    r"""Return C, whose row s is :math:`r_s (P^s - 1/d)` in this sample (eq. 5; eq. 4 for finite data).

    Every sequence counts as often as it holds s. Parameters and errors as in
    ``token_label_counts``. The rows sum to zero.
    """
    check_square(vocab_size, 3)
    return matrix_of_counts(token_label_counts(sequences, labels, vocab_size), len(np.asarray(labels)))


@checked
def cooccurrence_matrix(
    sequences: Integer[ArrayLike, "n L"], vocab_size: Size
) -> Float64[FloatArray, "{vocab_size} {vocab_size}"]:
    """Return S of a finite sample, the mean of cᵀc; parameters as in ``token_label_counts``."""
    tokens = check_sequences(sequences, vocab_size)
    check_square(vocab_size, 3)
    counts = np.zeros(vocab_size**2, np.int64)
    size = max(1, _MOST_PAIRS // tokens.shape[1] ** 2)
    for start in range(0, len(tokens), size):
        part = tokens[start : start + size]
        pairs = part[:, :, None] * vocab_size + part[:, None]
        counts += np.bincount(pairs.ravel(), minlength=vocab_size**2)
    return np.asarray(counts.reshape(vocab_size, vocab_size) / len(tokens), np.float64)


def matrix_of_counts(counts: npt.NDArray[np.int64], n_sequences: int) -> FloatArray:
    """Return C from the counts that ``token_label_counts`` gives and the number of sequences."""
    per_token = counts.sum(axis=1, keepdims=True)
    return np.asarray((counts - per_token / len(counts)) / n_sequences, np.float64)


def check_square(vocab_size: int, n_matrices: int) -> None:
    """Refuse ``n_matrices`` matrices over all pairs of tokens that do not fit into memory together."""
    needed, remedy = 8 * n_matrices * vocab_size**2, "give a smaller vocabulary"
    check_memory("vocab_size", vocab_size, needed, "a matrix of all pairs of tokens", remedy)
