"""The coupled flow's singularity: closed form, bound, and detection as an event."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.integrate import quad

from tests.theory.flow_reference import parameters, relative, small_example
from theory import (
    EXACT,
    STABILISED,
    EmbMLPParameters,
    IntegrationError,
    blow_up_bound,
    coupled_flow,
    linearised_flow,
)

POPULATION = small_example().population
C = POPULATION.token_label_matrix()


def aligned(sizes: tuple[float, float, float]) -> EmbMLPParameters:
    """Weights along C's top singular pair, joined by unit vectors."""
    u, _, w = np.linalg.svd(C)
    rng = np.random.default_rng(0)
    p, q = (v / np.linalg.norm(v) for v in (rng.standard_normal(6), rng.standard_normal(9)))
    a, b, c = sizes
    return EmbMLPParameters(a * np.outer(u[:, 0], p), b * np.outer(p, q), c * np.outer(q, w[0]))


@pytest.mark.parametrize("sizes", [(0.3, 0.3, 0.3), (0.1, 0.4, 0.9), (0.0, 0.4, 0.2), (0.5, 0.5, 1e-3)])
def test_the_blow_up_of_aligned_weights_is_carlsons_integral(sizes, record_error):
    s = np.linalg.norm(C, 2)
    integral = quad(lambda x: 1 / np.sqrt(np.prod([x**2 + v**2 for v in sizes])) * x, 0, np.inf, limit=500)
    flow = coupled_flow(C, aligned(sizes), [1e6])
    # The event fires a millionth before the singularity and extrapolates the rest.
    assert flow.blow_up == pytest.approx(blow_up_bound(C, aligned(sizes)), rel=1e-6)
    record_error("rung 2", abs(flow.blow_up * s / integral[0] - 1), below=1e-6)


@settings(max_examples=15)
@given(st.integers(0, 10**6), st.floats(0.05, 2.0), st.floats(0.05, 2.0))
def test_no_weights_blow_up_before_the_bound(seed, first, second):
    initial = parameters(seed=seed)
    initial = EmbMLPParameters(first * initial.W_emb, second * initial.W1, initial.W2)
    bound = blow_up_bound(C, initial)
    flow = coupled_flow(C, initial, [0.0, 0.999 * bound, 1000 * bound])
    assert flow.blow_up is not None
    assert bound * (1 - 1e-6) <= flow.blow_up
    assert np.isfinite(flow.W_emb).all()


def test_near_the_blow_up_only_the_top_singular_pair_grows_and_later_times_are_dropped():
    initial = parameters()
    end = coupled_flow(C, initial, [1e9]).blow_up
    flow = coupled_flow(C, initial, [0.0, 0.9999 * end, 2 * end, 3 * end], keep=("B", "W2"))
    assert flow.times == pytest.approx([0.0, 0.9999 * end])
    assert len(flow["W2"]) == 2
    assert flow.blow_up == pytest.approx(end, rel=1e-6)
    u, s, w = np.linalg.svd(flow["B"][1])
    cu, _, cw = np.linalg.svd(C)
    assert s[1] / s[0] < 1e-3
    assert min(abs(u[:, 0] @ cu[:, 0]), abs(w[0] @ cw[0])) > 1 - 1e-3
    # The event fires a millionth before the end: here in the very step that reaches the last time.
    close = coupled_flow(C, initial, [end * (1 - 9.9e-7)])
    assert close.blow_up is None
    assert len(close.times) == 1
    # The linearised softmax stops the growth.
    tamed = linearised_flow(C, POPULATION.cooccurrence(), initial, [20 * end])
    assert np.linalg.norm(tamed.W_emb[0]) < 100


def test_nothing_blows_up_where_nothing_drives():
    assert blow_up_bound(np.zeros((20, 20)), parameters()) == np.inf
    only_one = aligned((0.5, 0.0, 0.0))
    assert blow_up_bound(C, only_one) == np.inf
    flow = coupled_flow(C, only_one, [0.0, 1e3])
    assert flow.blow_up is None
    assert np.array_equal(flow.W_emb[1], only_one.W_emb)


@pytest.mark.parametrize("size", [1e-200, 1e200])
def test_the_bound_is_as_many_times_later_at_any_size(size):
    assert blow_up_bound(C, parameters().scaled(size)) * size == pytest.approx(blow_up_bound(C, parameters()))


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("solver", [EXACT, STABILISED], ids=lambda solver: solver.method)
def test_a_start_whose_velocity_overflows_is_refused(solver):
    with pytest.raises(IntegrationError, match="smaller parameters"):
        coupled_flow(C, parameters().scaled(1e200), [1.0], solver=solver)
    with pytest.raises(IntegrationError, match="smaller parameters"):
        linearised_flow(C, POPULATION.cooccurrence(), parameters().scaled(1e110), [1.0], solver=solver)


def test_as_many_steps_as_it_takes_are_enough_and_one_less_is_not():
    n_steps = coupled_flow(C, parameters(), [1.0]).solver.n_steps
    enough = replace(EXACT, max_steps=n_steps)
    assert coupled_flow(C, parameters(), [1.0], solver=enough).solver.n_steps == n_steps
    with pytest.raises(IntegrationError, match="max_steps") as caught:
        coupled_flow(C, parameters(), [1.0], solver=replace(EXACT, max_steps=n_steps - 1))
    assert 0 < caught.value.time < 1.0


def test_a_smaller_start_goes_the_same_way_as_many_times_slower():
    """Tolerances are relative to the weights, or a start of 1e-6 would not be followed at all."""
    initial, size = parameters(), 1e-6
    times = coupled_flow(C, initial, [1e6]).blow_up * np.linspace(0, 0.9, 4)
    whole, small = coupled_flow(C, initial, times), coupled_flow(C, initial.scaled(size), times / size)
    assert relative(small.W_emb / size, whole.W_emb) < 1e-7
