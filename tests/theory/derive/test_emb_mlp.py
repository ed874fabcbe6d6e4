"""Lemma 2, Proposition 1, Corollaries 1 and 2 and the next order against autograd and the numeric theory."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch

from tests.theory.derive.reference import Activation, Record, descent, emb_mlp, order, relative, softmax
from theory import (
    EmbMLPParameters,
    Task,
    expected_token_label_matrix,
    find_derivation,
    frozen_flow,
    token_ratio,
)

D, D_M, D_F, N, L = 17, 6, 11, 40, 3
RNG = np.random.default_rng(1)
SEQUENCES = RNG.integers(0, D, size=(N, L))
SEQUENCES[0] = [3, 3, 5]  # a token that occurs twice
SHAPES = {"W_emb": (D, D_M), "W1": (D_M, D_F), "W2": (D_F, D)}
WEIGHTS = {name: RNG.normal(size=shape) for name, shape in SHAPES.items()}
LABELS = np.eye(D)[RNG.integers(0, D, size=N)]
COUNTS = (SEQUENCES[:, :, None] == np.arange(D)).sum(1).astype(float)


def formula(name: str) -> Any:
    return find_derivation(name).function()


def flow(scale: float, activation: Activation = torch.tanh) -> np.ndarray:
    weights = {name: scale * matrix for name, matrix in WEIGHTS.items()}
    return descent(emb_mlp, weights, SEQUENCES, LABELS, activation)["W_emb"]


def twice_silu(x: torch.Tensor) -> torch.Tensor:
    """Return 2x/(1 + e^{−x}): σ(0) = 0, σ'(0) = 1, σ''(0) = 1, and no third derivative at 0."""
    return 2 * torch.nn.functional.silu(x)


def test_lemma_2_is_the_gradient_of_the_network(record_error: Record) -> None:
    h = COUNTS @ WEIGHTS["W_emb"] @ WEIGHTS["W1"]
    p, slopes = softmax(np.tanh(h) @ WEIGHTS["W2"]), 1 - np.tanh(h) ** 2
    share, wanted = formula("lemma 2"), flow(1.0)
    matrices = WEIGHTS["W1"], WEIGHTS["W2"]
    made = [
        sum(share(COUNTS[i, s], LABELS[[i]], p[[i]], slopes[[i]], *matrices)[0] for i in range(N)) / N
        for s in range(D)
    ]
    record_error("Lemma 2", relative(np.array(made), wanted))
    assert relative(np.array(made), wanted) < 1e-12


def test_prop_1_is_the_frozen_drive(record_error: Record) -> None:
    ratios = COUNTS.mean(0)
    distributions = COUNTS.T @ LABELS / N / ratios[:, None]
    C = COUNTS.T @ (LABELS - 1 / D) / N
    frozen = frozen_flow(C, EmbMLPParameters(**WEIGHTS), [0.0, 2.0]).W_emb
    for s in range(D):
        made = formula("prop 1")(ratios[s], distributions[[s]], WEIGHTS["W1"], WEIGHTS["W2"], D)
        error = relative(made[0], (frozen[1] - frozen[0])[s] / 2)
        record_error("Prop. 1", error)
        record_error("eq. 4", error)
        assert error < 1e-11  # the difference of two frozen times loses a digit


SMALL = Task(
    keys=range(12, 20),
    reasoning_anchors=range(1, 5),
    memory_anchors=[8],
    n_anchors=3,
    length=4,
    vocab_size=40,
)


@pytest.mark.parametrize(
    ("name", "token", "task"),
    [
        ("cor 1", 4, Task.paper(3)),
        ("cor 2", 11, Task.paper(3)),
        ("cor 2", 20, Task.paper(3)),
        ("cor 2", 2, SMALL),
    ],
)
def test_corollaries_are_the_frozen_flow(name: str, token: int, task: Task, record_error: Record) -> None:
    d, rng = task.vocab_size, np.random.default_rng(2)
    W1, W2 = rng.normal(size=(20, 30)), rng.normal(size=(30, d))
    is_key = np.isin(np.arange(d), task.keys).astype(float)[None]
    anchors = task.reasoning_anchors
    sizes = len(task.keys), len(anchors), task.n_anchors
    given = (is_key, sizes[0]) if name == "cor 1" else (token, task.keys[0], anchors[0], *sizes)
    made = formula(name)(token_ratio(task, token), *given, W1, W2, d)
    initial = EmbMLPParameters(np.zeros((d, 20)), W1, W2)
    error = relative(made[0], frozen_flow(expected_token_label_matrix(task), initial, [1.0]).W_emb[0, token])
    record_error("Cor. 1" if name == "cor 1" else "Cor. 2", error)
    record_error("eq. 26" if name == "cor 1" else "eq. 27", error)
    assert error < 1e-12


def corrected(scale: float, curvature: float, s: int) -> np.ndarray:
    ratio = COUNTS[:, s].mean()
    distribution = COUNTS[:, s] @ LABELS / N / ratio
    pairs = (COUNTS[:, [s]] * COUNTS).mean(0)
    triples = (COUNTS[:, [s]] * COUNTS).T @ (LABELS - 1 / D) / N
    made: np.ndarray = formula("next order")(
        scale, curvature, ratio, distribution[None], pairs[None], triples, *WEIGHTS.values(), D
    )
    return made[0]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("activation", "curvature", "powers"), [(torch.tanh, 0.0, (3, 4)), (twice_silu, 1.0, (2, 5))]
)
def test_the_error_of_prop_1_falls_as_predicted(
    activation: Activation, curvature: float, powers: tuple[int, int], record_error: Record
) -> None:
    """With the correction it falls faster still; the powers are fitted over a factor of four."""
    scales, s = np.array([2e-2, 1e-2, 5e-3]), 3
    C = COUNTS.T @ (LABELS - 1 / D) / N
    plain, with_next = [], []
    for scale in scales:
        wanted = flow(scale, activation)[s]
        plain.append(relative(scale**2 * C[s] @ WEIGHTS["W2"].T @ WEIGHTS["W1"].T, wanted))
        with_next.append(relative(corrected(scale, curvature, s), wanted))
    record_error("eq. 5" if curvature == 0 else "eq. 5, σ''(0) ≠ 0", plain[-1])
    record_error("next order of eq. 5", with_next[-1])
    assert order(scales, plain) == pytest.approx(powers[0], abs=0.15)
    assert order(scales, with_next) == pytest.approx(powers[1], abs=0.15)
