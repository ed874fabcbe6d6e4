r"""How far a finite data set's label distributions stray from P^s, and what that does to cosines.

A memory anchor's labels are independent draws into a table, so its empirical distribution keeps a
random part however often each sequence is repeated. Two memory anchors with the same P^s therefore
have an expected cosine below 1 already in the data.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from theory.checked import Size, checked
from theory.errors import InputError
from theory.statistics.distributions import Law, total_of, uniform
from theory.statistics.labels import label_distribution
from theory.task.rules import Lookup, Window
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
    task: Task, anchor: int, other: int, *, n_sequences: Size | None = None
) -> FiniteSample:
    r"""Return the expected cosine between two anchors' empirical P̂ − u.

    Derived here; the paper works in the limit of infinite data. With c the number of times that a
    combination holds an anchor, T its total shift and k sequences to each combination, the covariance
    of P̂^a and P̂^b is :math:`\sum c_a c_b F(T) / (\sum c_a \sum c_b)`, where
    :math:`F = (1 - \|\bar p\|^2)/k + (1 - 1/k)(1 - \|p_e\|^2)/N_Z`; p_e is the law of one table entry
    and p̄ its mean over keys. Anchors share the entries of combinations that hold both.

    Parameters
    ----------
    task : Task
        The task, nothing held out.
    anchor, other : int
        Two anchors; equal ones give cosine 1.
    n_sequences : int, optional
        The size of a drawn data set with equal numbers per combination. None: every key and
        combination equally often, as in the enumerated Emb-MLP setting (k → ∞).

    Raises
    ------
    InputError
        If a token is no anchor or there is less than one sequence to a combination.
    """
    k = _per_combination(task, n_sequences)
    laws = [label_distribution(task, s) - 1 / task.vocab_size for s in (anchor, other)]
    signal = (float(laws[0] @ laws[0]), float(laws[1] @ laws[1]))
    spread = (_covariance(task, anchor, anchor, k), _covariance(task, other, other, k))
    inner = float(laws[0] @ laws[1]) + _covariance(task, anchor, other, k)
    scale = np.sqrt((signal[0] + spread[0]) * (signal[1] + spread[1]))
    return FiniteSample(spread, signal, inner, float(inner / scale))


@checked
def finite_sample_spread(task: Task, anchor: int, *, n_sequences: Size | None = None) -> float:
    """Return E‖P̂^s − P^s‖² of an anchor s; parameters as in ``finite_sample_cosine``."""
    return _covariance(task, anchor, anchor, _per_combination(task, n_sequences))


def _per_combination(task: Task, n_sequences: int | None) -> float:
    if n_sequences is None:
        return np.inf
    combinations = sum(task.n_combinations(m) for m in task.mappings)
    if n_sequences < combinations:
        raise InputError(
            "n_sequences",
            n_sequences,
            f"fewer than the task's {combinations} anchor combinations",
            "give at least one sequence to each",
        )
    return float(Fraction(n_sequences, combinations))


def _covariance(task: Task, a: int, b: int, k: float) -> float:
    """Return E⟨P̂^a − P^a, P̂^b − P^b⟩; zero between anchors of different mappings."""
    mapping, other = task.mapping_of(a), task.mapping_of(b)
    for token, found in ((a, mapping), (b, other)):
        if found is None:
            raise InputError(
                "anchor", token, "not an anchor of the task", f"choose one of {list(task.anchors)}"
            )
    assert mapping is not None
    if mapping is not other:
        return 0.0
    q, n = task.n_anchors, len(mapping.anchors)
    variance = _label_variance(task, mapping, k)
    both = 0.0
    if q > 1:
        both = (q - 1) * _mean_over_shifts(mapping, (a, b), q, variance) * float(Fraction(1, q * n**q))
    if a != b:
        return both
    return both + _mean_over_shifts(mapping, (a,), q, variance) * float(Fraction(1, q * n ** (q - 1)))


def _label_variance(task: Task, mapping: Mapping, k: float) -> Callable[[int], float]:
    """Return F(T), the variance that one combination of total shift T contributes."""
    n_keys, rule = len(task.keys), mapping.rule

    def variance(total: int) -> float:
        if isinstance(rule, Lookup):
            labels = len(task.keys if rule.low is None else task.label_range(mapping))
            entry, mean = 1 - 1 / labels, 1 - 1 / labels
        elif isinstance(rule, Window):
            entry = 1 - 1 / (2 * total + 1)
            smeared = uniform(task.keys, False).plus(uniform(range(-total, total + 1), False))
            mean = 1 - float(smeared.weights @ smeared.weights)
        else:
            entry, mean = 0.0, 1 - 1 / n_keys
        return mean / k + (1 - 1 / k) * entry / n_keys

    return variance


def _mean_over_shifts(
    mapping: Mapping, given: tuple[int, ...], q: int, function: Callable[[int], float]
) -> float:
    """Return the mean of ``function(T)`` over combinations, some of whose anchors are given."""
    rule = mapping.rule
    if isinstance(rule, Lookup):
        return function(0)
    single = uniform([rule.shift(a) for a in mapping.anchors], False)
    law: Law = total_of(q - len(given), single).moved(sum(rule.shift(a) for a in given))
    values = [function(law.low + i) if w > 0 else 0.0 for i, w in enumerate(law.weights)]
    return float(law.weights @ np.array(values))
