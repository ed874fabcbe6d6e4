"""The closed forms of the label distributions against enumeration, convolution and integer counting."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.theory.derive.reference import Record
from theory import (
    Task,
    enumerate_population,
    find_derivation,
    label_distribution,
    reasoning_anchor_distribution,
)

sizes = st.integers(1, 12)
SMALL: dict[str, Any] = {
    "keys": range(7, 11),
    "reasoning_anchors": [1, 2, 3],
    "memory_anchors": [4, 5, 6],
    "n_anchors": 2,
    "length": 5,
    "vocab_size": 17,
}


@given(n_keys=sizes, n_anchors=sizes, q=st.integers(1, 4))
def test_eq_22_is_the_convolution_of_uniforms_and_vanishes_outside(
    n_keys: int, n_anchors: int, q: int
) -> None:
    wanted = np.ones(n_keys) / n_keys
    for _ in range(q - 1):
        wanted = np.convolve(wanted, np.ones(n_anchors) / n_anchors)
    law = find_derivation("eq 22").function()
    made = [law(r, n_keys, n_anchors, q) for r in range(-3, len(wanted) + 3)]
    np.testing.assert_allclose(made, [0, 0, 0, *wanted, 0, 0, 0], rtol=1e-12, atol=0)
    if q == 2:  # also where there are more anchors than keys, which the symbolic cases leave to symmetry
        two = find_derivation("trapezoid").function()
        trapezoid = [two(r, n_keys, n_anchors) for r in range(-3, len(wanted) + 3)]
        np.testing.assert_allclose(trapezoid, made, rtol=1e-14, atol=0)


@pytest.mark.parametrize("token", [11, 20])
def test_the_papers_anchors(token: int, record_error: Record) -> None:
    law = find_derivation("eq 22").function()
    wanted = label_distribution(Task.paper(), token)
    error = float(np.abs([law(i - token - 21 - 11, 100, 10, 2) for i in range(200)] - wanted).max())
    record_error("eq. 22", error)
    record_error("eq. 8", error)
    assert error < 1e-12
    wrong = [law(i - token - 21 - 11, 100, 10, 3) for i in range(200)]  # one anchor too many
    assert np.abs(wrong - wanted).max() > 1e-4


@pytest.mark.parametrize(("q", "length"), [(2, 3), (2, 9), (1, 4), (3, 6)])
def test_a_keys_distribution_is_the_numeric_one(q: int, length: int, record_error: Record) -> None:
    task = Task(
        keys=range(21, 61), reasoning_anchors=range(11, 17), memory_anchors=range(1, 7), n_anchors=q,
        length=length, vocab_size=130,
    )  # fmt: skip
    law = find_derivation("key distribution").function()
    for token in (21, 60):
        made = [law(i, token, 21, 11, 40, 6, q, length) for i in range(130)]
        error = float(np.abs(made - label_distribution(task, token)).max())
        for number in (23, 24, 25):
            record_error(f"eq. {number}", error)
        assert error < 1e-12


def test_a_keys_distribution_is_the_frequency_in_an_enumerated_population() -> None:
    """List every reasoning sequence and every memory label, and count."""
    task = Task(**SMALL)
    sequences, labels = enumerated(task)
    law = find_derivation("key distribution").function()
    for token in task.keys:
        weights = (sequences == token).sum(1).astype(float)
        made = [law(i, token, 7, 1, 4, 3, 2, 5) for i in range(17)]
        np.testing.assert_allclose(made, weights @ labels / weights.sum(), atol=1e-14)


def enumerated(task: Task) -> tuple[np.ndarray, np.ndarray]:
    """Return every sequence with its label distribution: a point for reasoning, uniform for memory."""
    population = enumerate_population(task)
    out = np.zeros((len(population), task.vocab_size))
    for row, sequence in enumerate(population.sequences):
        anchors = [int(t) for t in sequence if t in task.anchors]
        if anchors[0] in task.memory_anchors:
            out[row, list(task.keys)] = 1 / len(task.keys)
        else:
            out[row, task.keys[population.key[row]] + sum(anchors)] = 1
    return population.sequences, out


@given(n_keys=sizes, n_anchors=sizes, q=st.integers(1, 4))
def test_mean_and_variance(n_keys: int, n_anchors: int, q: int) -> None:
    law = reasoning_anchor_distribution(n_keys, n_anchors, q)
    mean = sum((p * r for r, p in enumerate(law)), Fraction(0))
    variance = sum((p * (r - mean) ** 2 for r, p in enumerate(law)), Fraction(0))
    made = find_derivation("mu_s").function()(5, 21, 3, n_keys, n_anchors, q)
    assert made == pytest.approx(float(mean + 5 + 21 + (q - 1) * 3), rel=1e-13)
    spread = find_derivation("sigma_p").function()(n_keys, n_anchors, q)
    assert spread == pytest.approx(float(variance), abs=1e-11)


def test_the_papers_variance(record_error: Record) -> None:
    law, i = label_distribution(Task.paper(), 15), np.arange(200)
    made = find_derivation("sigma_p").function()(100, 10, 2)
    error = abs(made - float(law @ (i - law @ i) ** 2))
    record_error("Theorem 1", error / 841.5)
    assert made == pytest.approx(841.5, rel=1e-15)
    assert error < 1e-9  # i² reaches 4e4, times 2e-16, summed over 200 labels
