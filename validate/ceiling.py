"""The memory accuracy that no model of summed embeddings can pass."""

from __future__ import annotations

from collections import Counter
from functools import cache
from itertools import product
from math import factorial

import numpy as np

from theory import Lookup, Mapping, Task, Window
from theory.task.totals import total_shifts


def order_blind_ceiling(task: Task) -> float | None:
    r"""Return the expected best accuracy on memory data of a model that sees which tokens, not in what order.

    The Emb-MLP sums embeddings, so (z, a, b) and (z, b, a) are one input to it. Their labels are drawn
    independently, and of m orderings it can at best get the most frequent label right. The ceiling is
    :math:`\sum E[\text{most frequent}] / \sum m` over all unordered combinations of anchors; for two labels
    out of n the expectation is 1 + 1/n.

    Parameters
    ----------
    task : Task

    Returns
    -------
    float or None
        None where no mapping is a table, where a table is of another kind than ``Lookup`` and ``Window``, or
        where noise tokens blur what a sum shows of the key.
    """
    tables = [m for m in task.mappings if m.is_table]
    if not tables or task.n_noise or not all(isinstance(m.rule, (Lookup, Window)) for m in tables):
        return None
    right = total = 0.0
    for mapping in tables:
        for orderings, labels in _unordered(task, mapping):
            right += _most_frequent(orderings, labels)
            total += orderings
    return right / total


def _unordered(task: Task, mapping: Mapping) -> list[tuple[int, int]]:
    """Return for each unordered combination how many orderings are trained, and out of how many labels."""
    counts: Counter[tuple[int, ...]] = Counter()
    labels: dict[tuple[int, ...], int] = {}
    combinations = product(mapping.anchors, repeat=task.n_anchors)
    for combination, n in zip(combinations, _label_counts(task, mapping), strict=True):
        if combination not in mapping.held_out:
            unordered = tuple(sorted(combination))
            counts[unordered] += 1
            labels[unordered] = n
    return [(m, labels[combination]) for combination, m in counts.items()]


def _label_counts(task: Task, mapping: Mapping) -> list[int]:
    """Return out of how many labels each combination's is drawn, the last anchor running fastest."""
    domain = task.domain(mapping)
    if isinstance(mapping.rule, Lookup):
        n = len(mapping.rule.labels(domain))
        return [n] * domain.n_combinations
    return [int(2 * width + 1) for width in total_shifts(domain, domain.anchors)]


@cache
def _most_frequent(draws: int, labels: int) -> float:
    """Return how often the most frequent of some labels is expected in that many uniform draws.

    The chance that none comes more than k times is m!/n^m times the coefficient of x^m in
    (sum over j to k of x^j/j!)^n.
    """
    expected = 0.0
    for k in range(draws):
        single = np.array([1 / factorial(j) if j <= k else 0.0 for j in range(draws + 1)])
        series = np.eye(1, draws + 1)[0]
        for _ in range(labels):
            series = np.convolve(series, single)[: draws + 1]
        at_most = float(series[draws]) * factorial(draws) / float(labels) ** draws
        expected += 1 - at_most
    return expected
