"""Theorem 1: its constants and its normal shape; bound (13), its constants and the exponents behind it."""

import re
import tracemalloc

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from scipy.special import ndtri
from scipy.stats import norm

import theory
from theory import Mapping, Shift, Task


def roomy(keys, shifts, q):
    """A task with the given keys, moved up, and shifts; eight standard deviations of room on both sides."""
    room = int(8 * (np.var(keys) + q * np.var(shifts)) ** 0.5) + 2
    anchors = range(len(shifts))
    first = max(len(shifts), room - min(keys) - q * min(min(shifts), 0))
    moved = [first + k for k in keys]
    return Task(
        keys=moved,
        mappings=[Mapping(anchors, Shift(dict(zip(anchors, shifts, strict=True))))],
        n_anchors=q,
        length=q + 1,
        vocab_size=max(moved) + q * max(max(shifts), 0) + room,
    )


def unit_rate(task):
    """The learning rate with C1 = 1."""
    return task.length / theory.token_ratio(task, task.reasoning_anchors[0])


def both_embeddings(task):
    """The normal's rows and those of the label distributions, of all anchors at C1 = 1."""
    return [
        embedding(task, task.reasoning_anchors, learning_rate=unit_rate(task))
        for embedding in (theory.gaussian_embedding, theory.label_distribution_embedding)
    ]


def largest_difference(task):
    """The left side of (13) without noise, C1 = 1, over all pairs of anchors."""
    return float(np.abs(theory.inner_product_difference(*both_embeddings(task))).max())


def test_constants_of_the_papers_task(record_error):
    task = Task.paper()
    shape = theory.gaussian_shape(task, 15, learning_rate=2.0)
    assert pytest.approx(2.0 * 0.1 / 9, rel=1e-15) == shape.C1
    assert shape.mu == pytest.approx(15 + 70.5 + 15.5, rel=1e-15)
    assert pytest.approx(norm(scale=shape.sigma_P).pdf(0), rel=1e-14) == shape.C2
    distribution = norm(shape.mu, shape.sigma_P)
    assert shape.lost_mass == pytest.approx(distribution.cdf(-0.5) + distribution.sf(199.5), rel=1e-12)
    record_error("Theorem 1", abs(shape.sigma_P**2 / ((100**2 + 10**2 - 2) / 12) - 1), below=1e-14)


@given(
    st.lists(st.integers(0, 30), min_size=2, max_size=8, unique=True),
    st.lists(st.integers(-9, 9), min_size=1, max_size=5),
    st.integers(1, 5),
)
def test_constants_are_the_moments_of_the_label_distribution(keys, shifts, q):
    task = roomy(keys, shifts, q)
    for anchor in (0, len(shifts) - 1):
        shape, distribution = theory.gaussian_shape(task, anchor), theory.label_distribution(task, anchor)
        centred = np.arange(task.vocab_size) - shape.mu
        variance = distribution @ centred**2
        assert abs(distribution @ centred) < 1e-9
        assert shape.sigma_P**2 == pytest.approx(variance, rel=1e-10)
        assert shape.skewness == pytest.approx(distribution @ centred**3 / variance**1.5, abs=1e-9)
        assert shape.excess_kurtosis == pytest.approx(distribution @ centred**4 / variance**2 - 3, abs=1e-9)


@pytest.mark.parametrize("most", [0.01, 1e-6])
def test_the_vocabulary_that_a_refusal_asks_for_is_large_enough(most):
    options = {"keys": range(221, 321), "reasoning_anchors": range(11, 21), "n_anchors": 2, "length": 3}
    with pytest.raises(theory.InputError, match="vocab_size = 361") as refusal:
        theory.gaussian_shape(Task(vocab_size=361, **options), 11, max_lost_mass=most)
    last = int(re.search(r"hold \d+\.\.(\d+)", str(refusal.value))[1])
    theory.gaussian_shape(Task(vocab_size=last + 1, **options), 11, max_lost_mass=most)


def test_the_keys_that_a_refusal_asks_for_are_large_enough():
    options = {"reasoning_anchors": range(11, 21), "n_anchors": 2, "length": 3, "vocab_size": 2000}
    with pytest.raises(theory.InputError, match="raise the keys") as refusal:
        theory.gaussian_shape(Task(keys=range(30, 530), **options), 11)
    by = int(re.search(r"raise the keys by (\d+)", str(refusal.value))[1])
    theory.gaussian_shape(Task(keys=range(30 + by, 530 + by), **options), 11)


def test_label_law_embedding_is_a_step_along_the_printed_flow():
    task, rng = Task.paper(), np.random.default_rng(0)
    W_f, W_VO = 0.01 * rng.standard_normal((2, 200, 200))
    W = (W_f.T + np.eye(200)) @ (W_VO.T + np.eye(200))
    drive = theory.paper_transformer_drive(theory.expected_token_label_matrix(task), task.length, W_f, W_VO)
    rows = theory.label_distribution_embedding(task, [12, 18], learning_rate=0.5, W=W)
    np.testing.assert_allclose(rows, 0.5 * drive[[12, 18]], rtol=1e-10, atol=1e-16)


@pytest.mark.statistical
def test_noise_has_the_embeddings_scale():
    task = Task.paper()
    plain = theory.gaussian_embedding(task, range(11, 21))
    noisy = theory.gaussian_embedding(task, range(11, 21), init_rate=0.8, rng=np.random.default_rng(1))
    scaled = (noisy - plain) * 200**0.8
    # 2000 normal draws: standard errors of the mean and of the standard deviation, 3.9 of them.
    assert abs(scaled.mean()) < 3.9 / 2000**0.5
    assert abs(scaled.std() - 1) < 3.9 / 4000**0.5


def test_distribution_functions_differ_below_the_first_label_too():
    shifts = Mapping(range(1, 6), Shift({1: 0, 2: 0, 3: 0, 4: 1, 5: 1}))
    task = Task(keys=[0], mappings=[shifts], n_anchors=2, length=3, vocab_size=10)
    found = theory.normal_distance(task, 1, max_lost_mass=0.05).kolmogorov
    assert found == pytest.approx(norm(0.4, 0.24**0.5).cdf(-0.5))


def test_exponents_in_q_are_those_of_symmetric_summands(record_error):
    """Not Berry-Esseen's −1/2: the third cumulant vanishes, so the fourth rules, of relative size 1/q."""
    q = np.array([8, 16, 32, 64, 128])
    measured = []
    for n in q:
        task = roomy(range(10), range(10), int(n))
        distribution, shape = theory.label_distribution(task, 0), theory.gaussian_shape(task, 0)
        normal, d = norm(shape.mu, shape.sigma_P), theory.normal_distance(task, 0)
        missed = distribution - normal.pdf(np.arange(task.vocab_size))
        steps = np.cumsum(distribution) - normal.cdf(np.arange(task.vocab_size) + 0.5)
        expected = np.abs(steps).max(), np.abs(missed).sum() / 2, np.linalg.norm(missed)
        assert (d.kolmogorov, d.total_variation, d.l2) == pytest.approx(expected, rel=1e-9)
        measured.append((*expected, largest_difference(task)))
    for values, predicted in zip(np.array(measured).T, (-1, -1, -5 / 4, -3 / 2), strict=True):
        # The next Edgeworth terms are of relative order 1/q and bend the line by a few times 1/q at q = 8.
        assert theory.fit_exponent(q, values).value == pytest.approx(predicted, abs=0.03)
    record_error("eq. 13", abs(theory.fit_exponent(q, values).value + 1.5))


SKEWED = (5, 1, -2, -8)


def bound(task, **options):
    return theory.inner_product_bound(task, task.reasoning_anchors, learning_rate=unit_rate(task), **options)


def distance_bound(task):
    """What the noise term takes for ‖P − N‖: 2 z times it, at γ = 0 and C1 = 1."""
    n = len(task.reasoning_anchors)
    return bound(task, init_rate=0.0, confidence=0.99).noise / (-2 * ndtri(0.01 / (n * (n + 1))))


@settings(max_examples=50)
@given(
    st.lists(st.integers(0, 20), min_size=1, max_size=12, unique=True),
    st.lists(st.integers(-10, 10), min_size=1, max_size=6),
    st.integers(1, 12),
)
def test_no_pair_passes_the_bound_for_any_keys_and_shifts(keys, shifts, q):
    # The label of a single key and equal shifts does not vary, and has no normal.
    assume(len(keys) > 1 or (len(set(shifts)) > 1 and q > 1))
    task = roomy(keys, shifts, q)
    # A few hundred products of order 1/σ: rounding below 1e-14.
    assert largest_difference(task) <= bound(task).shape + 1e-14
    for anchor in task.reasoning_anchors:
        assert theory.normal_distance(task, anchor).l2 <= distance_bound(task) + 1e-14


@pytest.mark.parametrize("n_keys", [3, 6, 10])
def test_of_few_terms_the_bound_is_that_of_two_non_negative_numbers(n_keys):
    """They differ by no more than the larger; ‖P − N‖² is at most ‖P‖² + ‖N‖², here summed label by label."""
    task = roomy(range(n_keys), (0,), 1)
    shape, j = theory.gaussian_shape(task, 0), np.arange(task.vocab_size)
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
        assert theory.normal_distance(task, 0).l2 <= distance_bound(task)
    # The leading constants are those of the expansion; what is lost on top falls with q.
    assert found.shape < 2 * found.shape_leading
    assert found.noise < 2 * found.noise_leading
    assert largest_difference(task) == pytest.approx(found.shape_leading, rel=0.02)
    z_leading = found.noise_leading / found.noise * distance_bound(task)
    assert theory.normal_distance(task, 0).l2 == pytest.approx(z_leading, rel=0.03)


def test_the_bound_takes_little_memory_for_many_keys():
    task = Task(keys=range(2000, 5000), reasoning_anchors=[1, 2], n_anchors=1, length=2, vocab_size=7000)
    tracemalloc.start()
    theory.inner_product_bound(task, [1, 2])
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 2**22


@pytest.mark.statistical
def test_noise_term_holds_as_often_as_it_says_and_hardly_more_often():
    """One anchor and q = 256, where ‖P − N‖ is known to 10 %: the deviation is then exactly normal."""
    task, gamma, rng = roomy(range(10), (0, 1, 5), 256), 0.6, np.random.default_rng(5)
    normal, distribution = (rows[0] for rows in both_embeddings(task))
    rate = unit_rate(task)
    found = theory.inner_product_bound(task, [0], learning_rate=rate, init_rate=gamma, confidence=0.9)
    noise = task.vocab_size**-gamma * rng.standard_normal((4000, task.vocab_size))
    added = 2 * noise @ (normal - distribution)
    beyond = float(np.mean(np.abs(added) > found.noise))
    # 4.2 standard errors of a share of 0.1; below, a bound 15 % too wide leaves P(|Z| > 1.9) = 0.057.
    assert 0.04 < beyond < 0.1 + 0.02
