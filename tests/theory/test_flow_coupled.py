"""The coupled flow's singularity: closed form, bound, detection as an event; weight decay on every rung."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.integrate import quad

import theory
from tests.theory.flow_reference import TorchModel, followed, parameters, relative, small_example
from theory import EXACT, IDENTITY, TANH, EmbMLPParameters, IntegrationError, blow_up_bound, coupled_flow

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
    none = coupled_flow(C, initial, [2 * end], keep=("W_emb", "B"))
    assert (none.W_emb.shape, none["B"].shape) == ((0, 20, 6), (0, 20, 20))
    assert str(none).startswith("0 times")
    assert np.isinf(theory.measured_rank_steps(none, 1.0, 2)).all()
    assert flow.blow_up == pytest.approx(end, rel=1e-6)
    u, s, w = np.linalg.svd(flow["B"][1])
    cu, _, cw = np.linalg.svd(C)
    assert s[1] / s[0] < 1e-3
    assert min(abs(u[:, 0] @ cu[:, 0]), abs(w[0] @ cw[0])) > 1 - 1e-3
    # The event fires a millionth before the end; what is asked for before the end is followed nevertheless.
    close = coupled_flow(C, initial, [end * (1 - 9.9e-7), end * (1 - 1e-8)])
    assert close.blow_up is None
    assert len(close.times) == 2
    # The linearised softmax stops the growth.
    tamed = theory.linearised_flow(C, POPULATION.cooccurrence(), initial, [20 * end])
    assert np.linalg.norm(tamed.W_emb[0]) < 100


def test_nothing_blows_up_where_nothing_drives():
    assert blow_up_bound(np.zeros((20, 20)), parameters()) == np.inf
    only_one = aligned((0.5, 0.0, 0.0))
    assert blow_up_bound(C, only_one) == np.inf
    flow = coupled_flow(C, only_one, [0.0, 1e3])
    assert flow.blow_up is None
    assert np.array_equal(flow.W_emb[1], only_one.W_emb)


@pytest.mark.parametrize("size", [1e-200, 1e200])
def test_the_bound_is_inversely_proportional_to_the_size_of_the_weights(size):
    assert blow_up_bound(C, parameters().scaled(size)) * size == pytest.approx(blow_up_bound(C, parameters()))


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("solver", [EXACT, theory.STABILISED], ids=lambda solver: solver.method)
def test_a_start_whose_velocity_overflows_is_refused(solver):
    with pytest.raises(IntegrationError, match="smaller parameters"):
        coupled_flow(C, parameters().scaled(1e200), [1.0], solver=solver)
    with pytest.raises(IntegrationError, match="smaller parameters"):
        theory.linearised_flow(C, POPULATION.cooccurrence(), parameters().scaled(1e110), [1.0], solver=solver)


def test_as_many_steps_as_it_takes_are_enough_and_one_fewer_is_not():
    n_steps = coupled_flow(C, parameters(), [1.0]).solver.n_steps
    enough = replace(EXACT, max_steps=n_steps)
    assert coupled_flow(C, parameters(), [1.0], solver=enough).solver.n_steps == n_steps
    with pytest.raises(IntegrationError, match="max_steps") as caught:
        coupled_flow(C, parameters(), [1.0], solver=replace(EXACT, max_steps=n_steps - 1))
    assert 0 < caught.value.time < 1.0


@pytest.mark.parametrize("size", [1e-6, 1e-120])
def test_a_start_smaller_by_a_factor_goes_the_same_way_slower_by_that_factor(size):
    """Tolerances are relative to the weights, or such a start would not be followed at all."""
    times = coupled_flow(C, parameters(), [1e6]).blow_up * np.array([0, 0.3, 0.6, 0.9, 1.1])
    whole, small = (coupled_flow(C, parameters().scaled(scale), times / scale) for scale in (1, size))
    assert small.blow_up * size == pytest.approx(whole.blow_up, rel=1e-6)
    assert relative(small.W_emb / size, whole.W_emb) < 1e-7


DECAY, END = 0.05, 6.0
ALL = ("W_emb", "W1", "W2")


@pytest.mark.parametrize("activation", [IDENTITY, TANH], ids=lambda a: a.name)
def test_the_exact_flow_against_autograd(activation, record_error):
    example, initial = small_example(), parameters(scale=0.4)

    def velocity(weights):
        descent = TorchModel(EmbMLPParameters(*weights), activation).descent(*example.training)
        return [v - DECAY * w for v, w in zip(descent, weights, strict=True)]

    truth = followed(velocity, initial, END)
    options = {"activation": activation, "weight_decay": DECAY, "keep": ALL}
    flow = theory.population_flow(example.population, initial, [END], solver=EXACT, **options)
    for name, matrix in zip(ALL, truth, strict=True):
        record_error("weight decay", relative(flow[name][0], matrix), below=1e-6)
    plain = theory.population_flow(example.population, initial, [END], solver=EXACT, activation=activation)
    assert relative(plain.W_emb[0], truth[0]) > 0.1


@pytest.mark.parametrize("decay", [0.0, 1e-12, 0.05, 3.0])
def test_the_frozen_flow_solves_its_equation(decay):
    initial, times = parameters(), np.linspace(0.0, 4.0, 41)
    W = theory.frozen_flow(C, initial, times, weight_decay=decay).W_emb
    # Simpson's rule: the velocity along the closed form adds up to its displacement.
    velocity = C @ initial.W2.T @ initial.W1.T - decay * W
    weights = np.tile([2.0, 4.0], 20)
    total = (np.tensordot(weights, velocity[:-1], axes=1) - velocity[0] + velocity[-1]) * 0.1 / 3
    error = relative(W[-1] - W[0], total)
    # (0.1 λ)⁴/180 per unit of time.
    assert error < 1e-4
    assert (W[0] == initial.W_emb).all()


def test_the_blow_up_comes_later_and_from_some_decay_on_never(record_error):
    initial = aligned((1.0, 1.0, 1.0))
    T = blow_up_bound(C, initial)
    assert pytest.approx(1 / np.linalg.norm(C, 2)) == T
    for decay in (0.5 / T, 0.9 / T):
        bound = blow_up_bound(C, initial, weight_decay=decay)
        assert bound == pytest.approx(-np.log(1 - decay * T) / decay)
        end = coupled_flow(C, initial, [10 * T], weight_decay=decay).blow_up
        assert end is not None
        record_error("blow-up under decay", abs(end / bound - 1), below=1e-7)
    assert blow_up_bound(C, initial, weight_decay=1 / T) == np.inf
    tamed = coupled_flow(C, initial, [10 * T], weight_decay=1.1 / T)
    assert tamed.blow_up is None
    # From 1/λ = T/1.1 on, the flow without decay stands still at 11 times its start.
    assert np.linalg.norm(tamed.W_emb[0]) == pytest.approx(11 * np.exp(-11), rel=0.01)


@pytest.mark.parametrize("solver", [theory.STABILISED, EXACT], ids=lambda s: s.method)
def test_weights_that_decay_keep_their_accuracy(solver):
    initial, nothing = parameters(), np.zeros((20, 20))
    times = np.array([5.0, 15.0, 25.0]) / DECAY
    found = theory.linearised_flow(nothing, nothing, initial, times, weight_decay=DECAY, solver=solver).W_emb
    assert found * np.exp(DECAY * times)[:, None, None] == pytest.approx(
        np.array([initial.W_emb] * 3), rel=0.05
    )


def test_decay_changes_the_clock_and_the_scale_of_the_coupled_flow_alone(record_error):
    initial = parameters()
    end = 0.8 * blow_up_bound(C, initial)
    clock = (1 - np.exp(-DECAY * end)) / DECAY
    decayed = coupled_flow(C, initial, [end], weight_decay=DECAY, keep=ALL)
    plain = coupled_flow(C, initial, [clock], keep=ALL)
    for name in ALL:
        error = relative(decayed[name][0], np.exp(-DECAY * end) * plain[name][0])
        # Local tolerance 1e-9 over some hundred steps.
        record_error("clock under decay", error, below=1e-7)
