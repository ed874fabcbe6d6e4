"""Lemma 2, Proposition 1, Corollaries 1 and 2 and the next order against autograd and the numeric theory."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch
from symbolic_reference import Activation, emb_mlp, negative_gradient, relative, soft_cross_entropy

from theory import (
    EmbMLPParameters,
    Task,
    expected_token_label_matrix,
    frozen_flow,
    label_distribution,
    token_ratio,
)
from theory.symbolic import find_derivation

Record = Callable[[str, float], None]
D, D_M, D_F, N, L = 17, 6, 11, 40, 3
ROUNDING = 1e-12  # float64 sums of some hundred terms


def _twice_silu(x: torch.Tensor) -> torch.Tensor:
    """Return 2x/(1 + e^{−x}): σ(0) = 0, σ'(0) = 1, σ''(0) = 1, and no third derivative at 0."""
    return 2 * torch.nn.functional.silu(x)


@pytest.fixture
def data() -> dict[str, Any]:
    rng = np.random.default_rng(1)
    sequences = rng.integers(0, D, size=(N, L))
    sequences[0] = [3, 3, 5]  # a token that occurs twice
    weights = {
        "W_emb": rng.normal(size=(D, D_M)),
        "W1": rng.normal(size=(D_M, D_F)),
        "W2": rng.normal(size=(D_F, D)),
    }
    return {"sequences": sequences, "labels": np.eye(D)[rng.integers(0, D, size=N)], **weights}


def _counts(sequences: np.ndarray) -> np.ndarray:
    return (sequences[:, :, None] == np.arange(D)).sum(1).astype(float)


def _flow(
    data: dict[str, Any], scale: float, activation: Callable[[torch.Tensor], torch.Tensor]
) -> np.ndarray:
    sequences, targets = torch.tensor(data["sequences"]), torch.tensor(data["labels"])
    weights = {name: scale * data[name] for name in ("W_emb", "W1", "W2")}
    return negative_gradient(
        lambda w: soft_cross_entropy(emb_mlp(sequences, w["W_emb"], w["W1"], w["W2"], activation), targets),
        weights,
    )["W_emb"]


def test_lemma_2_is_the_gradient_of_the_network(data: dict[str, Any], record_error: Record) -> None:
    share = find_derivation("lemma 2").function()
    counts = _counts(data["sequences"])
    h = counts @ data["W_emb"] @ data["W1"]
    logits = np.tanh(h) @ data["W2"]
    p = np.exp(logits - logits.max(1, keepdims=True))
    p /= p.sum(1, keepdims=True)
    slopes = 1 - np.tanh(h) ** 2
    flow = _flow(data, 1.0, torch.tanh)
    for s in range(D):
        rows = (
            share(counts[i, s], data["labels"][[i]], p[[i]], slopes[[i]], data["W1"], data["W2"])
            for i in range(N)
        )
        error = float(np.abs(sum(rows) / N - flow[s]).max() / np.abs(flow).max())
        record_error("Lemma 2", error)
        assert error < ROUNDING


def test_prop_1_is_the_frozen_drive(data: dict[str, Any], record_error: Record) -> None:
    counts, labels = _counts(data["sequences"]), data["labels"]
    drive = find_derivation("prop 1").function()
    ratios = counts.mean(0)
    distributions = counts.T @ labels / N / ratios[:, None]
    C = counts.T @ (labels - 1 / D) / N
    initial = EmbMLPParameters(data["W_emb"], data["W1"], data["W2"])
    frozen = frozen_flow(C, initial, [0.0, 2.0]).W_emb
    for s in range(D):
        made = drive(ratios[s], distributions[[s]], data["W1"], data["W2"], D)
        error = relative(made[0], (frozen[1] - frozen[0])[s] / 2)
        record_error("Prop. 1", error)
        record_error("eq. 4", error)
        assert error < 1e-11  # the difference of two frozen times loses a digit


@pytest.mark.parametrize(("name", "token"), [("cor 1", 4), ("cor 2", 11), ("cor 2", 15), ("cor 2", 20)])
def test_corollaries_are_the_frozen_flow_of_the_papers_task(
    name: str, token: int, record_error: Record
) -> None:
    task, rng = Task.paper(length=3), np.random.default_rng(2)
    d = task.vocab_size
    W1, W2 = rng.normal(size=(20, 30)), rng.normal(size=(30, d))
    ratio = token_ratio(task, token)
    is_key = np.isin(np.arange(d), task.keys).astype(float)[None]
    given = (is_key, 100) if name == "cor 1" else (token, 21, 11, 100, 10, 2)
    made = find_derivation(name).function()(ratio, *given, W1, W2, d)
    initial = EmbMLPParameters(np.zeros((d, 20)), W1, W2)
    drive = frozen_flow(expected_token_label_matrix(task), initial, [1.0]).W_emb[0, token]
    error = relative(made[0], drive)
    record_error("Cor. 1" if name == "cor 1" else "Cor. 2", error)
    record_error("eq. 26" if name == "cor 1" else "eq. 27", error)
    assert error < ROUNDING


def test_corollary_2_for_three_anchors() -> None:
    task = Task(
        keys=range(12, 20),
        reasoning_anchors=range(1, 5),
        memory_anchors=[8],
        n_anchors=3,
        length=4,
        vocab_size=40,
    )
    rng = np.random.default_rng(3)
    W1, W2 = rng.normal(size=(5, 6)), rng.normal(size=(6, 40))
    made = find_derivation("cor 2").function()(token_ratio(task, 2), 2, 12, 1, 8, 4, 3, W1, W2, 40)
    wanted = token_ratio(task, 2) * (label_distribution(task, 2) - 1 / 40) @ W2.T @ W1.T
    assert relative(made[0], wanted) < ROUNDING


def _next_order(data: dict[str, Any], scale: float, curvature: float, s: int) -> np.ndarray:
    counts, labels = _counts(data["sequences"]), data["labels"]
    ratio = counts[:, s].mean()
    distribution = counts[:, s] @ labels / N / ratio
    pairs = (counts[:, [s]] * counts).mean(0)
    triples = (counts[:, [s]] * counts).T @ (labels - 1 / D) / N
    matrices = (data["W_emb"], data["W1"], data["W2"])
    corrected = find_derivation("next order").function()
    return corrected(scale, curvature, ratio, distribution[None], pairs[None], triples, *matrices, D)[0]


@pytest.mark.parametrize(
    ("activation", "curvature", "powers"), [(torch.tanh, 0.0, (3, 4)), (_twice_silu, 1.0, (2, 5))]
)
def test_error_falls_with_the_powers_that_the_next_order_says(
    data: dict[str, Any],
    activation: Activation,
    curvature: float,
    powers: tuple[int, int],
    record_error: Record,
) -> None:
    """Relative to eq. 5 itself: ε³ for tanh, ε² where σ''(0) ≠ 0.

    With the correction ε⁴: the slopes' next term, in proportion to the third derivative of σ at 0. That
    is −2 for tanh, but 0 for 2x/(1 + e^{−x}), where ε⁵ is left.
    """
    scales = np.array([0.02, 0.01, 0.005])
    s = 3
    leading = find_derivation("prop 1").function()
    counts = _counts(data["sequences"])
    ratio = counts[:, s].mean()
    distribution = counts[:, s] @ data["labels"] / N / ratio
    unit = leading(ratio, distribution[None], data["W1"], data["W2"], D)[0]
    plain, corrected = [], []
    for scale in scales:
        flow = _flow(data, scale, activation)[s]
        plain.append(relative(scale**2 * unit, flow))
        corrected.append(relative(_next_order(data, scale, curvature, s), flow))
    slopes = [np.polyfit(np.log(scales), np.log(errors), 1)[0] for errors in (plain, corrected)]
    # The next power down contributes about ε ≤ 0.02 of the slope, times ratios of constants of order one.
    assert slopes[0] == pytest.approx(powers[0], abs=0.15)
    assert slopes[1] == pytest.approx(powers[1], abs=0.15)
    record_error("eq. 5" if curvature == 0 else "eq. 5, σ''(0) ≠ 0", plain[-1])
    record_error("next order of eq. 5", corrected[-1])
    assert corrected[-1] < plain[-1]
