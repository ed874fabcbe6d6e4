"""Lemma 1: predicted logits and attention rows at initialisation against drawn models."""

import math

import numpy as np
import pytest
from scipy.stats import binomtest

from tests.docs_script import load_script
from theory import (
    attention_logit_std,
    average_attention_bound,
    average_attention_probability,
    smallest_init_rate,
)

attention_rows = load_script("theory/transformer_numbers").attention_rows
SOURCES = ["embedding", "position", "layer_norm"]


def half_difference_std(rows):
    """The logits' standard deviation, from log A_1 − log A_2 = S_1 − S_2 of uncorrelated logits."""
    return np.sqrt(np.mean(np.log(rows[:, 0] / rows[:, 1]) ** 2) / 2)


@pytest.mark.statistical
@pytest.mark.parametrize("source", SOURCES)
@pytest.mark.parametrize(
    "gamma", [pytest.param(0.3, marks=pytest.mark.slow), pytest.param(0.5, marks=pytest.mark.long), 0.8]
)
def test_logit_std_against_drawn_models(source, gamma, record_error):
    n = 1000
    rows = attention_rows(200, 64, gamma, 3, n, np.random.default_rng(5), source=source)
    ratio = half_difference_std(rows) / attention_logit_std(200, gamma, source=source)
    # The square of a nearly normal value has relative variance 2 + excess kurtosis, here at most 6/d_k from
    # the inner product of d_k terms and less than 0.2 from the norms; 3.9 standard errors are p = 1e-4.
    standard_error = math.sqrt((2 + 6 / 64 + 0.2) / n) / 2
    assert abs(ratio - 1) < 3.9 * standard_error
    record_error("Lemma 1", abs(ratio - 1))


@pytest.mark.statistical
@pytest.mark.parametrize("by_proof", [False, True])
def test_logit_std_depends_on_d_k_by_the_fan_in_alone(by_proof):
    """W_Q and W_K at d_m^-γ as in Section 2.4, and at d_k^-γ as in the proof of Lemma 1."""
    for d_k in (4, 16, 64):
        fan_in = d_k if by_proof else None
        predicted = attention_logit_std(64, 0.4, fan_in=fan_in)
        assert predicted == pytest.approx(64**-0.6 * (d_k / 64) ** (-0.8 * by_proof))
        rows = attention_rows(64, d_k, 0.4, 2, 2000, np.random.default_rng(d_k), fan_in=fan_in)
        standard_error = math.sqrt((2 + 6 / d_k + 0.5) / 2000) / 2
        # Row 2 pairs a token with itself, whose logit is larger by sqrt(1 + 2/d_m).
        assert abs(half_difference_std(rows) / predicted - 1) < 3.9 * standard_error + 1 / 64


@pytest.mark.statistical
@pytest.mark.parametrize(
    ("gamma", "row"),
    [(0.5, 2), (0.8, 9), *(pytest.param(*case, marks=pytest.mark.long) for case in ((0.5, 9), (0.8, 4)))],
)
def test_probability_lies_in_the_interval_of_drawn_models(gamma, row):
    n = 1500
    spread = attention_logit_std(200, gamma) * math.sqrt(row - 1) / row**1.5
    rows = attention_rows(200, 64, gamma, row, n, np.random.default_rng(11))
    for factor in (0.5, 1.0, 2.0):
        inside = int((np.abs(rows[:, 0] - 1 / row) <= factor * spread).sum())
        interval = binomtest(inside, n).proportion_ci(0.9999, method="exact")
        predicted = average_attention_probability(factor * spread, 200, gamma, row)
        # An excess kurtosis of at most 6/d_k + 8/d_m = 0.13 moves a distribution function by 0.023 × 0.13
        # on each side; terms of second order in the logits are below 0.5 % here.
        assert interval.low - 0.01 <= predicted <= interval.high + 0.01


@pytest.mark.statistical
@pytest.mark.parametrize("source", SOURCES)
def test_bound_holds_for_drawn_models(source):
    d_m, gamma, length, n = 48, 0.75, 6, 600
    # The tolerance at which the bound promises 0.5: it has to hold there and not be vacuous.
    tolerance = math.sqrt(
        2 * (1 - average_attention_bound(1.0, d_m, gamma, length, source=source)) * (1 + 1e-9)
    )
    bound = average_attention_bound(tolerance, d_m, gamma, length, source=source)
    assert bound == pytest.approx(0.5, abs=1e-6)
    rng = np.random.default_rng(3)
    outside = 0
    for row in range(2, length + 1):
        rows = attention_rows(d_m, 16, gamma, row, n, rng, source=source)
        outside += int((np.abs(rows - 1 / row) > tolerance).any(axis=1).sum())
    # The bound is on the sum of the rows' chances; four deviations of a count.
    assert (outside + 4 * math.sqrt(outside + 1)) / n < 1 - bound


@pytest.mark.parametrize("source", SOURCES)
@pytest.mark.parametrize("tolerance", [0.1, 0.01])
@pytest.mark.parametrize("fan_in", [None, 64])
def test_smallest_init_rate_inverts_both_statements(source, tolerance, fan_in):
    how = {"source": source, "fan_in": fan_in}
    proven = smallest_init_rate(tolerance, 200, 9, **how)
    assert average_attention_bound(tolerance, 200, proven, 9, **how) == pytest.approx(1 - tolerance)
    first = smallest_init_rate(tolerance, 200, 9, proven=False, **how)
    assert average_attention_probability(tolerance, 200, first, 2, **how) == pytest.approx(1 - tolerance)
    assert first < proven
