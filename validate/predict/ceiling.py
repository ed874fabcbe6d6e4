"""The accuracy that no model of summed embeddings can exceed: its input has no order."""

from __future__ import annotations

from collections import Counter
from functools import cache
from math import factorial, prod

import numpy as np
from scipy.special import gammaln, xlogy

from theory import Lookup, Mapping, Task, TooManyEntriesError, Window
from theory.task.domain import Selection
from theory.task.rule import Deterministic


def order_blind_ceiling(task: Task) -> float | None:
    r"""Return the expected best accuracy on memory data of a model that sees tokens without their order.

    The Emb-MLP sums embeddings, so (z, a, b) and (z, b, a) are one input to it. Their labels are drawn
    independently, and over m orderings it can do no better than give the most frequent label. The ceiling is
    :math:`\sum E[\text{most frequent}] / \sum m` over all unordered combinations of anchors; for two labels
    out of n the expectation is 1 + 1/n. None if no mapping is a table, if a table is neither a ``Lookup``
    nor a ``Window``, or if noise tokens hide the key in the sum.
    """
    tables = [m for m in task.mappings if m.is_table]
    if task.n_noise or not all(isinstance(m.rule, (Lookup, Window)) for m in tables):
        return None
    inputs = [each for mapping in tables for each in _unordered(task, mapping)]
    total = sum(entries for entries, _ in inputs)
    return sum(_most_frequent(entries, labels) for entries, labels in inputs) / total if total else None


def rule_ceiling(task: Task, mapping: Mapping) -> float | None:
    """Return the best accuracy on a rule's training data of such a model: 1 if the order does not matter.

    Sequences of the same tokens are one input to it, so it can do no better than give their commonest label.
    The key is known. None for a table, a rule with too many labels to count, and what is held out in part.
    """
    domain, rule = task.domain(mapping), mapping.rule
    if not isinstance(rule, Deterministic) or mapping.partial:
        return None
    try:
        labels = rule.labels(domain)
    except TooManyEntriesError:
        return None
    trained = domain.times(Selection(held_out=mapping.held_out)) > 0
    ordered = np.sort(domain.combinations()[trained], axis=1)
    bags = np.unique(ordered, axis=0, return_inverse=True)[1].reshape(-1)  # NumPy 2.0 returns a column.
    of_keys = np.arange(len(domain.keys))[:, None] * len(bags) + bags
    # One number for each pair of bag and label; of a bag's labels the commonest is right.
    base = int(labels.max()) + 1
    pairs, counts = np.unique(of_keys * base + labels[:, trained].astype(np.int64), return_counts=True)
    first = np.flatnonzero(np.diff(pairs // base, prepend=-1))
    return float(np.maximum.reduceat(counts, first).sum() / of_keys.size)


def held_out_in_part(mapping: Mapping) -> list[tuple[int, ...]]:
    """Return the held-out combinations, each as a sorted tuple, that are trained on in some other order."""
    bags = Counter(tuple(sorted(combination)) for combination in mapping.whole)
    orders = {bag: factorial(len(bag)) // prod(map(factorial, Counter(bag).values())) for bag in bags}
    return sorted(bag for bag, n in bags.items() if n < orders[bag])


def _unordered(task: Task, mapping: Mapping) -> list[tuple[int, int]]:
    """Return for each unordered combination the number of its orderings, and of its possible labels."""
    domain = task.domain(mapping)
    bags, orderings = np.unique(np.sort(domain.combinations(), axis=1), axis=0, return_counts=True)
    n_labels = 2 * bags.sum(axis=1) + 1
    if isinstance(mapping.rule, Lookup):
        n_labels[:] = len(mapping.rule.labels(domain))
    return list(zip(orderings.tolist(), n_labels.tolist(), strict=True))


@cache
def _most_frequent(draws: int, labels: int) -> float:
    """Return the expected count of the most frequent label in some uniform draws from a number of labels.

    Counts are independent Poisson variables given their sum, which yields the chance that none is above k.
    """
    j, expected = np.arange(draws + 1), 0.0
    single, whole = (np.exp(xlogy(j, mean) - mean - gammaln(j + 1)) for mean in (draws / labels, draws))
    for k in range(draws):
        series = np.eye(1, draws + 1)[0]
        for _ in range(labels):
            series = np.convolve(series, single[: k + 1])[: draws + 1]
        above = 1 - float(series[draws] / whole[draws])
        expected += above
        if above < 1e-9:  # And those for larger k are far smaller.
            break
    return expected
