r"""C and S in the limit of infinite data: what the leading order and the linearised flow need of a task.

Row s of C is :math:`r_s (P^s - u)` (eq. 5); S = E[c(X)ᵀ c(X)] says how often two tokens stand in one
sequence, c being the token counts.
"""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import numpy.typing as npt

from theory.arrays import Float64, FloatArray
from theory.checked import checked
from theory.labels.distribution import label_distribution, token_ratio
from theory.task.task import Mapping, Task


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
        S[np.ix_(anchors, anchors)] = [[float(Fraction(int(n), total)) for n in row] for row in pairs]
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
