"""AdamW in continuous time: against its equations in SciPy, and AdamW's own steps as they get shorter."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from scipy.integrate import quad, solve_ivp

from tests.theory.flow_reference import parameters, relative, slope, small_example
from theory import IDENTITY, AdamSettings, IntegrationError, adam_steps, adaptive_flow
from theory.flows import adaptive
from theory.flows.adaptive import moment_memory
from theory.flows.gradient import token_gradient
from theory.flows.gradient_noise import GradientNoise
from theory.flows.ladder import product_field
from theory.integrate.trajectory import Matrices

pytestmark = pytest.mark.filterwarnings("ignore::theory.OutsideValidityWarning")
SETTINGS = AdamSettings(rate=1e-3, weight_decay=0.1)
BATCH = 14
KEEP = ("W_emb", "W1", "W2")


def by_scipy(population, initial, end):
    """Return θ after ``end`` steps of the flow, with its noise, from its three equations."""
    s, size = SETTINGS, sum(m.size for m in initial.matrices)
    field, noise = product_field(lambda B: token_gradient(population, B)), GradientNoise(population)

    def sources(vector):
        now = initial.matrices.unpack(vector)
        variance = noise.moments(now, IDENTITY).variance
        gradient = -field(now).packed()
        return gradient, gradient**2 + Matrices(*variance).packed() / BATCH

    def velocity(t, vector):
        weights, m, v = np.split(vector, [size, 2 * size])
        g, square = sources(weights)
        rates = [-np.log(beta) / (1 - beta**t) for beta in s.betas]
        moved = -s.rate * (m / (np.sqrt(v) + s.epsilon) + s.weight_decay * weights)
        return np.concatenate([moved, rates[0] * (g - m), rates[1] * (square - v)])

    start = initial.matrices.packed()
    began = 1e-2
    found = solve_ivp(
        velocity, (began, end), np.concatenate([start, *sources(start)]), method="LSODA", rtol=1e-5, atol=1e-8
    )
    return initial.matrices.unpack(found.y[:size, -1])


def test_the_flow_solves_its_equations(record_error):
    example, initial, end = small_example(), parameters(), 100
    truth = by_scipy(example.population, initial, end)
    options = {"batch_size": BATCH, "keep": KEEP, "noise_every": 1, "rtol": 1e-5}
    flow = adaptive_flow(example.population, initial, [end * SETTINGS.rate], SETTINGS, **options)
    for name, matrix, start in zip(KEEP, truth, initial.matrices, strict=True):
        # Var g is that of a stretch's start, here of one step's; 30 stretches have an error of 1e-5 each.
        record_error("Adam's flow", relative(flow[name][0] - start, matrix - start), below=3e-3)


def test_shorter_steps_with_longer_memories_approach_the_flow():
    example, initial, end = small_example(), parameters(), 0.1
    errors, numbers = [], [1, 2, 4]
    for n in numbers:
        short = replace(SETTINGS, rate=4e-3 / n, betas=(0.656 ** (1 / n), 0.996 ** (1 / n)))
        steps = adam_steps(example.population, initial, [25 * n], short)
        flow = adaptive_flow(example.population, initial, [end], short, rtol=1e-5)
        errors.append(relative(steps.W_emb[0] - initial.W_emb, flow.W_emb[0] - initial.W_emb))
    assert errors[0] < 1 / 25
    assert slope(numbers, errors) == pytest.approx(-1, abs=0.15)


def test_it_stops_at_a_time_in_units_of_the_trajectory(monkeypatch):
    monkeypatch.setattr(adaptive, "_MOST_STRETCHES", 3)
    with pytest.raises(IntegrationError, match="too many stretches") as caught:
        adaptive_flow(small_example().population, parameters(), [0.1], SETTINGS)
    assert 0 < caught.value.time < 0.1


@pytest.mark.parametrize("t", [1e-3, 3.0, 200.0, 1e4])
def test_a_moments_weight_over_a_stretch(t):
    beta, h = 0.9, 7.0
    truth, _ = quad(lambda s: beta**s * (1 - beta**t) / (1 - beta ** (t + s)), 0, h)
    assert moment_memory(beta, t, h) == pytest.approx(truth, rel=1e-6)
