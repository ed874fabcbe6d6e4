"""Entropies of a label given part of the sequence, against counts over the enumerated population."""

import numpy as np
import pytest

from theory import Lookup, Mapping, Sum, Task, label_entropies


def brute_force(sequences: list[tuple[tuple[int, ...], int]]) -> float:
    """Return H(Y | X) of equally likely pairs (x, y), from the definition."""
    n = len(sequences)
    return -sum(
        np.log(sequences.count((x, y)) / sum(other == x for other, _ in sequences)) / n for x, y in sequences
    )


def test_a_rules_entropies_are_those_of_its_training_sequences() -> None:
    """Key 20 to 24, two anchors of {1, 2, 4}, label key + sum; (1, 4) is held out and (4, 1) is not."""
    task = Task(
        keys=range(20, 25),
        mappings=[Mapping([1, 2, 4], Sum(), name="sums", held_out=[(1, 4)])],
        n_anchors=2,
        length=3,
        vocab_size=40,
    )
    pairs = [(a, b) for a in (1, 2, 4) for b in (1, 2, 4) if (a, b) != (1, 4)]
    every = [(key, pair, key + sum(pair)) for key in range(20, 25) for pair in pairs]
    (found,) = label_entropies(task)
    assert found.nothing == pytest.approx(brute_force([((), y) for _, _, y in every]), abs=1e-12)
    assert found.key == pytest.approx(brute_force([((key,), y) for key, _, y in every]), abs=1e-12)
    assert found.anchors == pytest.approx(brute_force([(pair, y) for _, pair, y in every]), abs=1e-12)
    assert found.anchors == pytest.approx(np.log(5))
    assert found.spread == 0


def test_a_tables_entropies_are_those_of_the_binomial_law() -> None:
    """A label of N occurs k times among n draws with Binomial(n, 1/N), so E H = −N Σ p_k (k/n) ln(k/n).

    Over 400 tables of 6 · 30 entries the mean is within 5 standard errors, which fails once in a million.
    """
    from scipy.stats import binom

    task = Task(
        keys=range(10, 40),
        mappings=[Mapping(range(1, 7), Lookup(), name="table")],
        n_anchors=1,
        length=2,
        vocab_size=40,
    )

    def expected(n: int) -> float:
        k = np.arange(1, n + 1)
        return float(-30 * (binom.pmf(k, n, 1 / 30) * k / n * np.log(k / n)).sum())

    (found,) = label_entropies(task, n_tables=400, seed=1)
    for value, n in ((found.nothing, 180), (found.key, 6), (found.anchors, 30)):
        assert abs(value - expected(n)) <= 5 * found.spread / 400**0.5
    assert found.spread > 0
    assert label_entropies(task, n_tables=400, seed=1) == [found]
