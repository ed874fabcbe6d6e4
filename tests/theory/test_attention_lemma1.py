"""Lemma 1: predicted logits and attention rows at initialisation against drawn models."""

import math

import numpy as np
import pytest
from scipy.special import softmax
from scipy.stats import binomtest

from theory import (
    attention_logit_std,
    average_attention_bound,
    average_attention_probability,
    smallest_init_rate,
)

SOURCES = ["embedding", "position", "layer_norm"]


def attention_rows(d_m, d_k, gamma, row, n, rng, source="embedding", fan_in=None):
    """Draw row i of the attention of n models on i different tokens, at the spreads of Section 2.4."""
    rows = np.empty((n, row))
    for sample in rows:
        x = rng.standard_normal((row, d_m)) * d_m**-gamma
        if source == "position":
            x += rng.standard_normal((row, d_m)) * d_m**-gamma
        if source == "layer_norm":
            x = (x - x.mean(axis=1, keepdims=True)) / x.std(axis=1, keepdims=True)
        w_q, w_k = rng.standard_normal((2, d_m, d_k)) * (fan_in or d_m) ** -gamma
        sample[:] = softmax((x[-1] @ w_q) @ (x @ w_k).T / d_k**0.5)
    return rows


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
    record_error("Lemma 1", abs(ratio - 1), below=3.9 * standard_error)


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
