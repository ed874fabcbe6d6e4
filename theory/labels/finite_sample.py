r"""How far a finite data set's label distributions stray from P^s, and what that does to cosines.

A memory anchor's labels are independent draws into a table, so its empirical distribution keeps a
random part however often each sequence is repeated. Two memory anchors with the same P^s therefore
have an expected cosine below 1 already in the data.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from theory.edge.checked import Size, checked
from theory.edge.errors import InputError
from theory.labels.distribution import label_distribution
from theory.task.domain import Domain
from theory.task.task import Mapping, Task


@dataclass(frozen=True)
class FiniteSample:
    """Expected geometry of two anchors' empirical label distributions.

    Attributes
    ----------
    spread : tuple of float
        E‖P̂^s − P^s‖² of each of the two.
    signal : tuple of float
        ‖P^s − u‖² of each.
    inner : float
        E⟨P̂^a − u, P̂^b − u⟩.
    cosine : float
        ``inner`` over the root of the product of the expected squared norms: the ratio of
        expectations, which the expected ratio approaches as the spread's own fluctuation vanishes.
    """

    spread: tuple[float, float]
    signal: tuple[float, float]
    inner: float
    cosine: float


@checked
def finite_sample_cosine(
    task: Task, anchor: int, other: int, *, n_sequences: Size | None = None, held_out: bool = False
) -> FiniteSample:
    r"""Return the expected cosine between two anchors' empirical P̂ − u.

    Derived here; the paper works in the limit of infinite data. With c the number of times that a
    combination holds an anchor, T its total shift and k sequences to each combination, the covariance
    of P̂^a and P̂^b is :math:`\sum c_a c_b F(T) / (\sum c_a \sum c_b)`, where
    :math:`F = (1 - \|\bar p\|^2)/k + (1 - 1/k)(1 - \|p_e\|^2)/N_Z`; p_e is the distribution of one table
    entry and p̄ its mean over keys. Anchors share the entries of combinations that hold both.

    Parameters
    ----------
    task : Task
    anchor, other : int
        Two anchors; equal ones give cosine 1.
    n_sequences : int, optional
        The size of a drawn data set with equal numbers per combination. None: every key and
        combination equally often, as in the enumerated Emb-MLP setting (k → ∞).
    held_out : bool, optional
        True: a training set of ``n_sequences`` without held-out combinations; the sums run over the others.
    """
    for argument, token in (("anchor", anchor), ("other", other)):
        if task.mapping_of(token) is None:
            remedy = f"choose one of {list(task.anchors)}"
            raise InputError(argument, token, "not an anchor of the task", remedy)
    k = _per_combination(task, n_sequences, held_out)
    distributions = [
        label_distribution(task, s, held_out=held_out) - 1 / task.vocab_size for s in (anchor, other)
    ]
    signal = (float(distributions[0] @ distributions[0]), float(distributions[1] @ distributions[1]))
    spread = (_covariance(task, anchor, anchor, k, held_out), _covariance(task, other, other, k, held_out))
    inner = float(distributions[0] @ distributions[1]) + _covariance(task, anchor, other, k, held_out)
    scale = np.sqrt((signal[0] + spread[0]) * (signal[1] + spread[1]))
    return FiniteSample(spread, signal, inner, float(inner / scale) if scale else float("nan"))


def _per_combination(task: Task, n_sequences: int | None, held_out: bool) -> float:
    if n_sequences is None:
        return np.inf
    combinations = sum(task.n_combinations(m, held_out=held_out) for m in task.mappings)
    if n_sequences < combinations:
        problem = f"fewer than the task's {combinations} anchor combinations"
        raise InputError("n_sequences", n_sequences, problem, "give at least one sequence to each")
    return float(Fraction(n_sequences, combinations))


def _covariance(task: Task, a: int, b: int, k: float, held_out: bool) -> float:
    """Return E⟨P̂^a − P^a, P̂^b − P^b⟩; zero between anchors of different mappings."""
    mapping = task.mapping_of(a)
    if mapping is None or mapping is not task.mapping_of(b):
        return 0.0
    domain = task.domain(mapping)
    n, mean = domain.n_combinations, mapping.rule.mean_variance(domain, a, b, k)
    occurrences = [Fraction(domain.n_anchors, len(mapping.anchors))] * 2
    for combination in mapping.held_out if held_out else ():
        counts = [combination.count(token) for token in (a, b)]
        occurrences = [every - Fraction(count, n) for every, count in zip(occurrences, counts, strict=True)]
        mean -= float(Fraction(counts[0] * counts[1], n)) * _label_variance(mapping, domain, combination, k)
    return mean * float(1 / (occurrences[0] * occurrences[1] * n)) if all(occurrences) else 0.0


def _label_variance(mapping: Mapping, domain: Domain, combination: tuple[int, ...], k: float) -> float:
    """Return F of one held-out combination; only deterministic rules have any, so that only the keys vary."""
    rows = np.tile(combination, (len(domain.keys), 1))
    labels = mapping.rule.evaluate(domain, np.array(domain.keys), rows)
    shares = np.unique(labels, return_counts=True)[1] / len(labels)
    return float((1 - shares @ shares) / k)
