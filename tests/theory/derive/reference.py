"""The small networks of Definitions 1 and 2 in torch, as an independent route to their gradients."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import torch
from torch import Tensor

Activation = Callable[[Tensor], Tensor]
Record = Callable[[str, float], None]


def soft_cross_entropy(logits: Tensor, targets: Tensor) -> Tensor:
    return -(targets * torch.log_softmax(logits, dim=-1)).sum(-1).mean()


def emb_mlp(sequences: Tensor, w: dict[str, Tensor], activation: Activation) -> Tensor:
    return activation(w["W_emb"][sequences].sum(1) @ w["W1"]) @ w["W2"]


def transformer(sequences: Tensor, w: dict[str, Tensor], activation: Activation) -> Tensor:
    """Definition 2: one head, causal attention read at the last token, which sees every token."""
    X = w["W_emb"][sequences]
    scores = X[:, -1:] @ w["W_Q"] @ w["W_K"].T @ X.transpose(1, 2) / w["W_Q"].shape[1] ** 0.5
    attended = (torch.softmax(scores, -1) @ X)[:, 0] @ w["W_V"] @ w["W_O"] + X[:, -1]
    return activation(attended @ w["W_f1"]) @ w["W_f2"] + attended


def descent(
    model: Callable[[Tensor, dict[str, Tensor], Activation], Tensor],
    weights: dict[str, np.ndarray],
    sequences: np.ndarray,
    labels: np.ndarray,
    activation: Activation = torch.tanh,
) -> dict[str, np.ndarray]:
    """Return minus the gradient of the mean cross-entropy by every matrix."""
    leaves = {name: torch.tensor(value, requires_grad=True) for name, value in weights.items()}
    loss = soft_cross_entropy(model(torch.tensor(sequences), leaves, activation), torch.tensor(labels))
    gradients = torch.autograd.grad(loss, list(leaves.values()))
    return {name: -g.numpy() for name, g in zip(leaves, gradients, strict=True)}


def softmax(logits: np.ndarray) -> np.ndarray:
    weights = np.exp(logits - logits.max(-1, keepdims=True))
    return np.asarray(weights / weights.sum(-1, keepdims=True))


def relative(value: np.ndarray, wanted: np.ndarray) -> float:
    """Return the largest error over the largest entry."""
    return float(np.abs(value - wanted).max() / np.abs(wanted).max())


def order(scales: np.ndarray, errors: list[float]) -> float:
    """Return the power of the scale with which errors fall."""
    return float(np.polyfit(np.log(scales), np.log(errors), 1)[0])
