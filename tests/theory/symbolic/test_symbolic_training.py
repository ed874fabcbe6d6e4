"""The derivations about training, as functions: against the numeric modules, draws and finite steps."""

from __future__ import annotations

import numpy as np
import pytest

from tests.theory.flow_reference import parameters, relative, small_example
from theory import AdamSettings, blow_up_bound, coupled_flow, sgd_moments
from theory.arrays import FloatArray
from theory.flows.adaptive import _share
from theory.flows.batch_noise import Batching, Scatter
from theory.flows.coupled import product_field
from theory.flows.parameters import Matrices
from theory.flows.stacked_fields import StackedFields
from theory.integrate.adam import AdamW
from theory.symbolic import find_derivation

DECAY = 0.05


def test_the_noise_of_batches() -> None:
    variance, epoch = (find_derivation(f"{name} variance").function() for name in ("batch", "epoch"))
    assert Batching(14, 350).factor == pytest.approx(variance(1.0, 14, 350), rel=1e-14)
    spreads = np.array([[0.3, 0.7, 0.2, 0.9, 0.4]])
    scatter = Scatter((1,), 7)
    for spread in spreads[0]:
        scatter.add(np.array([spread]))
    assert scatter.variance == pytest.approx(epoch(spreads, 1.0, 7, 5)[0], rel=1e-14)


def test_weight_decay_on_the_coupled_flow() -> None:
    clock, later = (find_derivation(f"decay {name}").function() for name in ("clock", "blow up"))
    C, initial = small_example().population.token_label_matrix(), parameters()
    end = 0.8 * blow_up_bound(C, initial)
    decayed = coupled_flow(C, initial, [end], weight_decay=DECAY).W_emb[0]
    plain = coupled_flow(C, initial, [clock(DECAY, end)]).W_emb[0]
    assert relative(decayed, np.exp(-DECAY * end) * plain) < 1e-7
    bound = blow_up_bound(C, initial)
    assert blow_up_bound(C, initial, weight_decay=0.5 / bound) == pytest.approx(later(0.5 / bound, bound))


def test_conserved_matrices_under_decay() -> None:
    """A central difference in time, of error h² beside the rate."""
    rate, h = find_derivation("decay conserved").function(), 1e-3
    C, initial = small_example().population.token_label_matrix(), parameters()
    flow = coupled_flow(C, initial, [1 - h, 1, 1 + h], weight_decay=DECAY, keep=("W_emb", "W1", "W2"))
    Q = [w.T @ w - m @ m.T for w, m in zip(flow["W_emb"], flow["W1"], strict=True)]
    assert relative((Q[2] - Q[0]) / (2 * h), rate(flow["W_emb"][1], flow["W1"][1], DECAY)) < 1e-4


def at_a_saddle() -> tuple[Matrices, Matrices, FloatArray]:
    """Return a saddle of rank two, a rest in its complements, and what is left of the labels; drawn."""
    rng, d, d_m, d_f, k = np.random.default_rng(0), 7, 5, 6, 2
    X, Y = (np.linalg.qr(rng.standard_normal((n, k)))[0] for n in (d_m, d_f))
    P, R = np.linalg.qr(rng.standard_normal((d, k)))[0], np.linalg.qr(rng.standard_normal((d, k)))[0].T
    E, w, F = (rng.standard_normal(shape) for shape in ((d, d_m), (d_m, d_f), (d_f, d)))
    off_x, off_y = np.eye(d_m) - X @ X.T, np.eye(d_f) - Y @ Y.T
    G = (np.eye(d) - P @ P.T) @ rng.standard_normal((d, d)) @ (np.eye(d) - R.T @ R)
    large = Matrices(P @ X.T, X @ np.diag([2.0, 3.0]) @ Y.T, Y @ R)
    return large, Matrices(E @ off_x, off_x @ w @ off_y, off_y @ F), G


def test_the_rest_at_a_saddle() -> None:
    saddle, rest, G = at_a_saddle()
    velocity, errors = find_derivation("saddle").function(), []
    for epsilon in (1e-2, 1e-3):
        near = Matrices(*(a + epsilon * b for a, b in zip(saddle, rest, strict=True)))
        # With S the identity the drive is G less what B has changed by.
        moved = product_field(lambda B: G - (B - saddle.W_emb @ saddle.W1 @ saddle.W2))(near)
        errors.append(relative(moved.W_emb / epsilon, velocity(epsilon, G, rest.W2, rest.W1)))
    assert errors[0] < 1
    assert np.log10(errors[0] / errors[1]) == pytest.approx(1, abs=0.1)


def test_sgd_beside_its_flow() -> None:
    """The rates of the shift and of the covariance, by central differences of error h²."""
    population, initial, h, rate = small_example().population, parameters(), 0.02, 0.1
    found = sgd_moments(population, initial, [0.5 - h, 0.5, 0.5 + h], rate=rate, batch_size=4, rung="coupled")
    model, theta = StackedFields(population, initial, "coupled"), found.flow[1]
    f, J, P = model.field(theta[None]).T, model.jacobian(theta), found.covariance[1]
    spread = find_derivation("sgd covariance").function()(J, P, rate, model.covariance(theta) / 4)
    assert relative((found.covariance[2] - found.covariance[0]) / (2 * h), spread) < 1e-2
    # Only the product of H and p enters, and that is F''[P].
    H, one = model.curvature(theta, P)[:, None], np.ones((1, 1))
    shift = find_derivation("sgd mean").function()(J, found.shift[1][:, None], H, one, rate, f)
    assert relative((found.shift[2] - found.shift[0])[:, None] / (2 * h), shift) < 1e-2


def test_adams_step_on_a_steady_gradient() -> None:
    step, g, s = (
        find_derivation("adam step").function(),
        np.array([0.3, -2.0, 1e-3]),
        np.array([1.0, 0.5, 0.0]),
    )
    weights = np.zeros(3)
    adam = AdamW(AdamSettings(rate=1e-2, epsilon=1e-15, weight_decay=0.0), [weights])
    for _ in range(20):
        adam.step([g], [g**2 + s**2])
    assert weights == pytest.approx(-0.2 * step(g, s), rel=1e-10)


def test_the_rate_of_a_moment() -> None:
    """Against the relaxation in closed form that the adaptive flow steps with."""
    rate, h = find_derivation("adam moment").function(), 1e-6
    for beta, t in ((0.9, 3.0), (0.999, 40.0)):
        assert _share(beta, t, h) / h == pytest.approx(rate(-np.log(beta), t, 1.0, 0.0), rel=1e-5)
