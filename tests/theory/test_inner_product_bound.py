"""Bound (13) with its constants: it holds for any keys and shifts, and its leading constants are right."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.special import ndtri

from tests.theory.test_theorem1 import largest_difference, roomy, unit_rate
from theory import (
    gaussian_embedding,
    gaussian_shape,
    inner_product_bound,
    label_distribution_embedding,
    normal_distance,
)

SKEWED = (5, 1, -2, -8)


def bound(task, **options):
    return inner_product_bound(task, task.reasoning_anchors, learning_rate=unit_rate(task), **options)


def distance_bound(task):
    """What the noise term takes for ‖P − N‖: 2 z times it, at γ = 0 and C1 = 1."""
    n = len(task.reasoning_anchors)
    return bound(task, init_rate=0.0, confidence=0.99).noise / (-2 * ndtri(0.01 / (n * (n + 1))))


tasks = st.builds(
    roomy,
    st.lists(st.integers(0, 20), min_size=1, max_size=12, unique=True),
    st.lists(st.integers(-10, 10), min_size=1, max_size=6),
    st.integers(1, 12),
).filter(lambda t: normal_is_possible(t))


def normal_is_possible(task):
    """Whether the label varies: a single key and equal shifts have no normal."""
    shifts = {task.mappings[0].rule.shift(a) for a in task.reasoning_anchors}
    return len(task.keys) > 1 or (len(shifts) > 1 and task.n_anchors > 1)


@settings(max_examples=50)
@given(tasks)
def test_no_pair_passes_the_bound_for_any_keys_and_shifts(task):
    # A few hundred products of order 1/σ: rounding below 1e-14.
    assert largest_difference(task) <= bound(task).shape + 1e-14
    for anchor in task.reasoning_anchors:
        assert normal_distance(task, anchor).l2 <= distance_bound(task) + 1e-14


@pytest.mark.parametrize("n_keys", [3, 6, 10])
def test_of_few_terms_the_bound_is_that_of_two_non_negative_numbers(n_keys):
    """They differ by no more than the larger; ‖P − N‖² is at most ‖P‖² + ‖N‖², here summed label by label."""
    task = roomy(range(n_keys), (0,), 1)
    shape, j = gaussian_shape(task, 0), np.arange(task.vocab_size)
    density = shape.C2 * np.exp(-((j - shape.mu) ** 2) / (2 * shape.sigma_P**2))
    peak = (density * density).sum()  # ⟨N, N⟩, the largest of the inner products' normal
    for found, wanted in (
        (bound(task).shape, max(1 / n_keys, peak)),
        (distance_bound(task) ** 2, 1 / n_keys + peak),
    ):
        assert wanted - 1e-12 <= found <= wanted * 1.004


LARGE = {
    "ten keys, ten anchors": (range(10), range(10)),
    "skewed shifts": (range(10), SKEWED),
    "one skewed coin": ((0, 1), (0, 0, 0, 1)),
    "gaps": ((0, 1, 4, 9), (0, 3, 4)),
}


@pytest.mark.parametrize("name", LARGE)
def test_bound_holds_and_is_tight_where_q_is_large(name):
    """Where the bound is not trivial a wrong constant in it shows."""
    for q in (64, 256):
        task = roomy(*LARGE[name], q)
        found = bound(task, init_rate=0.8)
        assert largest_difference(task) <= found.shape
        assert normal_distance(task, 0).l2 <= distance_bound(task)
    # The leading constants are those of the expansion; what is lost on top falls with q.
    assert found.shape < 2 * found.shape_leading
    assert found.noise < 2 * found.noise_leading
    assert largest_difference(task) == pytest.approx(found.shape_leading, rel=0.02)
    z_leading = found.noise_leading / found.noise * distance_bound(task)
    assert normal_distance(task, 0).l2 == pytest.approx(z_leading, rel=0.03)


@pytest.mark.statistical
def test_noise_term_holds_as_often_as_it_says_and_hardly_more_often():
    """One anchor and q = 256, where ‖P − N‖ is known to 10 %: the deviation is then exactly normal."""
    task, gamma, rng = roomy(range(10), (0, 1, 5), 256), 0.6, np.random.default_rng(5)
    rate, scale = unit_rate(task), task.vocab_size**-gamma
    normal, distribution = (
        f(task, [0], learning_rate=rate)[0] for f in (gaussian_embedding, label_distribution_embedding)
    )
    found = inner_product_bound(task, [0], learning_rate=rate, init_rate=gamma, confidence=0.9)
    noise = scale * rng.standard_normal((4000, task.vocab_size))
    added = 2 * noise @ (normal - distribution)
    beyond = float(np.mean(np.abs(added) > found.noise))
    # 4.2 standard errors of a share of 0.1; below, a bound 15 % too wide leaves P(|Z| > 1.9) = 0.057.
    assert 0.04 < beyond < 0.1 + 0.02
