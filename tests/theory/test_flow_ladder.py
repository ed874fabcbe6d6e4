"""The four rungs against each other: the start, early times, small scales, and autograd of their energies."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import numpy as np
import pytest
import torch
from scipy.integrate import solve_ivp

import theory
from tests.theory.flow_reference import (
    ACTIVATIONS,
    BENT,
    TorchModel,
    parameters,
    relative,
    slope,
    small_example,
)
from theory import EXACT, TANH, EmbMLPParameters, Trajectory

POPULATION = small_example().population
C, S = POPULATION.token_label_matrix(), POPULATION.cooccurrence()
KEEP = ("W_emb", "W1", "W2", "B")


FLOWS: dict[str, Callable[..., Trajectory]] = {
    "frozen": partial(theory.frozen_flow, C),
    "coupled": partial(theory.coupled_flow, C, solver=EXACT),
    "linearised": partial(theory.linearised_flow, C, S, solver=EXACT),
    "population": partial(theory.population_flow, POPULATION, solver=EXACT),
    "tanh": partial(theory.population_flow, POPULATION, solver=EXACT, activation=TANH),
}


@pytest.mark.parametrize("rung", FLOWS)
def test_at_time_zero_nothing_has_moved(rung):
    initial = parameters()
    trajectory = FLOWS[rung](initial, [0.0, 0.0], keep=KEEP)
    for name in ("W_emb", "W1", "W2"):
        assert np.array_equal(trajectory[name][1], getattr(initial, name))
    assert np.array_equal(trajectory["B"][0], initial.W_emb @ initial.W1 @ initial.W2)
    assert trajectory.solver.n_evaluations == 0


@pytest.mark.parametrize("rung", FLOWS)
def test_every_rung_leaves_along_eq_5_as_the_scale_vanishes(rung, record_error):
    initial = parameters(scale=1e-3)
    t = 1e-3
    moved = FLOWS[rung](initial, [t]).W_emb[0] - initial.W_emb
    # t times the other matrices' relative speed (1e-6 here), the softmax's ε³ = 1e-9, and rounding:
    # a move of 1e-3·1e-6·0.02 read off weights of 1e-3 keeps five digits.
    record_error("eq. 5", relative(moved / t, theory.frozen_direction(C, initial)), below=1e-4)


@pytest.mark.parametrize("activation", ACTIVATIONS, ids=lambda a: a.name)
def test_the_error_of_proposition_1_is_cubic_or_where_the_activation_bends_square(activation, record_error):
    example, scales, errors = small_example(), [0.001, 0.005, 0.0075, 0.01125], []
    for eps in scales:
        weights = parameters(scale=1.0).scaled(eps)
        truth = TorchModel(weights, activation).descent(*example.training)[0]
        errors.append(relative(theory.frozen_direction(C, weights), truth))
    # One further power of a scale near 0.01 with a coefficient up to ten tilts the slope by < 0.1.
    assert slope(scales[1:], errors[1:]) == pytest.approx(2 if activation is BENT else 3, abs=0.1)
    if activation is BENT:
        record_error("eq. 5, σ''(0) ≠ 0", errors[1])
        return
    # ε³ = 1e-9 times the size of B/ε³ over d, which is of order ten for these widths.
    record_error(("Prop. 1", "eq. 4"), errors[0], below=1e-7)


@pytest.mark.parametrize("rung", ["linearised", "population", "tanh"])
def test_the_softmax_rungs_approach_the_coupled_one_with_the_cube_of_the_scale(rung):
    whole = parameters(scale=1.0)
    dose = 0.5 * theory.blow_up_bound(C, whole)
    scales = [0.04, 0.08, 0.16]
    errors = []
    for eps in scales:
        initial = whole.scaled(eps)
        pair = [FLOWS[r](initial, [dose / eps]).W_emb - initial.W_emb for r in (rung, "coupled")]
        errors.append(relative(*pair))
    # Logits are cubic in the scale; σ' adds ε⁴ for tanh, which at ε ≤ 0.16 tilts the slope by < 0.2.
    assert slope(scales, errors) == pytest.approx(3.0, abs=0.2)


def by_autograd(energy, initial: EmbMLPParameters, time: float) -> list[np.ndarray]:
    """Follow minus the gradient of energy(B) with SciPy's own driver and torch's derivatives."""

    def velocity(_, y):
        weights = [torch.tensor(m, requires_grad=True) for m in initial.matrices.unpack(y)]
        value = energy(weights[0] @ weights[1] @ weights[2])
        return -np.concatenate([g.numpy().ravel() for g in torch.autograd.grad(value, weights)])

    start = initial.matrices.packed()
    end = solve_ivp(velocity, (0.0, time), start, method="LSODA", rtol=1e-10, atol=1e-12)
    return list(initial.matrices.unpack(end.y[:, -1]))


def test_linearised_is_the_gradient_flow_of_its_energy(record_error):
    initial = parameters()
    label, token = torch.tensor(C), torch.tensor(S)

    def energy(B):
        centred = B - B.mean(dim=1, keepdim=True)
        return -(label * B).sum() + (centred * (token @ centred)).sum() / (2 * len(B))

    truth = by_autograd(energy, initial, 60.0)
    flow = theory.linearised_flow(C, S, initial, [60.0], solver=EXACT, keep=KEEP)
    for name, expected in zip(KEEP, truth, strict=False):
        record_error("rung 3", relative(flow[name][0], expected), below=1e-7)


@pytest.mark.parametrize("rung", list(FLOWS)[:4])
def test_losses_along_any_rung_start_at_the_true_loss(rung):
    initial = parameters()
    options = {} if rung == "population" else {"population": POPULATION}
    flow = FLOWS[rung](initial, [0.0, 1.0], **options)
    true = theory.population_flow(POPULATION, initial, [0.0]).losses
    assert {name: values[0] for name, values in flow.losses.items()} == pytest.approx(
        {name: values[0] for name, values in true.items()}
    )
