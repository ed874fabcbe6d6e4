"""Intervals cover what they say they cover."""

from __future__ import annotations

import math

import numpy as np
import pytest

from validate.judge.bounds import Bound, magnitude, step_of
from validate.judge.stats import over_seeds


@pytest.mark.statistical
@pytest.mark.parametrize("n", [2, 3, 10])
def test_coverage_is_what_it_says(n: int) -> None:
    """4000 simulated experiments of n normal seeds: coverage within 4 standard errors of 95 %."""
    rng = np.random.default_rng(n)
    hits = 0
    for sample in rng.normal(2.0, 3.0, (4000, n)):
        estimate = over_seeds(sample.tolist())
        assert estimate.low is not None
        assert estimate.high is not None
        hits += estimate.low <= 2.0 <= estimate.high
    assert abs(hits / 4000 - 0.95) < 4 * math.sqrt(0.95 * 0.05 / 4000)


def test_cutting_to_the_possible_values_costs_no_coverage() -> None:
    """Means of three draws on [0, 1] near its edge: every interval that is cut still holds what it held."""
    rng = np.random.default_rng(0)
    truth = 0.05
    for sample in rng.beta(1, 19, (500, 3)):
        wide, cut = over_seeds(sample.tolist()), over_seeds(sample.tolist(), (0.0, 1.0))
        assert wide.low is not None
        assert cut.low is not None
        assert wide.high is not None
        assert cut.high is not None
        assert 0 <= cut.low <= cut.mean <= cut.high <= 1
        assert (wide.low <= truth <= wide.high) == (cut.low <= truth <= cut.high)


def test_one_seed_says_nothing_of_spread() -> None:
    estimate = over_seeds([0.7])
    assert (estimate.mean, estimate.low, estimate.high, estimate.n) == (0.7, None, None, 1)
    assert str(estimate) == "0.700"


def test_undefined_values_are_left_out_and_counted() -> None:
    estimate = over_seeds([math.nan, 0.5, 0.7])
    assert estimate.n == 2
    assert estimate.mean == pytest.approx(0.6)
    nothing = over_seeds([math.nan])
    assert nothing.as_dict() == {"mean": None, "low": None, "high": None, "n": 0}
    assert str(nothing) == "–"


def test_the_magnitude_of_a_bound_over_zero_reaches_to_its_farther_end() -> None:
    assert magnitude(Bound(-3.0, 1.0)) == Bound(0.0, 3.0)
    assert magnitude(Bound(-1.0, 2.0)) == Bound(0.0, 2.0)
    assert magnitude(Bound(-3.0, -1.0)) == Bound(1.0, 3.0)


def test_bounds_agree_no_closer_than_the_largest_of_their_steps() -> None:
    values = [Bound(low=1.0, step=0.1), 2.0, Bound(low=1.0, step=0.3)]
    assert step_of(values) == 0.3
    assert step_of(values[1:2]) == 0.0
