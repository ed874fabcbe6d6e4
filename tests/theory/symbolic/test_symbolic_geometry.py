"""Theorem 1's inner products and cosines against plain sums, with the remainders that the steps name."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.special import ndtri

from theory import (
    Mapping,
    Shift,
    Task,
    average_attention_bound,
    cosine_matrix,
    eq14_embedding,
    expected_token_label_matrix,
    gaussian_embedding,
    gaussian_shape,
    inner_product_bound,
    label_table,
    token_ratio,
    token_ratios,
    value_drive,
)
from theory.symbolic import find_derivation

Record = Callable[[str, float], None]


def _vector(c1: float, c2: float, mean: float, width: float, d: int) -> npt.NDArray[np.float64]:
    k = np.arange(d)
    return c1 * (c2 * np.exp(-((k - mean) ** 2) / (2 * width**2)) - 1 / d)


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
    d = 400
    a, b = (_vector(c1, c2, mean, width, d) for mean in means)
    made = find_derivation("gaussian inner product").function()(c1, c2, width, means[0] - means[1], d)
    assert made == pytest.approx(float(a @ b), abs=1e-12 * float(np.linalg.norm(a) * np.linalg.norm(b)))


def test_inner_product_error_is_recorded(record_error: Record) -> None:
    a, b = (_vector(1.0, 0.2, mean, 5.0, 400) for mean in (195.3, 203.0))
    error = abs(
        find_derivation("gaussian inner product").function()(1.0, 0.2, 5.0, 7.7, 400) / float(a @ b) - 1
    )
    record_error("inner product of eq. 12", error)
    assert error < 1e-12


@pytest.mark.parametrize("phase", [0.0, 0.5])
def test_sum_exceeds_the_integral_by_poissons_term(phase: float) -> None:
    """At σ = 0.8 the remainder is 2e^{−π²σ²} = 0.0036, up at a grid point and down between two."""
    width, d = 0.8, 400
    a = np.exp(-((np.arange(d) - 200 - phase) ** 2) / (2 * width**2))
    whole = np.sqrt(np.pi) * width
    predicted = 1 + 2 * np.exp(-(np.pi**2) * width**2) * np.cos(2 * np.pi * phase)
    assert float(a @ a) / whole == pytest.approx(predicted, rel=1e-9)
    assert abs(predicted - 1) > 1e-3


def test_tail_outside_the_coordinates_is_the_erfc_of_its_step() -> None:
    """A Gaussian at the vocabulary's edge: what lies below coordinate 0 is missing from the plain sum."""
    width, d, mean = 10.0, 400, 12.0
    a = np.exp(-((np.arange(d) - mean) ** 2) / (2 * width**2))
    whole = np.sqrt(np.pi) * width
    tail = _tail(4, mean + 0.5, width)
    # The sum from 0 on is a midpoint rule for the integral from −1/2; its error at the end is of the
    # relative size τ²/(6σ⁴) = 0.3 %.
    assert whole - float(a @ a) == pytest.approx(tail, rel=0.02)
    assert tail > 1e-3
    lost = np.sqrt(2 * np.pi) * width - float(a.sum())
    assert lost == pytest.approx(_tail(5, mean + 0.5, width), rel=0.02)


def _tail(number: int, bound: float, width: float) -> float:
    """Return what step ``number`` (counted from 0) says is cut off."""
    step = find_derivation("gaussian inner product").steps[number].expression
    by_name = {symbol.name: symbol for symbol in step.free_symbols}
    values = {"tau": bound, "sigma": width, "Delta": 0.0}
    return float(step.subs({symbol: values[name] for name, symbol in by_name.items()}))


def test_cosine_is_that_of_eq_14(record_error: Record) -> None:
    task = Task.paper()
    tokens = list(task.reasoning_anchors)
    wanted = cosine_matrix(eq14_embedding(task, tokens))
    distance = np.subtract.outer(tokens, tokens)
    made = find_derivation("cosine").function()(1.0, np.sqrt(6), distance, 200)
    error = float(np.abs(made - wanted).max())
    record_error("eq. 14", error)
    # s = 11 stands 11 coordinates from the edge. Of a single Gaussian erfc(11/√12)/2 = 4e-6 is lost; its
    # weight 2·√(2π)σ/d over the square 4.28 makes that 5e-8 at most.
    assert error < 5e-8
    assert made[4, 9] == pytest.approx(0.344, abs=5e-4)


@pytest.mark.statistical
def test_noise_adds_to_a_square_and_not_to_an_inner_product() -> None:
    """Monte Carlo at 99.9 %: ⟨w_i, w_j⟩ keeps its mean, |w|² gains d_m^(1−2γ)."""
    d, gamma, n = 200, 0.8, 4000
    rng = np.random.default_rng(11)
    a, b = _vector(1, 0.3, 95, 4, d), _vector(1, 0.3, 103, 4, d)
    noise = d**-gamma * rng.normal(size=(2, n, d))
    inner = ((a + noise[0]) * (b + noise[1])).sum(1)
    square = ((a + noise[0]) ** 2).sum(1)
    clean = find_derivation("gaussian inner product").function()
    for sample, mean in (
        (inner, clean(1, 0.3, 4, 8, d)),
        (square, clean(1, 0.3, 4, 0, d) + d ** (1 - 2 * gamma)),
    ):
        assert abs(sample.mean() - mean) < 3.29 * sample.std(ddof=1) / np.sqrt(n)


def test_theorem_1_is_the_numeric_embedding(record_error: Record) -> None:
    task, j = Task.paper(), np.arange(200)
    made = find_derivation("theorem 1").function()(
        j, 15, 21, 11, 100, 10, 2, 0.5, token_ratio(task, 15), 9, 200
    )
    error = float(
        np.abs(made - gaussian_embedding(task, [15], learning_rate=0.5)[0]).max() / np.abs(made).max()
    )
    for key in ("Theorem 1", "eq. 12"):
        record_error(key, error)
    assert error < 1e-12


def test_leading_order_of_bound_13_is_the_numeric_one(record_error: Record) -> None:
    """Skewed shifts, so that both parts of the noise term are there; ndtri gives the quantile."""
    keys, shifts = range(200, 210), {0: 5, 1: 1, 2: -2, 3: -8}
    task = Task(
        keys=keys, mappings=[Mapping(range(4), Shift(shifts))], n_anchors=9, length=10, vocab_size=420
    )
    found = inner_product_bound(task, range(4), learning_rate=3.0, init_rate=0.7, confidence=0.9)
    shape = gaussian_shape(task, 0, learning_rate=3.0)
    quantile = -ndtri(0.1 / 20)
    made = find_derivation("eq 13").function()(
        shape.C1, shape.sigma_P, shape.skewness, shape.excess_kurtosis, 420, 0.7, quantile
    )
    error = abs(made / (found.shape_leading + found.noise_leading) - 1)
    record_error("eq. 13, leading order", error)
    assert error < 1e-12


@pytest.mark.parametrize("gamma", [0.5, 0.8])
def test_lemma_1_is_the_numeric_bound(gamma: float, record_error: Record) -> None:
    made = find_derivation("lemma 1").function()(0.3, gamma, 200, 9)
    error = abs(made - average_attention_bound(0.3, 200, gamma, 9))
    record_error("Lemma 1, bound", error)
    assert 0 < made < 1
    assert error < 1e-12


def test_theorem_2_is_eq_38_of_the_tasks_own_drives(record_error: Record) -> None:
    task, rng = Task.paper(), np.random.default_rng(3)
    C, W_f, W_O = expected_token_label_matrix(task), rng.normal(size=(200, 200)), rng.normal(size=(5, 200))
    right = (W_f + np.eye(200)).T @ W_O.T
    made = find_derivation("theorem 2").function()(
        0.3, 9, label_table(task), token_ratios(task)[:, None], right, 200
    )
    wanted = value_drive(0.3 * C, C, 9, W_f, W_O)
    error = float(np.abs(made - wanted).max() / np.abs(wanted).max())
    record_error("Theorem 2, matrix", error)
    assert error < 1e-12
