"""The loss and gradients of GPT-2, computed only for the positions that predict a token.

A shorter sequence is padded at its end; its last token and the padding predict nothing, and no product here
has rows for them. Only attention takes sequences as rectangles, with zeros in these places.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from sim.config.model import GPT2Config
from sim.fast.attention import RowProjections
from sim.fast.layers import (
    Norm,
    add_bias,
    input_gradient,
    mlp,
    mlp_backward,
    ops,
    table_gradient,
    weight_gradient,
)
from sim.fast.matmul import small_products
from sim.models.base import model_of, next_tokens
from sim.models.layers import Parameters, look_up

_ENTRIES = 2**20
"""Logits in a block, 4 MiB in float32: all at once would be by far the largest array of a step."""


def gpt2(p: Parameters, tokens: Tensor, labels: Tensor, model: GPT2Config) -> tuple[Tensor, Parameters]:
    """Return the losses, shape (M,), and the gradients; several members, or a GPU, use autograd."""
    if len(tokens) > 1 or tokens.is_cuda:
        return model_of(model).by_autograd(p, tokens, labels)
    targets = next_tokens(tokens, labels)
    rows = _Rows(targets)
    seen = rows.gathered(tokens[..., None])[..., 0]
    x = look_up(p["W_E"], seen[:, None])[:, 0] + p["W_pos"][:, rows.positions]
    layers = [_Layer(model, layer, rows) for layer in range(model.n_layers)]
    saved = []
    for layer in layers:
        x, kept = layer.forward(p, x)
        saved.append(kept)
    norm, gradients = Norm("ln_final", model.norm_epsilon), Parameters()
    x, normed = norm.forward(p, x)
    loss, to_x, to_table = tied_gradients(x[0], p["W_E"][0], rows.gathered(targets[..., None])[0, :, 0])
    dx = norm.backward(p, normed, to_x[None], gradients)
    for layer, kept in zip(reversed(layers), reversed(saved), strict=True):
        dx = layer.backward(p, kept, dx, gradients)
    gradients["W_E"] = table_gradient(p["W_E"].shape[1], seen, dx).add_(to_table)
    gradients["W_pos"] = table_gradient(p["W_pos"].shape[1], rows.positions[None], dx)
    return loss[None], gradients


class _Rows:
    """Which positions of a batch are rows: those that predict a token."""

    def __init__(self, targets: Tensor) -> None:
        real = targets[0] >= 0
        longest = int(real.sum(dim=1).max())
        real = real[:, :longest]
        self.sizes = (len(real), longest)
        """B and L, where L is the length of the longest sequence."""
        self.index = None if bool(real.all()) else real.flatten().nonzero()[:, 0]
        """The places of the R rows among all B L positions; None if every position is a row."""
        self.positions = torch.arange(longest).expand(len(real), -1)[real]
        """Each row's position in its sequence, shape (R,)."""

    def gathered(self, x: Tensor) -> Tensor:
        """Return rows: (1, B, at least L, width) → (1, R, width)."""
        flat = x[0, :, : self.sizes[1]].flatten(0, 1)
        return (flat if self.index is None else flat.index_select(0, self.index))[None]

    def spread(self, x: Tensor) -> Tensor:
        """Return a rectangle with zeros between the rows: (1, R, width) → (1, B, L, width)."""
        if self.index is not None:
            B, L = self.sizes
            x = x.new_zeros(1, B * L, x.shape[-1]).index_copy_(1, self.index, x)
        return x.view(1, *self.sizes, -1)


class _Layer:
    """One layer: h = x + Attn(ln1(x)), x' = h + MLP(ln2(h))."""

    def __init__(self, model: GPT2Config, layer: int, rows: _Rows) -> None:
        self.prefix, self.rows, self.n_heads = f"{layer}.", rows, model.n_heads
        self.projections = RowProjections(self.prefix, Norm(f"{self.prefix}ln1", model.norm_epsilon))
        self.second = Norm(f"{self.prefix}ln2", model.norm_epsilon)

    def forward(self, p: Parameters, x: Tensor) -> tuple[Tensor, tuple[Any, ...]]:
        """Return the layer's output, (1, R, d_m), and what its derivative needs."""
        qkv, projected = self.projections.forward(p, x)
        parts = self._heads(qkv, 3)
        with small_products():
            mixed, scale = ops._scaled_dot_product_flash_attention_for_cpu(*parts, 0.0, True)
        seen = self._rows(mixed)
        h = add_bias(torch.bmm(seen, p[f"{self.prefix}W_O"]), p[f"{self.prefix}b_O"]).add_(x)
        normed, of_norm = self.second.forward(p, h)
        y, of_mlp = mlp(p, self.prefix, normed, "gelu-tanh")
        return y.add_(h), (projected, parts, mixed, scale, seen, of_norm, of_mlp)

    def backward(self, p: Parameters, saved: tuple[Any, ...], dy: Tensor, gradients: Parameters) -> Tensor:
        """Return dx, (1, R, d_m)."""
        projected, parts, mixed, scale, seen, of_norm, of_mlp = saved
        dh = mlp_backward(p, self.prefix, of_mlp, dy, "gelu-tanh", gradients)
        dh = self.second.backward(p, of_norm, dh, gradients).add_(dy)
        gradients[f"{self.prefix}W_O"], gradients[f"{self.prefix}b_O"] = weight_gradient(seen, dh), dh.sum(1)
        (d_mixed,) = self._heads(input_gradient(dh, p[f"{self.prefix}W_O"]), 1)
        with small_products():
            d_parts = ops._scaled_dot_product_flash_attention_for_cpu_backward(
                d_mixed, *parts, mixed, scale, 0.0, True
            )
        d_qkv = torch.cat([self._rows(part) for part in d_parts], dim=-1)
        return self.projections.backward(p, projected, d_qkv, gradients).add_(dh)

    def _heads(self, x: Tensor, n: int) -> tuple[Tensor, ...]:
        """Return n rectangles, split among heads: (1, R, n H d_k) → (B, H, L, d_k) each."""
        split = self.rows.spread(x).view(*self.rows.sizes, n, self.n_heads, -1)
        return tuple(part.transpose(1, 2) for part in split.unbind(2))

    def _rows(self, x: Tensor) -> Tensor:
        """Undo ``_heads`` for one of them."""
        return self.rows.gathered(x.transpose(1, 2).flatten(2)[None])


def tied_gradients(x: Tensor, table: Tensor, targets: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """Return the mean cross entropy of the logits x tableᵀ, and its gradients in x and the table."""
    size, n = max(_ENTRIES // len(table), 1), len(x)
    loss = x.new_zeros(())
    to_x, to_table = torch.empty_like(x), torch.zeros_like(table)
    for first in range(0, n, size):
        rows, wanted = x[first : first + size], targets[first : first + size, None]
        logits = rows @ table.T
        largest = logits.amax(dim=1, keepdim=True)
        reached = logits.gather(1, wanted) - largest
        slopes = logits.sub_(largest).exp_()
        total = slopes.sum(dim=1, keepdim=True)
        loss += (total.log() - reached).sum()
        slopes /= total
        slopes.scatter_add_(1, wanted, torch.full_like(total, -1.0))
        torch.mm(slopes, table, out=to_x[first : first + size])
        to_table.addmm_(slopes.T, rows)
    return loss / n, to_x.div_(n), to_table.div_(n)
