"""The loss and gradients of the Transformer of Appendix A.1 and of Definition 2."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from sim.config.model import PRE_NORMS, AttentionModel
from sim.fast.attention import Attention, LastPositionAttention, RowProjections
from sim.fast.layers import (
    Norm,
    add_bias,
    cross_entropy,
    input_gradient,
    last_rows,
    mlp,
    mlp_backward,
    table_gradient,
    weight_gradient,
)
from sim.models.base import next_tokens
from sim.models.layers import Parameters, look_up


class _Layer:
    """One layer: h = x + Attn(x), x' = h + MLP(h), with norms where the model has them.

    A pre norm before attention is part of the attention; ``sizes`` are M, B and L.
    """

    def __init__(self, model: AttentionModel, layer: int, sizes: tuple[int, int, int]) -> None:
        self.prefix, self.model, self.sizes = f"{layer}.", model, sizes
        self.last_only = layer == model.n_layers - 1 and model.loss == "last-token"
        self.first = Norm(f"{self.prefix}ln1", model.norm_epsilon)
        self.second = Norm(f"{self.prefix}ln2", model.norm_epsilon)
        norm, queries_only = self.first if model.norm in PRE_NORMS else None, model.norm == "pre-queries"
        self.attention: Attention | LastPositionAttention
        if self.last_only:
            self.attention = LastPositionAttention(self.prefix, sizes, model.n_heads, norm, queries_only)
        else:
            projections = RowProjections(self.prefix, norm, queries_only)
            self.attention = Attention(self.prefix, sizes, model.n_heads, projections)

    def forward(self, p: Parameters, x: Tensor) -> tuple[Tensor, list[Any]]:
        """Return the layer's output, (M, B L or B, d_m), and what its derivative needs."""
        saved: list[Any] = [None] * 4
        pre, post = self.model.norm in PRE_NORMS, self.model.norm == "post"
        h, saved[0] = self.attention.forward(p, x)
        h.add_(last_rows(x, self.sizes) if self.last_only else x)
        if post:
            h, saved[1] = self.first.forward(p, h)
        seen, saved[2] = self.second.forward(p, h) if pre else (h, None)
        y, saved[3] = mlp(p, self.prefix, seen, self.model.activation)
        y.add_(h)
        if post:
            y, saved[2] = self.second.forward(p, y)
        return y, saved

    def backward(self, p: Parameters, saved: list[Any], dy: Tensor, gradients: Parameters) -> Tensor:
        """Return dx, (M, B L, d_m)."""
        pre, post = self.model.norm in PRE_NORMS, self.model.norm == "post"
        if post:
            dy = self.second.backward(p, saved[2], dy, gradients)
        dh = mlp_backward(p, self.prefix, saved[3], dy, self.model.activation, gradients)
        if pre:
            dh = self.second.backward(p, saved[2], dh, gradients)
        dh.add_(dy)
        if post:
            dh = self.first.backward(p, saved[1], dh, gradients)
        dx = self.attention.backward(p, saved[0], dh, gradients)
        (last_rows(dx, self.sizes) if self.last_only else dx).add_(dh)
        return dx


def transformer(
    p: Parameters, tokens: Tensor, labels: Tensor, model: AttentionModel
) -> tuple[Tensor, Parameters]:
    """Return the losses, shape (M,), and the gradients."""
    x = look_up(p["W_E"], tokens)
    if "W_pos" in p:
        x.add_(p["W_pos"][:, None, : tokens.shape[2]])
    x = x.flatten(1, 2)
    M, B, L = tokens.shape
    layers = [_Layer(model, i, (M, B, L)) for i in range(model.n_layers)]
    saved = []
    for layer in layers:
        x, kept = layer.forward(p, x)
        saved.append(kept)
    targets = next_tokens(tokens, labels).flatten(1) if model.loss == "next-token" else labels
    gradients: Parameters = {}
    losses, dx = _read_out(p, x, targets, model, gradients)
    for layer, kept in zip(reversed(layers), reversed(saved), strict=True):
        dx = layer.backward(p, kept, dx, gradients)
    gradients["W_E"] = table_gradient(p["W_E"].shape[1], tokens, dx)
    if "W_pos" in p:
        of_positions = dx.view(M, B, L, -1).sum(1)
        unused = p["W_pos"].shape[1] - L  # Short sequences use the first positions alone.
        gradients["W_pos"] = torch.nn.functional.pad(of_positions, (0, 0, 0, unused))
    return losses, gradients


def _read_out(
    p: Parameters, x: Tensor, targets: Tensor, model: AttentionModel, gradients: Parameters
) -> tuple[Tensor, Tensor]:
    """Return the losses and the gradient of the last layer's output."""
    norm = Norm("ln_final", model.norm_epsilon)
    pre = model.norm in PRE_NORMS
    x, saved = norm.forward(p, x) if pre else (x, ())
    logits = add_bias(torch.bmm(x, p["W_U"]), p.get("b_U")) if "W_U" in p else x
    losses, dy = cross_entropy(logits, targets)
    if "W_U" in p:
        gradients["W_U"] = weight_gradient(x, dy)
        if "b_U" in p:
            gradients["b_U"] = dy.sum(1)
        dy = input_gradient(dy, p["W_U"])
    return losses, norm.backward(p, saved, dy, gradients) if pre else dy
