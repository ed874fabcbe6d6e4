"""The four rungs against autograd and each other: gradients, losses, what is conserved; the staircase."""

from collections.abc import Callable
from functools import partial

import numpy as np
import pytest
import torch

import theory
from tests.theory.flow_reference import (
    ACTIVATIONS,
    BENT,
    TorchModel,
    followed,
    parameters,
    relative,
    slope,
    small_example,
)
from theory import EXACT, IDENTITY, TANH, EmbMLPParameters, Solver, Task, Trajectory, population_flow
from theory.flows.gradient import losses, population_field, scores, token_gradient

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


def test_linearised_is_the_gradient_flow_of_its_energy(record_error):
    initial = parameters()
    label, token = torch.tensor(C), torch.tensor(S)

    def velocity(now):
        weights = [torch.tensor(m, requires_grad=True) for m in now]
        B = weights[0] @ weights[1] @ weights[2]
        centred = B - B.mean(dim=1, keepdim=True)
        energy = -(label * B).sum() + (centred * (token @ centred)).sum() / (2 * len(B))
        return [-g.numpy() for g in torch.autograd.grad(energy, weights)]

    truth = followed(velocity, initial, 60.0)
    flow = theory.linearised_flow(C, S, initial, [60.0], solver=EXACT, keep=KEEP)
    for name, expected in zip(KEEP[:3], truth, strict=True):
        record_error("rung 3", relative(flow[name][0], expected), below=1e-7)


TINY = Task(keys=[3, 4, 5], reasoning_anchors=[1, 2], memory_anchors=[0], n_anchors=1, length=2, vocab_size=8)
N_TIMES = 601
GRID = 1.1 / (N_TIMES - 1)
"""Of the last escape: the step of the times at which the flow is recorded."""


@pytest.mark.parametrize(
    ("scale", "n_modes", "rtol"), [(6e-3, 3, 1e-5), pytest.param(6e-5, 4, 1e-8, marks=pytest.mark.slow)]
)
def test_the_staircase_is_the_flow_at_a_small_start(scale, n_modes, rtol, record_error):
    """A smaller start stays longer at its saddles, where errors grow."""
    population = theory.count_population(TINY)
    label, token = population.token_label_matrix(), population.cooccurrence()
    initial = parameters(8, d_m=5, d_f=6, scale=scale, seed=1)
    predicted = theory.saddle_staircase(label, token, initial, n_modes)
    times = np.linspace(0, 1.1 * predicted.times[-1], N_TIMES)
    flow = theory.linearised_flow(label, token, initial, times, solver=Solver(rtol=rtol, atol=rtol / 100))
    ratios = predicted.times / theory.measured_rank_steps(flow, theory.escape_threshold(initial), n_modes)
    record_error("staircase", float(np.abs(ratios - 1).max()))
    assert ratios == pytest.approx(np.ones(n_modes), abs=GRID)
    # Time passes at more than one saddle, in the reduced flow.
    assert predicted.slow_share > 0.3
    assert len(predicted.ranks) > 1


def test_nothing_escapes_without_a_drive_and_no_more_modes_than_there_are():
    still = theory.saddle_staircase(np.zeros((20, 20)), S, parameters(), 2)
    assert np.isinf(still.times).all()
    assert still.slow_share == 0
    one = np.outer(np.eye(6)[0], [1, -1, 0, 0, 0, 0]) / 4
    found = theory.saddle_staircase(one, np.eye(6), parameters(6, 3, 4, scale=1e-3), 2)
    assert np.isfinite(found.times[0])
    assert np.isinf(found.times[1])


def test_one_mode_of_a_drive_of_rank_one_is_predicted_exactly():
    rng = np.random.default_rng(0)
    u, w = (v / np.linalg.norm(v) for v in rng.standard_normal((2, 20)))
    initial, drive = parameters(), 0.07
    threshold = 3 * float(np.linalg.norm(u @ initial.W_emb))
    predicted = theory.escape_dose(initial, u, w, threshold) / drive
    full = theory.coupled_flow(drive * np.outer(u, w), initial, [predicted])
    # Interpolated over a hundredth of the way to the singularity: an error of about 1e-4.
    assert np.linalg.norm(u @ full.W_emb[0]) == pytest.approx(threshold, rel=1e-3)


@pytest.mark.parametrize("level", [0.3, 0.9, 1e4])
def test_the_dose_of_a_balanced_mode_is_the_hyperbolas(level):
    p, q = np.eye(6)[0], np.eye(9)[0]
    u, w, a = np.eye(20)[2], np.eye(20)[5], 0.2
    initial = EmbMLPParameters(a * np.outer(u, p), a * np.outer(p, q), a * np.outer(q, w))
    # 1/‖α‖ is straight for a balanced mode, so only the integrator's 1e-6 a step is left.
    for size in (1, 1e-200, 1e200):
        dose = theory.escape_dose(initial.scaled(size), u, w, level * size) * size
        assert dose == pytest.approx(1 / a - 1 / level, rel=1e-5)
    assert theory.escape_dose(initial, u, w, a) == 0.0
    still = EmbMLPParameters(a * np.outer(u, p), 0 * initial.W1, 0 * initial.W2)
    assert theory.escape_dose(still, u, w, level) == np.inf


GRADIENT_ROUNDING = 1e-12
"""Both sides sum some thousand float64 products; 1e-12 leaves four digits above their rounding."""


@pytest.mark.parametrize("activation", ACTIVATIONS, ids=lambda a: a.name)
@pytest.mark.parametrize("length", [3, 4])
def test_lemma_2_is_the_gradient_of_the_real_model(activation, length, record_error):
    example, initial = small_example(length), parameters()
    truth = TorchModel(initial, activation).descent(*example.training)
    ours = population_field(example.population, activation)(initial.matrices)
    embedding, *others = (relative(a, b) for a, b in zip(ours, truth, strict=True))
    record_error(("Lemma 2", "eq. 19"), embedding, below=GRADIENT_ROUNDING)
    assert max(others) < GRADIENT_ROUNDING


def test_labels_that_one_factor_rules_out_are_not_lost():
    """A key is sure of label 0 and its anchors of label 1: each of the others is e^100 times likelier.

    As products of a key's and the anchors' exponentials all of them would be zero.
    """
    example = small_example()
    keys, anchors = slice(5, 10), slice(1, 5)
    B = 0.1 * np.random.default_rng(0).standard_normal((20, 20))
    B[keys] -= 1000
    B[keys, :2] += [1000, -1000]
    B[anchors] -= 450
    B[anchors, :2] += [-550, 450]
    model = TorchModel(EmbMLPParameters(B, np.eye(20), np.eye(20)), IDENTITY)
    truth = model.descent(*example.training)[0]
    assert relative(token_gradient(example.population, B), truth) < GRADIENT_ROUNDING


@pytest.mark.parametrize("activation", ACTIVATIONS, ids=lambda a: a.name)
@pytest.mark.parametrize("scale", [0.3, 40.0])
def test_losses_and_accuracies_are_those_of_the_real_model(activation, scale):
    example = small_example()
    initial = parameters(scale=scale)
    of_scores = example.population, initial.matrices, activation
    measured, scored = losses(*of_scores), scores(*of_scores)
    model = TorchModel(initial, activation)
    memory = example.mapping == [m.name for m in example.task.mappings].index("memory")
    groups = {
        "training": example.trains,
        "memory": memory,
        "reasoning train": ~memory & example.trains,
        "reasoning test": ~example.trains,
    }
    for name, rows in groups.items():
        of_rows = example.sequences[rows], example.labels[rows]
        truth, right = model.loss(*of_rows).item(), model.logits(of_rows[0]).argmax(1).numpy() == of_rows[1]
        assert measured[name] == pytest.approx(truth, rel=1e-12)
        assert scored[name] == pytest.approx((truth, right.mean()), rel=1e-12)


@pytest.mark.parametrize("decay", [0.0, 0.05])
@pytest.mark.parametrize("activation", ACTIVATIONS, ids=lambda a: a.name)
def test_what_is_conserved_decays_twice_as_fast_as_the_weights(activation, decay):
    options = {"activation": activation, "weight_decay": decay, "solver": EXACT, "keep": KEEP}
    flow = population_flow(small_example().population, parameters(), [0.0, 20.0], **options)
    pairs = [("W_emb", "W1"), ("W1", "W2")]
    for first, second in pairs[: 1 + (activation is IDENTITY)]:
        before, after = (a.T @ a - b @ b.T for a, b in zip(flow[first], flow[second], strict=True))
        # Local tolerance 1e-9 over fewer than a thousand steps.
        assert relative(after, np.exp(-2 * decay * 20) * before) < 1e-6
