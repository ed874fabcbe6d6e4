"""The small networks of Definitions 1 and 2 in torch, as an independent route to their gradients."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import torch
from torch import Tensor

Activation = Callable[[Tensor], Tensor]


def soft_cross_entropy(logits: Tensor, targets: Tensor) -> Tensor:
    return -(targets * torch.log_softmax(logits, dim=-1)).sum(-1).mean()


def emb_mlp(sequences: Tensor, W_emb: Tensor, W1: Tensor, W2: Tensor, activation: Activation) -> Tensor:
    return activation(W_emb[sequences].sum(1) @ W1) @ W2


def transformer(sequences: Tensor, w: dict[str, Tensor], activation: Activation) -> Tensor:
    """Definition 2: one head, causal attention read at the last token, which sees every token."""
    X = w["W_emb"][sequences]
    scores = X[:, -1:] @ w["W_Q"] @ w["W_K"].T @ X.transpose(1, 2) / w["W_Q"].shape[1] ** 0.5
    attended = (torch.softmax(scores, -1) @ X)[:, 0] @ w["W_V"] @ w["W_O"] + X[:, -1]
    return activation(attended @ w["W_f1"]) @ w["W_f2"] + attended


def negative_gradient(
    loss: Callable[[dict[str, Tensor]], Tensor], weights: dict[str, np.ndarray]
) -> dict[str, np.ndarray]:
    leaves = {name: torch.tensor(value, dtype=torch.float64) for name, value in weights.items()}
    for leaf in leaves.values():
        leaf.requires_grad_()
    gradients = torch.autograd.grad(loss(leaves), list(leaves.values()))
    return {name: -g.numpy() for name, g in zip(leaves, gradients, strict=True)}


def relative(found: np.ndarray, wanted: np.ndarray) -> float:
    """Return the largest error over the largest entry."""
    return float(np.abs(found - wanted).max() / np.abs(wanted).max())
