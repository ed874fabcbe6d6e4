"""Shapes of an embedding: cosines, principal components, eq. 14, power laws; axes of annotations."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

import theory
from theory import Task, cosine_matrix, fit_exponent, fit_width, off_diagonal, principal_components


@given(arrays(np.float64, (4, 3), elements=st.floats(-1e3, 1e3, width=32)), st.floats(1e-250, 1e250))
def test_cosines_are_those_of_directions_at_any_scale(rows: Any, scale: float) -> None:
    rows = rows + np.array([[2e3, 0, 0]])  # keeps every row away from zero
    found = cosine_matrix(rows)
    lengths = np.linalg.norm(rows, axis=1)
    np.testing.assert_allclose(found, rows @ rows.T / np.outer(lengths, lengths), atol=1e-12)
    assert (np.abs(found) <= 1).all()
    np.testing.assert_allclose(cosine_matrix(rows * scale), found, atol=1e-9)
    np.testing.assert_allclose(cosine_matrix(rows, rows[:2]), found[:, :2], atol=1e-15)
    pairs = [found[i, j] for i in range(4) for j in range(i + 1, 4)]
    assert off_diagonal(found).tolist() == pairs


def test_cosines_of_tiny_vectors_and_of_nothing() -> None:
    found = cosine_matrix([[1e-200, 0.0], [1e-200, 1e-200]])
    np.testing.assert_allclose(found, [[1, 0.5**0.5], [0.5**0.5, 1]], rtol=1e-15)
    assert np.isnan(cosine_matrix([[0.0, 0.0], [1.0, 0.0]])[0]).all()
    assert np.isnan(off_diagonal(np.full((3, 3), np.nan))).all()


@given(arrays(np.float64, (7, 4), elements=st.floats(-10, 10)))
def test_components_keep_distances_and_order_by_variance(rows: Any) -> None:
    rows = rows + np.arange(7)[:, None] * np.arange(1, 5)  # never all alike
    found = principal_components(rows, 4)
    before, after = (np.linalg.norm(r[:, None] - r, axis=-1) for r in (rows, found.coordinates))
    np.testing.assert_allclose(after, before, atol=1e-9)
    values = np.linalg.eigvalsh(np.cov(rows.T))[::-1]
    np.testing.assert_allclose(found.explained, values / values.sum(), atol=1e-9)
    np.testing.assert_allclose(found.coordinates.var(axis=0, ddof=1), values, atol=1e-8)
    largest = found.coordinates[np.abs(found.coordinates).argmax(axis=0), range(4)]
    assert (largest >= 0).all()
    np.testing.assert_array_equal(principal_components(rows).coordinates, found.coordinates[:, :2])
    for scale in (1e-200, 1e200):
        np.testing.assert_allclose(
            principal_components(rows * scale, 4).explained, found.explained, atol=1e-9
        )


def test_equal_rows_vary_along_no_direction() -> None:
    assert np.isnan(principal_components(np.full((3, 2), 0.1)).explained).all()


def test_eq14_as_printed() -> None:
    """Rows 15 and 30 by hand; cos(15, ·) as noted from the paper's own task."""
    task = Task.paper()
    rows = theory.eq14_embedding(task, [15, 30])
    assert rows[0, 17] == pytest.approx(np.exp(-4 / 12) - 1 / 200)
    assert rows[1, 33] == pytest.approx(np.exp(-9 / 12))
    other = theory.eq14_embedding(task, [15], width=7.0, d_m=50)
    assert other[0, 17] == pytest.approx(np.exp(-4 / 7) - 1 / 50)
    anchors = list(task.reasoning_anchors)
    row = cosine_matrix(theory.eq14_embedding(task, anchors))[4]
    np.testing.assert_allclose(row.round(2), [0.51, 0.68, 0.84, 0.96, 1, 0.96, 0.84, 0.68, 0.51, 0.34])


@pytest.mark.parametrize("width", [2.0, 12.0, 150.0])
def test_fit_finds_the_width_it_was_given(width: float) -> None:
    task, anchors = Task.paper(), list(range(11, 21))
    observed = cosine_matrix(theory.eq14_embedding(task, anchors, width=width))
    assert fit_width(task, anchors, observed) == pytest.approx(width, rel=1e-3)
    assert fit_width(task, anchors, np.stack([observed, observed])) == pytest.approx(width, rel=1e-3)


def test_where_no_width_fits_it_is_a_bound() -> None:
    for cosine, width in ((1.0, 50.0), (-1.0, 2.0)):
        assert fit_width(Task.paper(), [11, 12], np.full((2, 2), cosine), bounds=(2.0, 50.0)) == width


@given(st.floats(-3, 3), st.floats(0.1, 10))
def test_exponent_of_a_power_law_is_found(exponent: float, factor: float) -> None:
    # Neighbouring x far apart, or alike to six digits.
    for x, error in ((np.array([1.0, 2.0, 5.0, 10.0]), 1e-12), (1e6 + np.arange(4), 1e-7)):
        fitted = fit_exponent(x, factor * x**exponent)
        assert fitted.value == pytest.approx(exponent, abs=error)
        assert fitted.low - 1000 * error <= exponent <= fitted.high + 1000 * error


@pytest.mark.statistical
@pytest.mark.parametrize("level", [0.5, 0.9, 0.99])
def test_exponent_interval_covers_at_its_level(level: float) -> None:
    rng, x = np.random.default_rng(0), np.array([1.0, 2.0, 4.0, 8.0, 16.0])
    noise = np.exp(0.1 * rng.standard_normal((2000, 5)))
    fits = [fit_exponent(x, x**-0.5 * factor, level=level) for factor in noise]
    covered = np.mean([f.low <= -0.5 <= f.high for f in fits])
    assert abs(covered - level) < 3.9 * (level * (1 - level) / 2000) ** 0.5
