"""Label distributions by independent routes: exact enumeration, closed form, numbers by hand, large tasks."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import theory
from tests.theory.large_task import LARGE
from theory import Expression, Mapping, Task

Record = Callable[..., None]


def test_equations_7_and_8_for_the_papers_task(record_error: Record) -> None:
    """Eq. 7 is uniform on the keys; eq. 8 at q = 2 is a trapezoid, written out here by hand."""
    task = Task.paper()
    keys = np.zeros(200)
    keys[21:121] = 0.01
    record_error("eq. 7", np.abs(theory.label_distribution(task, 4) - keys).max(), below=1e-15)
    for s in task.reasoning_anchors:
        i = np.arange(200)
        ways = np.clip(np.minimum(i - (s + 21 + 11) + 1, (s + 120 + 20) - i + 1), 0, 10)
        record_error("eq. 8", np.abs(theory.label_distribution(task, s) - ways / 1000).max(), below=1e-15)
        moved = np.allclose(
            theory.label_distribution(task, s), theory.label_distribution(task, s, held_out=True), atol=1e-15
        )
        assert moved == (s not in (11, 13))


def test_200_anchors_and_100_000_keys_in_under_a_second(record_error: Record) -> None:
    start = time.process_time()
    floats = theory.label_distribution(LARGE, 15)
    seconds = time.process_time() - start
    exact = np.array([float(p) for p in theory.label_distribution(LARGE, 15, exact=True)])
    assert seconds < 1
    assert exact[exact > 0].min() < 1e-190
    np.testing.assert_allclose(floats, exact, rtol=1e-12, atol=0)
    record_error("eq. 22", np.abs(floats - exact).max())


@pytest.mark.parametrize("q", [15, 16, 20])
def test_exact_counts_of_combinations_may_be_longer_than_64_bits(q: int) -> None:
    rule = Expression("(key + total) % 3")
    options: Any = {"keys": range(50, 90), "n_anchors": q, "length": q + 2, "vocab_size": 97}
    task = Task(mappings=[Mapping(range(1, 21), rule, held_out=[(3,) * q])], **options)
    for held_out in (False, True, np.False_, np.True_):
        for token in (3, 50):
            exact = theory.label_distribution(task, token, held_out=held_out, exact=True)
            assert sum(exact) == 1
            found = theory.label_distribution(task, token, held_out=held_out)
            np.testing.assert_allclose(found, [float(p) for p in exact], rtol=1e-12, atol=0)


@pytest.mark.parametrize("length", [3, 4])
def test_matrix_of_the_enumerated_rule_is_exact(length: int, record_error: Record) -> None:
    """Without tables nothing is random: C of the population equals the expected C."""
    task = Task(
        keys=range(30, 36),
        reasoning_anchors=range(1, 5),
        n_anchors=2,
        length=length,
        vocab_size=50,
        held_out=[(1, 3), (2, 2)],
    )
    population = theory.enumerate_population(task)
    train = ~population.held_out
    labels = theory.labels_of(task, population, [None])
    found = theory.token_label_matrix(population.sequences[train], labels[train], 50)
    worst = np.abs(found - theory.expected_token_label_matrix(task, held_out=True)).max()
    record_error("eq. 23-25", worst, below=1e-15)
