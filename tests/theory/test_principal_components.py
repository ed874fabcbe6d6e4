"""Principal components: distances kept, directions in order, bad input refused."""

from __future__ import annotations

import numpy as np
import pytest

from theory import InputError, cosine_matrix, off_diagonal, principal_components


def test_all_components_keep_every_distance() -> None:
    rows = np.random.default_rng(0).standard_normal((7, 4))
    found = principal_components(rows, 4)
    before = np.linalg.norm(rows[:, None] - rows, axis=-1)
    after = np.linalg.norm(found.coordinates[:, None] - found.coordinates, axis=-1)
    np.testing.assert_allclose(after, before, atol=1e-12)
    assert found.explained.sum() == pytest.approx(1)
    assert (np.diff(found.explained) <= 0).all()


def test_agrees_with_the_covariance_matrix() -> None:
    rows = np.random.default_rng(1).standard_normal((50, 5)) @ np.diag([3.0, 2, 1, 0.5, 0.1])
    values = np.linalg.eigvalsh(np.cov(rows.T))[::-1]
    np.testing.assert_allclose(principal_components(rows).explained, values[:2] / values.sum(), rtol=1e-10)


def test_a_line_has_one_component_and_keeps_its_order() -> None:
    line = np.outer(np.arange(6.0), [1.0, -2.0, 0.5])
    found = principal_components(line)
    assert found.explained[0] == pytest.approx(1)
    steps = np.diff(found.coordinates[:, 0])
    assert (steps > 0).all() or (steps < 0).all()


@pytest.mark.parametrize(("rows", "n"), [([1.0, 2.0], 1), ([[1.0, 2.0]], 1), (np.eye(3), 4), (np.eye(3), 0)])
def test_bad_input_is_refused(rows: object, n: int) -> None:
    with pytest.raises(InputError, match=r"rows|n_components"):
        principal_components(rows, n)  # type: ignore[arg-type]


def test_off_diagonal_entries_are_those_above_the_diagonal_row_by_row() -> None:
    assert off_diagonal([[1.0, 2.0, 3.0], [2.0, 1.0, 4.0], [3.0, 4.0, 1.0]]).tolist() == [2.0, 3.0, 4.0]


def test_tiny_vectors_have_directions() -> None:
    """Their squares would underflow to zero."""
    found = cosine_matrix([[1e-200, 0.0], [1e-200, 1e-200]])
    np.testing.assert_allclose(found, [[1, 0.5**0.5], [0.5**0.5, 1]], rtol=1e-15)
