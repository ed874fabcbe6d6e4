"""The closed forms of the label distributions against enumeration, convolution and integer counting."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from theory import Task, enumerate_population, label_distribution, reasoning_anchor_distribution
from theory.symbolic import find_derivation

Record = Callable[[str, float], None]
sizes = st.integers(1, 12)


@given(n_keys=sizes, n_anchors=sizes, q=st.integers(1, 5))
def test_eq_22_is_the_numeric_closed_form_and_vanishes_outside(n_keys: int, n_anchors: int, q: int) -> None:
    distribution = find_derivation("eq 22").function()
    wanted = [float(p) for p in reasoning_anchor_distribution(n_keys, n_anchors, q)]
    found = [distribution(r, n_keys, n_anchors, q) for r in range(-3, len(wanted) + 3)]
    np.testing.assert_allclose(found, [0, 0, 0, *wanted, 0, 0, 0], rtol=1e-13, atol=0)


@given(n_keys=sizes, n_anchors=sizes, q=st.integers(1, 4))
def test_eq_22_is_the_convolution_of_uniforms(n_keys: int, n_anchors: int, q: int) -> None:
    distribution = np.ones(n_keys) / n_keys
    for _ in range(q - 1):
        distribution = np.convolve(distribution, np.ones(n_anchors) / n_anchors)
    made = find_derivation("eq 22").function()
    np.testing.assert_allclose(
        [made(r, n_keys, n_anchors, q) for r in range(len(distribution))], distribution, rtol=1e-12
    )


@given(n_keys=sizes, n_anchors=sizes)
def test_trapezoid_is_eq_22_at_two_anchors(n_keys: int, n_anchors: int) -> None:
    """Also where there are more anchors than keys, which the symbolic cases leave to symmetry."""
    general, two = find_derivation("eq 22").function(), find_derivation("trapezoid").function()
    for r in range(-3, n_keys + n_anchors + 3):
        assert two(r, n_keys, n_anchors) == pytest.approx(general(r, n_keys, n_anchors, 2), rel=1e-14, abs=0)


@pytest.mark.parametrize("token", [11, 15, 20])
def test_papers_anchors(token: int, record_error: Record) -> None:
    distribution = find_derivation("eq 22").function()
    made = [distribution(i - token - 21 - 11, 100, 10, 2) for i in range(200)]
    error = float(np.abs(made - label_distribution(Task.paper(), token)).max())
    record_error("eq. 22", error)
    record_error("eq. 8", error)
    assert error < 1e-12


@pytest.mark.parametrize(("q", "length"), [(2, 3), (2, 9), (1, 4), (3, 6)])
def test_key_law_is_the_numeric_one(q: int, length: int, record_error: Record) -> None:
    task = Task(
        keys=range(21, 61),
        reasoning_anchors=range(11, 17),
        memory_anchors=range(1, 7),
        n_anchors=q,
        length=length,
        vocab_size=130,
    )
    distribution = find_derivation("key distribution").function()
    for token in (21, 40, 60):
        made = [distribution(i, token, 21, 11, 40, 6, q, length) for i in range(130)]
        error = float(np.abs(made - label_distribution(task, token)).max())
        for number in (23, 24, 25):
            record_error(f"eq. {number}", error)
        assert error < 1e-12


def test_key_law_is_the_frequency_in_an_enumerated_population() -> None:
    """An independent route: list every reasoning sequence and every memory label, and count."""
    task = Task(
        keys=range(7, 11),
        reasoning_anchors=[1, 2, 3],
        memory_anchors=[4, 5, 6],
        n_anchors=2,
        length=5,
        vocab_size=17,
    )
    distributions = _soft_labels(task)
    sequences = enumerate_population(task).sequences
    distribution = find_derivation("key distribution").function()
    for token in task.keys:
        weights = (sequences == token).sum(1).astype(float)
        wanted = weights @ distributions / weights.sum()
        made = [distribution(i, token, 7, 1, 4, 3, 2, 5) for i in range(17)]
        np.testing.assert_allclose(made, wanted, atol=1e-14)


def _soft_labels(task: Task) -> np.ndarray:
    """Return each sequence's label distribution: a point for reasoning, uniform on the keys for memory."""
    population = enumerate_population(task)
    out = np.zeros((len(population), task.vocab_size))
    for row, sequence in enumerate(population.sequences):
        anchors = [int(t) for t in sequence if t in task.anchors]
        if anchors[0] in task.memory_anchors:
            out[row, list(task.keys)] = 1 / len(task.keys)
        else:
            out[row, task.keys[population.key[row]] + sum(anchors)] = 1
    return out


@given(n_keys=sizes, n_anchors=sizes, q=st.integers(1, 4))
def test_mean_and_variance_are_those_of_the_law(n_keys: int, n_anchors: int, q: int) -> None:
    distribution = reasoning_anchor_distribution(n_keys, n_anchors, q)
    mean = sum((p * r for r, p in enumerate(distribution)), Fraction(0))
    variance = sum((p * (r - mean) ** 2 for r, p in enumerate(distribution)), Fraction(0))
    s, z_min, a_min = 5, 21, 3
    made_mean = find_derivation("mu_s").function()(s, z_min, a_min, n_keys, n_anchors, q)
    assert made_mean == pytest.approx(float(mean + s + z_min + (q - 1) * a_min), rel=1e-13)
    assert find_derivation("sigma_p").function()(n_keys, n_anchors, q) == pytest.approx(
        float(variance), abs=1e-11
    )


def test_papers_variance(record_error: Record) -> None:
    distribution, i = label_distribution(Task.paper(), 15), np.arange(200)
    error = abs(
        find_derivation("sigma_p").function()(100, 10, 2) - float(distribution @ (i - distribution @ i) ** 2)
    )
    record_error("Theorem 1", error / 841.5)
    assert find_derivation("sigma_p").function()(100, 10, 2) == pytest.approx(841.5, rel=1e-15)
    assert error < 1e-9  # i² reaches 4e4, times 2e-16, summed over 200 labels


def test_a_wrong_count_of_anchors_is_noticed() -> None:
    """A control that must fail: q − 1 anchors are not q."""
    distribution: Any = find_derivation("eq 22").function()
    wrong = [distribution(i - 15 - 21 - 11, 100, 10, 3) for i in range(200)]
    assert np.abs(wrong - label_distribution(Task.paper(), 15)).max() > 1e-4
