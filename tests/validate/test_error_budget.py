"""The figure of the error budget draws the rows it was given, hollow where no end was reached."""

from __future__ import annotations

import math

import numpy as np

from theory import Horizon
from validate.figures import ErrorBudget

ROWS = [
    Horizon(0.8, "frozen", 0.05, 60.0, 100.0, 300.0),
    Horizon(0.5, "frozen", 0.05, 14.0, 20.0, 60.0),
    Horizon(0.5, "linearised", 0.05, math.inf, 20.0, 60.0),
    Horizon(0.5, "frozen", 0.2, 20.0, 20.0, 60.0),
]


def test_horizons_are_sorted_and_measured_in_clocks() -> None:
    budget = ErrorBudget.from_horizons(ROWS, 0.05).plot()
    assert budget.horizons == {
        "frozen": [(0.5, 0.7, False), (0.8, 0.6, False)],
        "linearised": [(0.5, 3.0, True)],
    }
    np.testing.assert_allclose(budget.lines_["frozen"].get_ydata(), [0.7, 0.6])


def test_a_horizon_that_was_not_reached_is_hollow() -> None:
    budget = ErrorBudget.from_horizons(ROWS, 0.05).plot()
    assert budget.ax_ is not None
    frozen, linearised = budget.ax_.collections
    assert (linearised.get_facecolor()[0] == 1).all()  # type: ignore[attr-defined]
    assert not (frozen.get_facecolor()[0] == 1).all()  # type: ignore[attr-defined]
