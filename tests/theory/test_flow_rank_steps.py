"""Escape times: exact for one mode, measured against the population flow for the paper's task."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import minimize

from tests.theory.flow_reference import parameters, relative, small_example
from theory import (
    EmbMLPParameters,
    InputError,
    Task,
    Trajectory,
    blow_up_bound,
    count_population,
    coupled_flow,
    draw_tables,
    escape_dose,
    escape_threshold,
    linearised_flow,
    measured_rank_steps,
    plateau_residual,
    population_flow,
    rank_steps_from_labels,
)

POPULATION = small_example().population
C, S = POPULATION.token_label_matrix(), POPULATION.cooccurrence()


def test_one_mode_of_a_drive_of_rank_one_is_predicted_exactly():
    rng = np.random.default_rng(0)
    u, w = (v / np.linalg.norm(v) for v in rng.standard_normal((2, 20)))
    initial, drive = parameters(), 0.07
    threshold = 3 * float(np.linalg.norm(u @ initial.W_emb))
    predicted = escape_dose(initial, u, w, threshold) / drive
    full = coupled_flow(drive * np.outer(u, w), initial, [predicted])
    # Interpolated over a hundredth of the way to the singularity: an error of about 1e-4.
    assert np.linalg.norm(u @ full.W_emb[0]) == pytest.approx(threshold, rel=1e-3)


@pytest.mark.parametrize("level", [0.3, 0.9, 1e4])
def test_the_dose_of_a_balanced_mode_is_the_hyperbolas(level):
    p, q = np.eye(6)[0], np.eye(9)[0]
    u, w, a = np.eye(20)[2], np.eye(20)[5], 0.2
    initial = EmbMLPParameters(a * np.outer(u, p), a * np.outer(p, q), a * np.outer(q, w))
    dose = escape_dose(initial, u, w, level)
    # 1/‖α‖ is straight for a balanced mode, so only the integrator's 1e-6 a step is left.
    assert dose == pytest.approx(1 / a - 1 / level, rel=1e-5)
    assert escape_dose(initial, u, w, a) == 0.0
    still = EmbMLPParameters(a * np.outer(u, p), 0 * initial.W1, 0 * initial.W2)
    assert escape_dose(still, u, w, level) == np.inf


def test_a_smaller_start_escapes_later_in_proportion():
    initial = parameters()
    whole = rank_steps_from_labels(C, initial, 2)
    small = rank_steps_from_labels(C, initial.scaled(0.01), 2)
    # The threshold shrinks with the embedding, so that the flow is the same except for its clock.
    assert small.times == pytest.approx(100 * whole.times, rel=1e-6)


@pytest.mark.slow
def test_the_spectrum_of_C_predicts_the_rank_steps_of_the_papers_task():
    """With one drawn table and a narrower network, through the first three steps."""
    task = Task.paper(length=3)
    population = count_population(task, draw_tables(task, np.random.default_rng(1)))
    initial = EmbMLPParameters.draw(200, d_m=40, d_f=80, init_rate=0.9, rng=np.random.default_rng(0))
    predicted = rank_steps_from_labels(population.token_label_matrix(), initial, 3).times
    flow = population_flow(population, initial, np.linspace(0, 1.15 * predicted[2], 161))
    # Ten per cent was written down before this run: a mode ignores every other one, and its noise.
    assert measured_rank_steps(flow, escape_threshold(initial), 3) == pytest.approx(predicted, rel=0.1)


@pytest.mark.parametrize(("scale", "fourth"), [(6e-2, 0.752), (6e-3, 0.829), (6e-5, 0.744)])
def test_on_another_task_the_fourth_step_comes_too_early_at_every_scale(scale, fourth):
    """The record behind the docstring and docs/theory/flows.md: a smaller start does not help."""
    initial = parameters(d_m=12, d_f=20, scale=scale, seed=1)
    predicted = np.sort(rank_steps_from_labels(C, initial, 4).times)
    flow = linearised_flow(C, S, initial, np.linspace(0, 1.5 * predicted[3], 201))
    ratios = predicted / measured_rank_steps(flow, escape_threshold(initial), 4)
    assert ratios[0] == pytest.approx(1, abs=0.03)
    # The integrator's own error is below 0.002 (1e-8 against 1e-4); a grid step is 0.75 % of the span.
    assert ratios[3] == pytest.approx(fourth, abs=0.01)


def test_the_fits_before_a_mode_do_not_change_its_drive():
    """Why no staircase follows from the residuals: mode k is driven at its rate from the start."""
    for k in (1, 2, 3):
        u, s, w = np.linalg.svd(plateau_residual(C, S, k))
        rates = [u[:, 0] @ plateau_residual(C, S, j) @ w[0] for j in range(k + 1)]
        assert rates == pytest.approx([s[0]] * (k + 1), rel=1e-10)


@pytest.mark.parametrize("rank", [0, 1, 2, pytest.param(5, marks=pytest.mark.long)])
def test_the_plateau_is_the_best_fit_of_its_rank(rank):
    """Against a numerical minimum of the linearised loss over factors of that rank."""
    residual = plateau_residual(C, S, rank)
    if rank == 0:
        assert relative(residual, C) < 1e-12
        return
    rng = np.random.default_rng(rank)

    def loss(x):
        left, right = x[: 20 * rank].reshape(20, rank), x[20 * rank :].reshape(rank, 20)
        fit = left @ right
        fit = fit - fit.mean(axis=1, keepdims=True)
        left_gradient = S @ fit - C
        value = float(np.sum(fit * (0.5 * S @ fit - C)))
        return value, np.concatenate([(left_gradient @ right.T).ravel(), (left.T @ left_gradient).ravel()])

    # Some directions are flat, so the minimum is compared in what it leaves, not in its factors.
    best = min(
        (
            minimize(loss, rng.standard_normal(40 * rank), jac=True, method="L-BFGS-B", options=options)
            for options in [{"maxiter": 20_000, "maxfun": 20_000, "ftol": 1e-15, "gtol": 1e-10}] * 3
        ),
        key=lambda r: r.fun,
    )
    left, right = best.x[: 20 * rank].reshape(20, rank), best.x[20 * rank :].reshape(rank, 20)
    fit = left @ right
    # Quasi-Newton steps stop at a gradient of some 1e-6 here, and C has norm 0.3.
    assert np.abs(C - S @ (fit - fit.mean(axis=1, keepdims=True)) - residual).max() < 1e-4


def test_all_ranks_leave_nothing():
    assert np.abs(plateau_residual(C, S, 20)).max() < 1e-13


def test_measured_steps_are_read_between_the_times():
    values = np.exp(np.array([0.0, 1.0, 2.0]))
    W = np.zeros((3, 2, 2))
    W[:, 0, 0] = values
    steps = measured_rank_steps(Trajectory(np.array([0.0, 10.0, 20.0]), {"W_emb": W}), np.exp(1.5), 2)
    assert steps[0] == pytest.approx(15.0)
    assert steps[1] == np.inf
    assert measured_rank_steps(Trajectory(np.zeros(3), {"W_emb": W}), 0.5, 1)[0] == 0.0


@pytest.mark.parametrize(("n_modes", "threshold"), [(0, 1.0), (7, 1.0), (1, 0.0), (1, float("nan"))])
def test_impossible_requests_are_refused(n_modes, threshold):
    with pytest.raises(InputError):
        rank_steps_from_labels(C, parameters(), n_modes, threshold=threshold)


def test_a_start_at_zero_and_a_mode_without_a_drive_have_times():
    """Finite where something drives the mode, infinite where nothing does, never NaN."""
    rng = np.random.default_rng(0)
    W1, W2 = 0.1 * rng.standard_normal((4, 6)), 0.1 * rng.standard_normal((6, 20))
    C_small = np.diag([3.0, 2.0, 1.0, *[0.0] * 17])
    start = EmbMLPParameters(np.zeros((20, 4)), W1, W2)
    steps = rank_steps_from_labels(C_small, start, 3, threshold=1e-4)
    assert (np.isfinite(steps.times) & (steps.times > 0)).all()
    one = np.outer(np.eye(20)[0], np.eye(20)[1])
    beyond = rank_steps_from_labels(one, EmbMLPParameters(np.ones((20, 4)), W1, W2), 3, threshold=1e-3)
    assert beyond.times.tolist() == [0.0, np.inf, np.inf]


def test_nothing_escapes_without_a_drive():
    steps = rank_steps_from_labels(np.zeros((20, 20)), parameters(), 2)
    assert np.isinf(steps.times).all()
    assert np.isinf(blow_up_bound(np.zeros((20, 20)), parameters()))
