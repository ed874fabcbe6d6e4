"""Lemma 1, Theorems 1 and 2 and the cosines of eq. 12 against the numeric theory and plain sums."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.special import ndtri

from tests.theory.derive.reference import Record, relative
from theory import (
    Mapping,
    Shift,
    Task,
    average_attention_bound,
    cosine_matrix,
    eq14_embedding,
    expected_token_label_matrix,
    find_derivation,
    gaussian_embedding,
    gaussian_shape,
    inner_product_bound,
    label_table,
    token_ratio,
    token_ratios,
    value_drive,
)


def formula(name: str) -> Any:
    return find_derivation(name).function()


def vector(c1: float, c2: float, mean: float, width: float, d: int) -> npt.NDArray[np.float64]:
    return c1 * (c2 * np.exp(-((np.arange(d) - mean) ** 2) / (2 * width**2)) - 1 / d)


@given(
    width=st.floats(2.0, 12.0),
    means=st.tuples(st.floats(180, 220), st.floats(180, 220)),
    c1=st.floats(0.1, 3.0),
    c2=st.floats(0.05, 1.0),
)
def test_inner_product_is_the_plain_sum(
    width: float, means: tuple[float, float], c1: float, c2: float
) -> None:
    """Wide enough for Poisson's remainder (e^{−π²σ²} < 1e-17) and far from the edges (15 widths)."""
    a, b = (vector(c1, c2, mean, width, 400) for mean in means)
    made = formula("gaussian inner product")(c1, c2, width, means[0] - means[1], 400)
    assert made == pytest.approx(float(a @ b), abs=1e-12 * float(np.linalg.norm(a) * np.linalg.norm(b)))


def test_error_of_the_inner_product_is_recorded(record_error: Record) -> None:
    a, b = (vector(1.0, 0.2, mean, 5.0, 400) for mean in (195.3, 203.0))
    error = abs(formula("gaussian inner product")(1.0, 0.2, 5.0, 7.7, 400) / float(a @ b) - 1)
    record_error("inner product of eq. 12", error)
    assert error < 1e-12


def test_what_the_edges_cut_off_is_the_erfc_of_its_step() -> None:
    """A Gaussian at the vocabulary's edge: coordinates below 0 are missing from the plain sum."""
    width, mean = 10.0, 12.0
    a = np.exp(-((np.arange(400) - mean) ** 2) / (2 * width**2))
    # The sum from 0 on is a midpoint rule from −1/2, with a relative error of τ²/(6σ⁴) = 0.3 % at its end.
    for number, missing in (
        (4, np.sqrt(np.pi) * width - float(a @ a)),
        (5, np.sqrt(2 * np.pi) * width - float(a.sum())),
    ):
        step = find_derivation("gaussian inner product").steps[number].expression
        values = {"tau": mean + 0.5, "sigma": width, "Delta": 0.0}
        tail = float(step.subs({s: values[s.name] for s in step.free_symbols}))
        assert tail > 1e-3
        assert missing == pytest.approx(tail, rel=0.02)


def test_cosine_is_that_of_eq_14(record_error: Record) -> None:
    task = Task.paper()
    tokens = list(task.reasoning_anchors)
    made = formula("cosine")(1.0, np.sqrt(6), np.subtract.outer(tokens, tokens), 200)
    error = float(np.abs(made - cosine_matrix(eq14_embedding(task, tokens))).max())
    record_error("eq. 14", error)
    # s = 11 stands 11 coordinates from the edge. Of a single Gaussian erfc(11/√12)/2 = 4e-6 is lost; its
    # weight 2·√(2π)σ/d over the square 4.28 makes that 5e-8 at most.
    assert error < 5e-8
    assert made[4, 9] == pytest.approx(0.344, abs=5e-4)


def test_theorem_1_is_the_numeric_embedding(record_error: Record) -> None:
    task = Task.paper()
    sizes = 15, 21, 11, 100, 10, 2, 0.5, token_ratio(task, 15), 9, 200
    error = relative(
        formula("theorem 1")(np.arange(200), *sizes), gaussian_embedding(task, [15], learning_rate=0.5)[0]
    )
    for key in ("Theorem 1", "eq. 12"):
        record_error(key, error)
    assert error < 1e-12


def test_leading_order_of_bound_13_is_the_numeric_one(record_error: Record) -> None:
    """Skewed shifts, so that both parts of the noise term are there; ndtri gives the quantile."""
    shifts = Mapping(range(4), Shift({0: 5, 1: 1, 2: -2, 3: -8}))
    task = Task(keys=range(200, 210), mappings=[shifts], n_anchors=9, length=10, vocab_size=420)
    bound = inner_product_bound(task, range(4), learning_rate=3.0, init_rate=0.7, confidence=0.9)
    shape = gaussian_shape(task, 0, learning_rate=3.0)
    moments = shape.C1, shape.sigma_P, shape.skewness, shape.excess_kurtosis
    made = formula("eq 13")(*moments, 420, 0.7, -ndtri(0.1 / 20))
    error = abs(made / (bound.shape_leading + bound.noise_leading) - 1)
    record_error("eq. 13, leading order", error)
    assert error < 1e-12


@pytest.mark.parametrize("gamma", [0.5, 0.8])
def test_lemma_1_is_the_numeric_bound(gamma: float, record_error: Record) -> None:
    made = formula("lemma 1")(0.3, gamma, 200, 9)
    error = abs(made - average_attention_bound(0.3, 200, gamma, 9))
    record_error("Lemma 1, bound", error)
    assert 0 < made < 1
    assert error < 1e-12


def test_the_matrix_of_theorem_2_is_eq_38_of_the_tasks_own_drives(record_error: Record) -> None:
    task, rng = Task.paper(), np.random.default_rng(3)
    C, W_f, W_O = expected_token_label_matrix(task), rng.normal(size=(200, 200)), rng.normal(size=(5, 200))
    right = (W_f + np.eye(200)).T @ W_O.T
    given = 0.3, 9, label_table(task), token_ratios(task)[:, None], right, 200
    error = relative(formula("theorem 2 matrix")(*given), value_drive(0.3 * C, C, 9, W_f, W_O))
    record_error("Theorem 2, matrix", error)
    assert error < 1e-12
