"""Intervals cover at their level, and p-values agree with SciPy where it has the same test."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from validate.judge.stats import Mean, Prior, Proportion, fit_prior, holm

TRIALS = 4000


def error(share: float) -> float:
    return math.sqrt(share * (1 - share) / TRIALS)


@pytest.mark.statistical
@pytest.mark.parametrize("n", [2, 3, 5])
@pytest.mark.parametrize("level", [0.05, 0.0164])
def test_the_moderated_interval_covers_at_its_level(n: int, level: float) -> None:
    """Settings whose variances come from one prior, which is fitted to them each time."""
    rng, hits, widths, plain = np.random.default_rng(n), 0, [], []
    for _ in range(TRIALS // 5):
        sigma = np.sqrt(0.04 * 8 / rng.chisquare(8, 5))
        seeds = rng.normal(0.3, sigma[:, None], (5, n))
        variances = seeds.var(axis=1, ddof=1)
        prior = fit_prior(variances.tolist(), [n - 1] * 5)
        for values, variance in zip(seeds, variances, strict=True):
            low, high = Mean.of(values.tolist(), variance, prior).interval(level) or (math.nan, math.nan)
            hits += low <= 0.3 <= high
            widths.append(high - low)
            alone = Mean.of(values.tolist(), variance).interval(level)
            plain.append(np.ptp(alone or (0, 0)))
    # The prior of five settings is estimated: its cap on the degrees of freedom makes it conservative.
    assert 1 - level - 4 * error(level) - 0.01 <= hits / TRIALS
    assert np.median(widths) < np.median(plain)


@given(st.lists(st.floats(-1, 1), min_size=2, max_size=6, unique=True), st.floats(-1, 1))
def test_without_a_prior_it_is_students_test(values: list[float], threshold: float) -> None:
    variance = float(np.var(values, ddof=1))
    if variance < 1e-12:
        return
    mean = Mean.of(values, variance)
    assert mean.p_value(threshold) == pytest.approx(stats.ttest_1samp(values, threshold).pvalue, rel=1e-6)
    wanted = stats.t.interval(0.95, len(values) - 1, np.mean(values), stats.sem(values))
    assert mean.interval(0.05) == pytest.approx(wanted)
    # Two one-sided tests: equivalent at 5 % exactly where the 90 % interval is within the margin.
    low, high = mean.interval(0.1) or (math.nan, math.nan)
    for margin in (0.1, 0.5, 1.5):
        inside = threshold - margin <= low and high <= threshold + margin
        assert (mean.p_within(threshold, margin) <= 0.05) == inside


def test_a_prior_pulls_the_variance_by_its_degrees_of_freedom() -> None:
    mean = Mean.of([0.0, 2.0], 2.0, Prior(variance=0.5, freedom=3.0, most=10.0))
    assert mean.freedom == 4.0
    assert mean.error == pytest.approx(math.sqrt((1 * 2.0 + 3 * 0.5) / 4 / 2))


def test_fewer_than_three_settings_say_nothing_of_a_variance() -> None:
    assert fit_prior([0.1, 0.2], [1, 1]).freedom == 0
    assert fit_prior([0.0, 0.0, 0.0], [1, 1, 1]).freedom == 0


@pytest.mark.statistical
@pytest.mark.parametrize("p", [0.1, 0.5, 0.9])
def test_the_interval_of_a_share_covers_at_least_at_its_level(p: float) -> None:
    counts = np.random.default_rng(0).binomial(6, p, TRIALS)
    intervals = {k: Proportion(int(k), 6).interval(0.05) for k in set(counts.tolist())}
    hits = np.mean([intervals[k][0] <= p <= intervals[k][1] for k in counts.tolist()])
    assert hits >= 0.95 - 4 * error(0.05)


@given(st.lists(st.floats(0, 1), min_size=1, max_size=6))
def test_holm_rejects_what_bonferroni_of_the_rest_rejects(p_values: list[float]) -> None:
    adjusted = holm(p_values)
    order = np.argsort(p_values, kind="stable")
    running = 0.0
    for rank, i in enumerate(order):
        running = max(running, min(1.0, (len(p_values) - rank) * p_values[i]))
        assert adjusted[i] == pytest.approx(running)
