r"""How far a finite data set's label distributions stray from P^s, and what that does to cosines.

A memory anchor's labels are independent draws into a table, so its empirical distribution keeps a
random part however often each sequence is repeated. Two memory anchors with the same P^s therefore
have an expected cosine below 1 already in the data.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from theory.edge.arrays import Float64, FloatArray
from theory.edge.checked import Size, checked
from theory.edge.errors import InputError
from theory.labels.distribution import label_distribution
from theory.task.rule import concentration
from theory.task.task import Mapping, Task


@dataclass(frozen=True)
class FiniteSample:
    """Expected geometry of some anchors' empirical label distributions P̂^s.

    Attributes
    ----------
    spread : ndarray, shape (n,)
        E‖P̂^s − P^s‖² of each.
    signal : ndarray, shape (n,)
        ‖P^s − u‖² of each.
    inner : ndarray, shape (n, n)
        E⟨P̂^a − u, P̂^b − u⟩.
    cosine : ndarray, shape (n, n)
        ``inner`` over the root of the product of the expected squared norms, NaN where undefined: the ratio
        of expectations, which the expected ratio approaches as the spread's own fluctuation vanishes.
    """

    spread: Float64[FloatArray, " n"]
    signal: Float64[FloatArray, " n"]
    inner: Float64[FloatArray, "n n"]
    cosine: Float64[FloatArray, "n n"]


@checked
def finite_sample_cosines(
    task: Task, anchors: Sequence[int], *, n_sequences: Size | None = None, held_out: bool = False
) -> FiniteSample:
    r"""Return the expected cosines of empirical P̂ − u between anchors, and what they consist of.

    Derived here; the paper works in the limit of infinite data. With c the number of times that a
    combination holds an anchor, T its total shift and k sequences to each combination, the covariance
    of P̂^a and P̂^b is :math:`\sum c_a c_b F(T) / (\sum c_a \sum c_b)`, where
    :math:`F = (1 - \|\bar p\|^2)/k + (1 - 1/k)(1 - \|p_e\|^2)/N_Z`; p_e is the distribution of one table
    entry and p̄ its mean over keys. Anchors share the entries of combinations that hold both.

    Parameters
    ----------
    task : Task
    anchors : sequence of int
        Equal ones have cosine 1.
    n_sequences : int, optional
        The size of a drawn data set with equal numbers per combination. None: every key and
        combination equally often, as in the enumerated Emb-MLP setting (k → ∞).
    held_out : bool, optional
        True: a training set of ``n_sequences`` without held-out combinations; the sums run over the others.
    """
    for token in anchors:
        if task.mapping_of(token) is None:
            remedy = f"choose one of {list(task.anchors)}"
            raise InputError("anchors", token, "not an anchor of the task", remedy)
    combinations = sum(task.n_combinations(m, held_out=held_out) for m in task.mappings)
    if n_sequences is not None and n_sequences < combinations:
        problem = f"fewer than the task's {combinations} anchor combinations"
        raise InputError("n_sequences", n_sequences, problem, "give at least one sequence to each")
    k = np.inf if n_sequences is None else float(Fraction(n_sequences, combinations))
    D = label_distribution(task, anchors, held_out=held_out) - 1 / task.vocab_size
    signal, spread = D @ D.T, np.zeros((len(anchors),) * 2)
    for mapping in task.mappings:  # Tables of two mappings are independent.
        inside = [i for i, token in enumerate(anchors) if token in mapping.anchors]
        if inside:
            own = [mapping.anchors.index(anchors[i]) for i in inside]
            spread[np.ix_(inside, inside)] = _covariances(task, mapping, k, held_out)[np.ix_(own, own)]
    inner = signal + spread
    scale = np.sqrt(np.multiply.outer(np.diagonal(inner), np.diagonal(inner)))
    cosine = np.divide(inner, scale, out=np.full_like(inner, np.nan), where=scale > 0)
    return FiniteSample(np.diagonal(spread), np.diagonal(signal), inner, cosine)


def _covariances(task: Task, mapping: Mapping, k: float, held_out: bool) -> FloatArray:
    """Return E⟨P̂^a − P^a, P̂^b − P^b⟩ of all anchors of a mapping, shape (N_A, N_A)."""
    domain = task.domain(mapping)
    share, means = Fraction(1, domain.n_combinations), mapping.rule.mean_variances(domain, k)
    often = [Fraction(domain.n_anchors, len(mapping.anchors))] * len(mapping.anchors)
    if held_out and mapping.held_out:
        rows = np.array(sorted(mapping.held_out))
        counts = (rows[:, :, None] == np.array(mapping.anchors)).sum(axis=1)
        # Only deterministic rules hold combinations out, so that only the keys vary.
        keys = np.repeat(np.array(domain.keys), len(rows))
        labels = mapping.rule.evaluate(domain, keys, np.tile(rows, (len(domain.keys), 1)))
        variances = (1 - concentration(labels.reshape(len(domain.keys), -1))) / k
        means = means - (counts.T * variances) @ counts * float(share)
        often = [every - n * share for every, n in zip(often, counts.sum(axis=0).tolist(), strict=True)]
    scale = np.multiply.outer(*[np.array([float(each) for each in often])] * 2)
    return np.asarray(np.divide(means * float(share), scale, out=np.zeros_like(means), where=scale > 0))
