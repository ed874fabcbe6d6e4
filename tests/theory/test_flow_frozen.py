"""The frozen flow against autograd and its limits."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
import torch

from theory import (
    EmbMLPParameters,
    InputError,
    Task,
    cosine_matrix,
    draw_tables,
    enumerate_population,
    frozen_direction,
    frozen_flow,
    labels_of,
    token_label_matrix,
)

TASK = Task(
    keys=range(20, 26),
    reasoning_anchors=range(4, 8),
    memory_anchors=range(1, 4),
    n_anchors=2,
    length=3,
    vocab_size=48,
)


def _parameters(seed: int, scale: float = 1.0) -> EmbMLPParameters:
    rng = np.random.default_rng(seed)
    shapes = ((48, 9), (9, 11), (11, 48))
    return EmbMLPParameters(*(scale * rng.standard_normal(shape) / 3 for shape in shapes))


def _sample() -> tuple[np.ndarray, np.ndarray]:
    population = enumerate_population(TASK)
    return population.sequences, labels_of(TASK, population, draw_tables(TASK, np.random.default_rng(0)))


def _true_gradient(parameters: EmbMLPParameters) -> np.ndarray:
    """Return −∂loss/∂W_emb of the real network by automatic differentiation, float64."""
    sequences, labels = _sample()
    W_emb = torch.tensor(parameters.W_emb, requires_grad=True)
    W1, W2 = torch.tensor(parameters.W1), torch.tensor(parameters.W2)
    logits = torch.tanh(W_emb[torch.from_numpy(sequences)].sum(dim=1) @ W1) @ W2
    torch.nn.functional.cross_entropy(logits, torch.from_numpy(labels)).backward()
    assert W_emb.grad is not None
    return -W_emb.grad.numpy()


@pytest.mark.parametrize("seed", [0, 1])
def test_eq5_is_the_limit_of_the_true_gradient(seed: int, record_error: Callable[[str, float], None]) -> None:
    """The relative error of eq. 5 falls as the cube of the scale: the logits, a product of three matrices."""
    C = token_label_matrix(*_sample(), 48)
    scales = np.array([1e-1, 5e-2, 2.5e-2])
    errors = []
    for scale in scales:
        parameters = _parameters(seed, scale)
        truth, claimed = _true_gradient(parameters), frozen_direction(C, parameters)
        errors.append(np.linalg.norm(truth - claimed) / np.linalg.norm(truth))
    slope = np.polyfit(np.log(scales), np.log(errors), 1)[0]
    # The softmax leaves u by a third order; tanh bends by a fourth, which tilts the slope by O(scale).
    assert abs(slope - 3) < 0.15
    record_error("eq. 5", errors[-1])
    record_error("Prop. 1", errors[-1])


def test_limits_of_the_frozen_flow() -> None:
    parameters, C = _parameters(3), token_label_matrix(*_sample(), 48)
    flow = frozen_flow(C, parameters, [0.0, 1.0, 1e12])
    np.testing.assert_array_equal(flow.W_emb[0], parameters.W_emb)
    np.testing.assert_allclose(flow.W_emb[1] - flow.W_emb[0], frozen_direction(C, parameters), atol=1e-14)
    seen = [1, 2, 3, 4, 5, 6, 7, 20, 25]
    late = cosine_matrix(flow.W_emb[2][seen])
    np.testing.assert_allclose(late, cosine_matrix(frozen_direction(C, parameters)[seen]), atol=1e-6)
    np.testing.assert_array_equal(frozen_flow(C, parameters, 1.0).W_emb[0], flow.W_emb[1])


def test_tokens_that_never_occur_do_not_move() -> None:
    flow = frozen_flow(token_label_matrix(*_sample(), 48), _parameters(0), [5.0])
    np.testing.assert_array_equal(flow.W_emb[0][40], _parameters(0).W_emb[40])


@pytest.mark.parametrize("times", [[-1.0], [2.0, 1.0], [np.nan], [[1.0]]])
def test_bad_times_are_refused(times: list[float]) -> None:
    with pytest.raises(InputError, match="times"):
        frozen_flow(np.zeros((48, 48)), _parameters(0), times)


def test_bad_shapes_are_refused() -> None:
    with pytest.raises(InputError, match="do not chain"):
        EmbMLPParameters(np.zeros((5, 2)), np.zeros((3, 4)), np.zeros((4, 5)))
    with pytest.raises(InputError, match=r"give \(48, 48\)"):
        frozen_flow(np.zeros((7, 7)), _parameters(0), [1.0])
