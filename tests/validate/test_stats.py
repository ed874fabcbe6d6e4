"""Intervals cover what they say they cover."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.stats import ttest_1samp

from validate.judge.bounds import Bound, magnitude, step_of
from validate.judge.stats import holm, over_seeds, t_test


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


def test_holms_correction_multiplies_by_what_is_left_and_never_falls() -> None:
    """By hand: 3 · 0.01, 2 · 0.03, then 1 · 0.04, which may not be less than the one before; at most 1."""
    assert holm([0.01, 0.04, 0.03]) == pytest.approx([0.03, 0.06, 0.06])
    assert holm([0.7, 0.6]) == [1.0, 1.0]


def test_the_t_test_is_two_sided() -> None:
    """SciPy's own test on the same numbers."""
    values = [0.3, 0.9, 0.6, 0.7]
    assert t_test(values, 0.2) == pytest.approx(ttest_1samp(values, 0.2).pvalue, rel=1e-12)


def test_equal_values_say_nothing_of_how_much_they_vary() -> None:
    assert math.isnan(t_test([1.0, 1.0], 0.5))
    assert math.isnan(t_test([1.0, 1.0], 1.0))
    assert 0 < t_test([1.0, 1.0], 0.5, step=0.01) < 0.05
    stepped = over_seeds([1.0, 1.0], step=0.01)
    assert stepped.low is not None
    assert stepped.low < 1


@pytest.mark.parametrize("values", [[0.1] * 3, [0.7] * 3, [0.1 + 0.2, 0.3, 0.3], [-1e-9] * 5, [0.0] * 2])
def test_values_that_differ_by_rounding_are_equal(values: list[float]) -> None:
    """The mean of three times 0.1 is not 0.1, and a p-value of 1e-34 came of it."""
    assert math.isnan(t_test(values, 0.5))
    estimate = over_seeds([*values, math.nan])
    assert (estimate.low, estimate.high, estimate.n) == (None, None, len(values))
    assert estimate.mean == pytest.approx(values[0])
    assert t_test([*values[:-1], values[-1] + 1e-10], 0.5) < 0.05


def test_the_magnitude_of_a_bound_over_zero_reaches_to_its_farther_end() -> None:
    assert magnitude(Bound(-3.0, 1.0)) == Bound(0.0, 3.0)
    assert magnitude(Bound(-1.0, 2.0)) == Bound(0.0, 2.0)
    assert magnitude(Bound(-3.0, -1.0)) == Bound(1.0, 3.0)


def test_bounds_agree_no_closer_than_the_largest_of_their_steps() -> None:
    values = [Bound(low=1.0, step=0.1), 2.0, Bound(low=1.0, step=0.3)]
    assert step_of(values) == 0.3
    assert step_of(values[1:2]) == 0.0
