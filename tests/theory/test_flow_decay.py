"""Weight decay on every rung: against autograd and an integrator of the tests' own, and what it conserves."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.integrate import solve_ivp

import theory
from tests.theory.flow_reference import TorchModel, parameters, relative, small_example
from theory import EXACT, IDENTITY, TANH, EmbMLPParameters
from theory.integrate.trajectory import Matrices

DECAY, END = 0.05, 6.0
ALL = ("W_emb", "W1", "W2")


def followed(velocity, initial):
    """Return the end of dθ/dt = velocity(θ) − λθ by SciPy's own driver."""

    def decayed(_, vector):
        weights = initial.matrices.unpack(vector)
        return np.concatenate(
            [(v - DECAY * w).ravel() for v, w in zip(velocity(weights), weights, strict=True)]
        )

    start = initial.matrices.packed()
    return initial.matrices.unpack(
        solve_ivp(decayed, (0, END), start, "LSODA", rtol=1e-9, atol=1e-11).y[:, -1]
    )


@pytest.mark.parametrize("activation", [IDENTITY, TANH], ids=lambda a: a.name)
def test_the_exact_flow_against_autograd(activation, record_error):
    example, initial = small_example(), parameters(scale=0.4)

    def velocity(weights):
        return TorchModel(EmbMLPParameters(*weights), activation).descent(*example.training)

    truth = followed(velocity, initial)
    options = {"activation": activation, "weight_decay": DECAY, "keep": ALL}
    flow = theory.population_flow(example.population, initial, [END], solver=EXACT, **options)
    for name, matrix in zip(ALL, truth, strict=True):
        record_error("weight decay", relative(flow[name][0], matrix), below=1e-6)
    plain = theory.population_flow(example.population, initial, [END], solver=EXACT, activation=activation)
    assert relative(plain.W_emb[0], truth[0]) > 0.1


@pytest.mark.parametrize("decay", [0.0, 1e-12, 0.05, 3.0])
def test_the_frozen_flow_solves_its_equation(decay):
    initial, C = parameters(), small_example().population.token_label_matrix()
    times = np.linspace(0.0, 4.0, 41)
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
    rng, example = np.random.default_rng(1), small_example()
    C = example.population.token_label_matrix()
    u, s, w = np.linalg.svd(C)
    column, row = rng.standard_normal(6), rng.standard_normal(9)
    along = Matrices(np.outer(u[:, 0], column), np.outer(column, row), np.outer(row, w[0]))
    initial = EmbMLPParameters(*(m / np.linalg.norm(m) for m in along))
    T = theory.blow_up_bound(C, initial)
    assert pytest.approx(1 / s[0]) == T
    for decay in (0.5 / T, 0.9 / T):
        bound = theory.blow_up_bound(C, initial, weight_decay=decay)
        assert bound == pytest.approx(-np.log(1 - decay * T) / decay)
        end = theory.coupled_flow(C, initial, [10 * T], weight_decay=decay).blow_up
        assert end is not None
        record_error("blow-up under decay", abs(end / bound - 1))
        assert end == pytest.approx(bound, rel=1e-5)
    assert theory.blow_up_bound(C, initial, weight_decay=1 / T) == np.inf
    tamed = theory.coupled_flow(C, initial, [10 * T], weight_decay=1.1 / T)
    assert tamed.blow_up is None
    # From 1/λ = T/1.1 on, the flow without decay stands still at 11 times its start.
    assert np.linalg.norm(tamed.W_emb[0]) == pytest.approx(11 * np.exp(-11), rel=0.01)


def test_decay_changes_the_clock_and_the_scale_of_the_coupled_flow_alone(record_error):
    initial, C = parameters(), small_example().population.token_label_matrix()
    end = 0.8 * theory.blow_up_bound(C, initial)
    clock = (1 - np.exp(-DECAY * end)) / DECAY
    decayed = theory.coupled_flow(C, initial, [end], weight_decay=DECAY, keep=ALL)
    plain = theory.coupled_flow(C, initial, [clock], keep=ALL)
    for name in ALL:
        error = relative(decayed[name][0], np.exp(-DECAY * end) * plain[name][0])
        # Local tolerance 1e-9 over some hundred steps.
        record_error("clock under decay", error, below=1e-7)


def test_what_was_conserved_decays_twice_as_fast_as_the_weights():
    example, initial = small_example(), parameters()
    flow = theory.population_flow(
        example.population, initial, [0.0, 10.0], solver=EXACT, weight_decay=DECAY, keep=ALL
    )
    balances = [flow["W_emb"][k].T @ flow["W_emb"][k] - flow["W1"][k] @ flow["W1"][k].T for k in range(2)]
    assert relative(balances[1], np.exp(-2 * DECAY * 10) * balances[0]) < 1e-6
    assert set(flow.invariants) == {"W_embᵀW_emb − W1W1ᵀ", "W1ᵀW1 − W2W2ᵀ"}
    for drift in flow.invariants.values():
        assert drift[1] < 1e-6
