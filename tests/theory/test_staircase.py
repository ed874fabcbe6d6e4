"""The staircase of rung 3 against the flow itself; one mode's dose, and steps read off a trajectory."""

from __future__ import annotations

import numpy as np
import pytest

import theory
from tests.theory.flow_reference import parameters, small_example
from theory import EmbMLPParameters, Solver, Task, Trajectory

POPULATION = small_example().population
C, S = POPULATION.token_label_matrix(), POPULATION.cooccurrence()
START = parameters(d_m=6, d_f=8, scale=1.0, seed=1)
TINY = Task(keys=[3, 4, 5], reasoning_anchors=[1, 2], memory_anchors=[0], n_anchors=1, length=2, vocab_size=8)
N_TIMES = 601
GRID = 1.1 / (N_TIMES - 1)
"""Of the last escape: the step of the times at which the flow is recorded."""


def measured(initial: EmbMLPParameters, n_modes: int, end: float, label=C, token=S) -> np.ndarray:
    solver = Solver(rtol=1e-5, atol=1e-6)
    flow = theory.linearised_flow(label, token, initial, np.linspace(0, end, N_TIMES), solver=solver)
    return theory.measured_rank_steps(flow, theory.escape_threshold(initial), n_modes)


@pytest.mark.parametrize(("scale", "n_modes"), [(6e-3, 3), pytest.param(6e-5, 4, marks=pytest.mark.long)])
def test_the_staircase_is_the_flow_at_a_small_start(scale, n_modes, record_error):
    population = theory.count_population(TINY)
    label, token = population.token_label_matrix(), population.cooccurrence()
    initial = parameters(8, d_m=5, d_f=6, scale=scale, seed=1)
    predicted = theory.saddle_staircase(label, token, initial, n_modes)
    ratios = predicted.times / measured(initial, n_modes, 1.1 * predicted.times[-1], label, token)
    record_error("staircase", float(np.abs(ratios - 1).max()))
    assert ratios == pytest.approx(np.ones(n_modes), abs=GRID)
    # Time passes at more than one saddle, in the reduced flow.
    assert predicted.slow_share > 0.3
    assert len(predicted.ranks) > 1


def test_nothing_escapes_without_a_drive_and_no_more_modes_than_there_are():
    still = theory.saddle_staircase(np.zeros((20, 20)), S, START, 2)
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
    assert theory.escape_dose(initial, u, w, level) == pytest.approx(1 / a - 1 / level, rel=1e-5)
    assert theory.escape_dose(initial, u, w, a) == 0.0
    still = EmbMLPParameters(a * np.outer(u, p), 0 * initial.W1, 0 * initial.W2)
    assert theory.escape_dose(still, u, w, level) == np.inf


def test_measured_steps_are_read_between_the_times():
    W = np.zeros((3, 2, 2))
    W[:, 0, 0] = np.exp(np.array([0.0, 1.0, 2.0]))
    steps = theory.measured_rank_steps(Trajectory(np.array([0.0, 10.0, 20.0]), {"W_emb": W}), np.exp(1.5), 2)
    assert steps.tolist() == [pytest.approx(15.0), np.inf]
    assert theory.measured_rank_steps(Trajectory(np.zeros(3), {"W_emb": W}), 0.5, 1)[0] == 0.0
