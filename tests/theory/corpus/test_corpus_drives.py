"""The rows that a predictor compares are the drives of small models, by automatic differentiation."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import numpy.typing as npt
import pytest
import torch
from torch import Tensor

from theory import as_matrix, bigram_operator, context_operator, corpus_counts

V, WIDTH = 7, 5
CORPUS = [np.random.default_rng(i).integers(0, V, size=2 + i % 6).tolist() for i in range(20)]
Loss = Callable[[Tensor, Tensor], Tensor]


def next_token_loss(features: Callable[[list[int], int], Tensor], W: Tensor, U: Tensor) -> Tensor:
    """Return the mean loss over positions, the logits being features · W · U."""
    losses = [
        torch.nn.functional.cross_entropy(features(s, k) @ W @ U, torch.tensor(s[k]))
        for s in CORPUS
        for k in range(1, len(s))
    ]
    return torch.stack(losses).mean()


def last(sequence: list[int], k: int) -> Tensor:
    return torch.eye(V, dtype=torch.float64)[sequence[k - 1]]


def average(sequence: list[int], k: int) -> Tensor:
    return torch.eye(V, dtype=torch.float64)[sequence[:k]].mean(dim=0)


C = as_matrix(bigram_operator(corpus_counts(CORPUS, V)))
CONTEXT = as_matrix(context_operator(CORPUS, V)).T
Matrix = npt.NDArray[np.float64]


def untied(features: Callable[[list[int], int], Tensor]) -> Loss:
    return lambda W, U: next_token_loss(features, W, U)


CASES: dict[str, tuple[Loss, int, Callable[[Matrix, Matrix], Matrix]]] = {
    "bigram": (untied(last), 0, lambda W, U: C @ U.T),
    "readout": (untied(last), 1, lambda W, U: W.T @ C),
    "context": (untied(average), 0, lambda W, U: CONTEXT @ U.T),
    "tied": (lambda W, U: next_token_loss(last, W, W.T), 0, lambda W, U: (C + C.T) @ W),
}


@pytest.mark.parametrize("name", CASES)
def test_the_drive_is_the_predictors_rows_times_a_shared_matrix(name: str) -> None:
    """The relative error falls as the square of the scale: logits are quadratic in it."""
    loss, which, predicted = CASES[name]
    rng = np.random.default_rng(0)
    start = rng.standard_normal((V, WIDTH)), rng.standard_normal((WIDTH, V))
    errors = []
    for scale in (2e-2, 1e-2):
        W, U = (torch.tensor(scale * matrix, requires_grad=True) for matrix in start)
        loss(W, U).backward()
        gradient = (W, U)[which].grad
        assert gradient is not None
        expected = predicted(W.detach().numpy(), U.detach().numpy())
        errors.append(np.linalg.norm(-gradient.numpy() - expected) / np.linalg.norm(expected))
    assert errors[1] < 1e-3
    assert errors[0] / errors[1] == pytest.approx(4, rel=0.1)
