"""Conserved quantities along integrated flows, and the closure of the linearised flow."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import numpy.typing as npt
import pytest
import sympy as sp
import torch
from scipy.integrate import solve_ivp
from symbolic_reference import emb_mlp, negative_gradient, relative, soft_cross_entropy

from theory.arrays import FloatArray
from theory.symbolic import find_derivation

D, D_M, D_F, N, L = 9, 4, 5, 60, 3
SHAPES = ((D, D_M), (D_M, D_F), (D_F, D))


def _unpack(state: FloatArray) -> list[FloatArray]:
    ends = np.cumsum([a * b for a, b in SHAPES])
    return [part.reshape(shape) for part, shape in zip(np.split(state, ends[:-1]), SHAPES, strict=True)]


@pytest.fixture
def data() -> tuple[FloatArray, FloatArray, npt.NDArray[np.int64], list[FloatArray]]:
    rng = np.random.default_rng(7)
    sequences = rng.integers(0, D, size=(N, L))
    counts = (sequences[:, :, None] == np.arange(D)).sum(1).astype(float)
    return counts, np.eye(D)[rng.integers(0, D, size=N)], sequences, [rng.normal(size=s) / 3 for s in SHAPES]


def _softmax(logits: FloatArray) -> FloatArray:
    weights = np.exp(logits)
    return np.asarray(weights / weights.sum(-1, keepdims=True))


@pytest.mark.parametrize("rung", ["coupled", "linearised", "population"])
def test_quantities_are_conserved_on_every_rung(
    data: tuple[FloatArray, FloatArray, npt.NDArray[np.int64], list[FloatArray]],
    rung: str,
    record_error: Callable[[str, float], None],
) -> None:
    counts, labels, _, start = data
    C, S = counts.T @ (labels - 1 / D) / N, counts.T @ counts / N
    closure = find_derivation("linearised").function()
    drives = {
        "coupled": lambda B: C,
        "linearised": lambda B: closure(C, S, B, D),
        "population": lambda B: counts.T @ (labels - _softmax(counts @ B)) / N,
    }

    def velocity(_: float, state: FloatArray) -> FloatArray:
        W_emb, W1, W2 = _unpack(state)
        R = drives[rung](W_emb @ W1 @ W2)
        flow = (R @ W2.T @ W1.T, W_emb.T @ R @ W2.T, W1.T @ W_emb.T @ R)
        return np.concatenate([m.ravel() for m in flow])

    initial = np.concatenate([m.ravel() for m in start])
    solved = solve_ivp(velocity, (0, 3.0), initial, method="DOP853", rtol=1e-11, atol=1e-13)
    assert solved.success, solved.message
    end = _unpack(solved.y[:, -1])
    assert np.abs(end[0] - start[0]).max() > 0.05
    for name, pair in (("conserved 1", (0, 1)), ("conserved 2", (1, 2))):
        quantity = find_derivation(name).function()
        before, after = (quantity(*(matrices[i] for i in pair)) for matrices in (start, end))
        drift = np.abs(after - before).max()
        record_error("conserved matrices", drift)
        # The integrator's relative tolerance, over the some hundred steps it takes.
        assert drift < 1e-8
        wrong = quantity(end[pair[0]], start[pair[1]])
        assert np.abs(wrong - before).max() > 1e-3


def test_linearised_drive_is_the_first_order_of_the_live_one(
    data: tuple[FloatArray, FloatArray, npt.NDArray[np.int64], list[FloatArray]],
) -> None:
    """The error of the drive falls as the square of the logits; without the closure, as the logits."""
    counts, labels, _, start = data
    C, S = counts.T @ (labels - 1 / D) / N, counts.T @ counts / N
    closure, scales = find_derivation("linearised").function(), np.array([4e-2, 2e-2, 1e-2])
    errors: dict[str, list[float]] = {"linearised": [], "coupled": []}
    for scale in scales:
        B = scale * start[0] @ start[1] @ start[2]
        live = counts.T @ (labels - _softmax(counts @ B)) / N
        errors["linearised"].append(np.abs(closure(C, S, B, D) - live).max())
        errors["coupled"].append(np.abs(C - live).max())
    fitted = {name: np.polyfit(np.log(scales), np.log(e), 1)[0] for name, e in errors.items()}
    assert fitted["linearised"] == pytest.approx(2, abs=0.1)
    assert fitted["coupled"] == pytest.approx(1, abs=0.1)


def test_flow_of_the_three_matrices_is_the_gradient_of_the_linear_network(
    data: tuple[FloatArray, FloatArray, npt.NDArray[np.int64], list[FloatArray]],
) -> None:
    """The first two steps of the conserved quantities, with the live drive, against autograd."""
    counts, labels, sequences, (W_emb, W1, W2) = data
    R = counts.T @ (labels - _softmax(counts @ W_emb @ W1 @ W2)) / N
    tokens, targets = torch.tensor(sequences), torch.tensor(labels)
    flow = negative_gradient(
        lambda w: soft_cross_entropy(emb_mlp(tokens, w["W_emb"], w["W1"], w["W2"], lambda x: x), targets),
        {"W_emb": W_emb, "W1": W1, "W2": W2},
    )
    values = {"R": R, "W_emb": W_emb, "W1": W1, "W2": W2}
    for name, number, made_of in (
        ("W_emb", 0, "conserved 1"),
        ("W1", 1, "conserved 1"),
        ("W2", 1, "conserved 2"),
    ):
        expression = find_derivation(made_of).steps[number].expression
        symbols = sorted(expression.atoms(sp.MatrixSymbol), key=lambda m: m.name)
        made = sp.lambdify(symbols, expression)(*(values[m.name] for m in symbols))
        assert relative(made, flow[name]) < 1e-12
