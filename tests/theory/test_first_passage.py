"""The first time at a level: by hand, at the ends, and along a curve that a function makes straight."""

from __future__ import annotations

import math

import numpy as np
import pytest

from theory.integrate.first_passage import first_passage


def test_between_two_times_values_are_linear() -> None:
    assert first_passage([0, 2, 4], [0.0, 0.4, 0.8], 0.5) == pytest.approx(2.5)
    # The first passage counts, whatever comes after it.
    assert first_passage([0, 1, 2, 3], [0.0, 1.0, 0.0, 1.0], 0.25) == pytest.approx(0.25)


def test_at_the_ends() -> None:
    assert first_passage([3, 4], [0.5, 0.9], 0.5) == 3
    assert first_passage([3, 4], [0.1, 0.5], 0.5) == 4
    assert math.isinf(first_passage([3, 4], [0.1, 0.2], 0.5))


def test_a_straight_logarithm() -> None:
    times = np.array([0.0, 1.0, 2.0])
    assert first_passage(times, np.exp(3 * times), math.e, np.log) == pytest.approx(1 / 3)


def test_where_the_curve_is_not_finite_the_values_are_linear() -> None:
    """A start at 0 has no logarithm and no reciprocal."""
    for straight in (np.log, np.reciprocal):
        assert first_passage([0, 1], [0.0, 0.5], 0.25, straight) == pytest.approx(0.5)
