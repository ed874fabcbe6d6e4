"""The derivations about training against integrated flows, finite steps and Adam's own recursion."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import sympy as sp
from scipy.integrate import solve_ivp

from tests.theory.derive.reference import Record, descent, emb_mlp, order, relative, softmax
from theory import EmbMLPParameters, blow_up_bound, coupled_flow, find_derivation

D, D_M, D_F, N, L, DECAY = 9, 4, 5, 60, 3, 0.05
SHAPES = {"W_emb": (D, D_M), "W1": (D_M, D_F), "W2": (D_F, D)}
RNG = np.random.default_rng(7)
SEQUENCES = RNG.integers(0, D, size=(N, L))
COUNTS = (SEQUENCES[:, :, None] == np.arange(D)).sum(1).astype(float)
LABELS = np.eye(D)[RNG.integers(0, D, size=N)]
START = [RNG.normal(size=shape) / 3 for shape in SHAPES.values()]
C, S = COUNTS.T @ (LABELS - 1 / D) / N, COUNTS.T @ COUNTS / N


def formula(name: str) -> Any:
    return find_derivation(name).function()


def live_drive(B: np.ndarray) -> np.ndarray:
    return COUNTS.T @ (LABELS - softmax(COUNTS @ B)) / N


def velocities(R: np.ndarray, W_emb: np.ndarray, W1: np.ndarray, W2: np.ndarray) -> list[np.ndarray]:
    return [R @ W2.T @ W1.T, W_emb.T @ R @ W2.T, W1.T @ W_emb.T @ R]


def unpacked(state: np.ndarray) -> list[np.ndarray]:
    ends = np.cumsum([a * b for a, b in SHAPES.values()])
    parts = np.split(state, ends[:-1])
    return [part.reshape(shape) for part, shape in zip(parts, SHAPES.values(), strict=True)]


@pytest.mark.parametrize("rung", ["coupled", "linearised", "population"])
def test_quantities_are_conserved_on_every_rung(rung: str, record_error: Record) -> None:
    closure = formula("linearised")
    drives: dict[str, Any] = {
        "coupled": lambda B: C,
        "linearised": lambda B: closure(C, S, B, D),
        "population": live_drive,
    }

    def velocity(_: float, state: np.ndarray) -> np.ndarray:
        W_emb, W1, W2 = unpacked(state)
        moves = velocities(drives[rung](W_emb @ W1 @ W2), W_emb, W1, W2)
        return np.concatenate([m.ravel() for m in moves])

    initial = np.concatenate([m.ravel() for m in START])
    solved = solve_ivp(velocity, (0, 3.0), initial, method="DOP853", rtol=1e-11, atol=1e-13)
    end = unpacked(solved.y[:, -1])
    assert np.abs(end[0] - START[0]).max() > 0.05
    for name, first in (("conserved 1", 0), ("conserved 2", 1)):
        quantity = formula(name)
        before, after = (quantity(matrices[first], matrices[first + 1]) for matrices in (START, end))
        drift = float(np.abs(after - before).max())
        record_error("conserved matrices", drift)
        # The integrator's relative tolerance, over the some hundred steps it takes.
        assert drift < 1e-8
        assert np.abs(quantity(end[first], START[first + 1]) - before).max() > 1e-3


def test_the_linearised_drive_is_the_first_order_of_the_live_one() -> None:
    """The error of the drive falls as the square of the logits; without the closure, as the logits."""
    scales, closed, constant = np.array([4e-2, 2e-2, 1e-2]), [], []
    for scale in scales:
        B = scale * START[0] @ START[1] @ START[2]
        closed.append(float(np.abs(formula("linearised")(C, S, B, D) - live_drive(B)).max()))
        constant.append(float(np.abs(C - live_drive(B)).max()))
    assert order(scales, closed) == pytest.approx(2, abs=0.1)
    assert order(scales, constant) == pytest.approx(1, abs=0.1)


def test_the_flow_of_the_matrices_is_the_gradient_of_the_linear_network() -> None:
    """The first two steps of the conserved quantities, with the live drive, against autograd."""
    values = dict(zip(SHAPES, START, strict=True))
    flow = descent(emb_mlp, values, SEQUENCES, LABELS, lambda x: x)
    values["R"] = live_drive(START[0] @ START[1] @ START[2])
    for name, number, made_of in (
        ("W_emb", 0, "conserved 1"),
        ("W1", 1, "conserved 1"),
        ("W2", 1, "conserved 2"),
    ):
        expression = find_derivation(made_of).steps[number].expression
        symbols = sorted(expression.atoms(sp.MatrixSymbol), key=lambda m: m.name)
        made = sp.lambdify(symbols, expression)(*(values[m.name] for m in symbols))
        assert relative(made, flow[name]) < 1e-12


def test_weight_decay_on_the_coupled_flow() -> None:
    initial = EmbMLPParameters(*START)
    bound = blow_up_bound(C, initial)
    end = 0.8 * bound
    decayed = coupled_flow(C, initial, [end], weight_decay=DECAY).W_emb[0]
    plain = coupled_flow(C, initial, [formula("decay clock")(DECAY, end)]).W_emb[0]
    assert relative(decayed, np.exp(-DECAY * end) * plain) < 1e-7
    later = formula("decay blow up")(0.5 / bound, bound)
    assert blow_up_bound(C, initial, weight_decay=0.5 / bound) == pytest.approx(later)


def test_conserved_matrices_under_decay() -> None:
    """A central difference in time, of error h² beside the rate."""
    h = 1e-3
    flow = coupled_flow(
        C, EmbMLPParameters(*START), [1 - h, 1, 1 + h], weight_decay=DECAY, keep=("W_emb", "W1", "W2")
    )
    Q = [w.T @ w - m @ m.T for w, m in zip(flow["W_emb"], flow["W1"], strict=True)]
    rate = formula("decay conserved")(flow["W_emb"][1], flow["W1"][1], DECAY)
    assert relative((Q[2] - Q[0]) / (2 * h), rate) < 1e-4


def test_the_rest_at_a_saddle_of_rank_two() -> None:
    rng, d, d_m, d_f, k = np.random.default_rng(0), 7, 5, 6, 2
    X, Y = (np.linalg.qr(rng.standard_normal((n, k)))[0] for n in (d_m, d_f))
    P, R = (np.linalg.qr(rng.standard_normal((d, k)))[0] for _ in range(2))
    E, w, F = (rng.standard_normal(shape) for shape in ((d, d_m), (d_m, d_f), (d_f, d)))
    off_x, off_y = np.eye(d_m) - X @ X.T, np.eye(d_f) - Y @ Y.T
    residual = (np.eye(d) - P @ P.T) @ rng.standard_normal((d, d)) @ (np.eye(d) - R @ R.T)
    modes = P @ X.T, X @ np.diag([2.0, 3.0]) @ Y.T, Y @ R.T
    rest = E @ off_x, off_x @ w @ off_y, off_y @ F
    scales, errors = np.array([1e-2, 1e-3]), []
    for scale in scales:
        near = [a + scale * b for a, b in zip(modes, rest, strict=True)]
        # With S the identity the drive is G minus the change of B.
        drive = residual - (near[0] @ near[1] @ near[2] - modes[0] @ modes[1] @ modes[2])
        moved = velocities(drive, *near)[0] / scale
        errors.append(relative(moved, formula("saddle")(scale, residual, rest[2], rest[1])))
    assert errors[0] < 1
    assert order(scales, errors) == pytest.approx(1, abs=0.1)


def test_adams_step_and_the_rate_of_its_moments() -> None:
    """Adam's own recursion on a steady gradient; and a moment's rate by one small step of continuous time."""
    g, s, beta_1, beta_2 = np.array([0.3, -2.0, 1e-3]), np.array([1.0, 0.5, 0.0]), 0.9, 0.999
    m, v = np.zeros(3), np.zeros(3)
    for k in range(1, 21):
        m, v = beta_1 * m + (1 - beta_1) * g, beta_2 * v + (1 - beta_2) * (g**2 + s**2)
        step = m / (1 - beta_1**k) / np.sqrt(v / (1 - beta_2**k))
        assert step == pytest.approx(formula("adam step")(g, s), rel=1e-10)
    for beta, t, h in ((0.9, 3.0, 1e-5), (0.999, 40.0, 1e-5)):
        # M relaxes to g = 1 from 0.2; m = M/(1 − β^t).
        start, kept = 0.2, beta**h
        after = (1 - kept + kept * start * (1 - beta**t)) / (1 - beta ** (t + h))
        rate = formula("adam moment")(-np.log(beta), t, 1.0, start)
        assert (after - start) / h == pytest.approx(rate, rel=1e-4)
