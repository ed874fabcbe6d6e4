"""Every function that returns an interval covers the truth at the level that it states."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from tests.validate.judge.test_verdict import condition, judged
from validate.judge.stats import Mean, band, each_over_seeds, over_seeds, spread
from validate.observe.bounds import Bound, magnitude, step_of

TRIALS = 4000
Interval = tuple[float | None, float | None]


def _outcome(values: Any, setting: str) -> Interval:
    (outcome,) = judged(condition(values.tolist(), setting=setting)).outcomes
    return outcome.estimate.low, outcome.estimate.high


def _band(values: Any) -> Interval:
    _, low, high = band(np.column_stack([values, -values]))
    assert (low[1], high[1]) == pytest.approx((-high[0], -low[0]))
    return low[0], high[0]


def _estimate(found: Any) -> Interval:
    return found.low, found.high


INTERVALS: dict[str, tuple[Callable[[Any], Interval], float]] = {
    "over_seeds": (lambda x: _estimate(over_seeds(x)), 0.95),
    "over_seeds at 80 %": (lambda x: _estimate(over_seeds(x, level=0.8)), 0.8),
    "each_over_seeds": (lambda x: _estimate(each_over_seeds(x[:, None])[0]), 0.95),
    "band": (_band, 0.95),
    "Mean.interval": (lambda x: Mean.of(x, spread(x)).interval(0.1) or (None, None), 0.9),
    "a condition": (lambda x: _outcome(x, "post"), 0.95),
    "a condition at the interim look": (lambda x: _outcome(x, "printed"), 1 - 0.0164),
}


@pytest.mark.statistical
@pytest.mark.parametrize("name", INTERVALS)
def test_an_interval_covers_at_its_level(name: str) -> None:
    """Simulated experiments of four normal seeds: coverage within four standard errors of what is stated."""
    interval, level = INTERVALS[name]
    rng, hits = np.random.default_rng(4), 0
    for sample in rng.normal(2.0, 3.0, (TRIALS, 4)):
        low, high = interval(sample)
        assert low is not None
        assert high is not None
        hits += low <= 2.0 <= high
    assert abs(hits / TRIALS - level) < 4 * math.sqrt(level * (1 - level) / TRIALS)


def test_cutting_to_the_possible_values_costs_no_coverage() -> None:
    """Means of three draws on [0, 1] near its edge: every interval that is cut still holds what it held."""
    rng = np.random.default_rng(0)
    truth = 0.05
    for sample in rng.beta(1, 19, (500, 3)):
        wide, cut = _estimate(over_seeds(sample)), _estimate(over_seeds(sample, (0.0, 1.0)))
        assert cut == (max(wide[0] or 0.0, 0.0), min(wide[1] or 0.0, 1.0))
        assert (wide[0] <= truth <= wide[1]) == (cut[0] <= truth <= cut[1])  # type: ignore[operator]


def test_one_seed_says_nothing_of_spread() -> None:
    estimate = over_seeds([0.7])
    assert (estimate.mean, estimate.low, estimate.high, estimate.n) == (0.7, None, None, 1)
    assert str(estimate) == "0.700"
    assert np.isnan(band([[0.5, 0.6]])[1:]).all()


def test_equal_seeds_vary_by_less_than_a_step_and_by_an_unknown_amount_without_steps() -> None:
    assert over_seeds([0.3, 0.3, 0.3]).low is None
    assert spread([0.3, 0.3, 0.3], step=0.12) == pytest.approx(0.12**2 / 12)
    assert spread([0.1, 0.5], step=0.12) == pytest.approx(np.var([0.1, 0.5], ddof=1))


def test_undefined_values_are_left_out_and_counted() -> None:
    estimate = over_seeds([math.nan, 0.5, 0.7])
    assert estimate.n == 2
    assert estimate.mean == pytest.approx(0.6)
    nothing = over_seeds([math.nan])
    assert nothing.as_dict() == {"mean": None, "low": None, "high": None, "n": 0}
    assert str(nothing) == nothing.brief == "–"


def test_the_magnitude_of_a_bound_over_zero_reaches_to_its_farther_end() -> None:
    assert magnitude(Bound(-3.0, 1.0)) == Bound(0.0, 3.0)
    assert magnitude(Bound(-1.0, 2.0)) == Bound(0.0, 2.0)
    assert magnitude(Bound(-3.0, -1.0)) == Bound(1.0, 3.0)


def test_bounds_agree_no_closer_than_the_largest_of_their_steps() -> None:
    values = [Bound(low=1.0, step=0.1), 2.0, Bound(low=1.0, step=0.3)]
    assert step_of(values) == 0.3
    assert step_of(values[1:2]) == 0.0
