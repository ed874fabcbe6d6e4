"""Escapes of the embedding's modes: the dose of one mode, and steps read off a trajectory."""

from __future__ import annotations

import numpy as np
import pytest

from tests.theory.flow_reference import parameters
from theory import EmbMLPParameters, Trajectory, coupled_flow, escape_dose, measured_rank_steps


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
    # 1/‖α‖ is straight for a balanced mode, so only the integrator's 1e-6 a step is left.
    assert escape_dose(initial, u, w, level) == pytest.approx(1 / a - 1 / level, rel=1e-5)
    assert escape_dose(initial, u, w, a) == 0.0
    still = EmbMLPParameters(a * np.outer(u, p), 0 * initial.W1, 0 * initial.W2)
    assert escape_dose(still, u, w, level) == np.inf


def test_measured_steps_are_read_between_the_times():
    W = np.zeros((3, 2, 2))
    W[:, 0, 0] = np.exp(np.array([0.0, 1.0, 2.0]))
    steps = measured_rank_steps(Trajectory(np.array([0.0, 10.0, 20.0]), {"W_emb": W}), np.exp(1.5), 2)
    assert steps.tolist() == [pytest.approx(15.0), np.inf]
    assert measured_rank_steps(Trajectory(np.zeros(3), {"W_emb": W}), 0.5, 1)[0] == 0.0
