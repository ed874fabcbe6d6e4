"""Attention with a query at every position, and its projections with the pre norm before them if any."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from sim.fast.layers import Norm, add_bias, input_gradient, store_projections, weight_gradient
from sim.fast.matmul import small_products
from sim.fast.token_table import TableProjections
from sim.models.layers import Parameters, causal_mask, joined


@dataclass(frozen=True)
class RowProjections:
    """x → Norm(x) (W_Q, W_K, W_V) + (b_Q, b_K, b_V), row by row; the norm may be on the queries alone."""

    prefix: str
    norm: Norm | None
    queries_only: bool = False

    def forward(self, p: Parameters, x: Tensor) -> tuple[Tensor, tuple[Any, ...]]:
        """Return (M, R, 3 H d_k) for x of shape (M, R, d_m), and what the derivative needs."""
        seen, normed = (x, ()) if self.norm is None else self.norm.forward(p, x)
        weight, bias = joined(p, "QKV", self.prefix)
        if self.queries_only:
            of_queries, others = _split(weight)
            y = torch.cat([torch.bmm(seen, of_queries), torch.bmm(x, others)], dim=-1)
        else:
            y = torch.bmm(seen, weight)
        return add_bias(y, bias), (seen, x, weight, normed)

    def backward(self, p: Parameters, saved: tuple[Any, ...], dy: Tensor, found: Parameters) -> Tensor:
        """Return dx, shape (M, R, d_m)."""
        seen, x, weight, normed = saved
        if self.norm is None or not self.queries_only:
            store_projections(p, self.prefix, weight_gradient(seen, dy), dy, found)
            dx = input_gradient(dy, weight)
            return dx if self.norm is None else self.norm.backward(p, normed, dx, found)
        (d_queries, d_others), (of_queries, others) = _split(dy), _split(weight)
        d_weight = torch.cat([weight_gradient(seen, d_queries), weight_gradient(x, d_others)], dim=-1)
        store_projections(p, self.prefix, d_weight, dy, found)
        dx = self.norm.backward(p, normed, input_gradient(d_queries, of_queries), found)
        return dx.add_(input_gradient(d_others, others))


def _split(joined_projections: Tensor) -> tuple[Tensor, Tensor]:
    """Return the columns of the queries, and those of keys and values."""
    width = joined_projections.shape[-1] // 3
    return joined_projections[..., :width], joined_projections[..., width:]


@dataclass(frozen=True)
class Attention:
    """Attention of one layer, whose sequences are M, B and L in number and length."""

    prefix: str
    sizes: tuple[int, int, int]
    n_heads: int
    projections: RowProjections | TableProjections

    def forward(self, p: Parameters, x: Tensor) -> tuple[Tensor, tuple[Any, ...]]:
        """Return (M, B L, d_m) for x of shape (M, B L, d_m), and what the derivative needs."""
        qkv, projected = self.projections.forward(p, x)
        # The products below would each copy a part that lies between the others.
        q, k, v = (self._heads(part).contiguous() for part in qkv.chunk(3, dim=-1))
        mask = causal_mask(self.sizes[2], qkv.dtype, qkv.device)
        with small_products():
            weights = softmax_(torch.bmm(q, k.mT).mul_(1 / math.sqrt(q.shape[-1])).add_(mask))
            mixed = self._rows(torch.bmm(weights, v))
        y = add_bias(torch.bmm(mixed, p[f"{self.prefix}W_O"]), p.get(f"{self.prefix}b_O"))
        return y, (projected, q, k, v, weights, mixed)

    def backward(self, p: Parameters, saved: tuple[Any, ...], dy: Tensor, found: Parameters) -> Tensor | None:
        """Return dx, shape (M, B L, d_m), or None where it went straight to the tables."""
        projected, q, k, v, weights, mixed = saved
        found[f"{self.prefix}W_O"] = weight_gradient(mixed, dy)
        if f"{self.prefix}b_O" in p:
            found[f"{self.prefix}b_O"] = dy.sum(1)
        d_mixed = self._heads(input_gradient(dy, p[f"{self.prefix}W_O"]))
        with small_products():
            d_logits = softmax_backward(weights, torch.bmm(d_mixed, v.mT), 1 / math.sqrt(q.shape[-1]))
            parts = torch.bmm(d_logits, k), torch.bmm(d_logits.mT, q), torch.bmm(weights.mT, d_mixed)
        d_qkv = torch.cat([self._rows(part) for part in parts], dim=-1)
        return self.projections.backward(p, projected, d_qkv, found)

    def _heads(self, x: Tensor) -> Tensor:
        """Split the width among heads: (M, B L, H d_k) → (M B H, L, d_k), without a copy where H = 1."""
        split = x.view(*self.sizes, self.n_heads, x.shape[-1] // self.n_heads)
        return split.transpose(2, 3).flatten(0, 2)

    def _rows(self, x: Tensor) -> Tensor:
        """Undo ``_heads``."""
        split = x.view(*self.sizes[:2], self.n_heads, -1, x.shape[-1])
        return split.transpose(2, 3).flatten(3).flatten(1, 2)


def softmax_(logits: Tensor) -> Tensor:
    """Return the softmax of each row, in place of the logits: torch's own is slow on rows this short."""
    if torch.compiler.is_compiling():
        return logits.softmax(-1)
    weights = logits.sub_(logits.amax(-1, keepdim=True)).exp_()
    return weights.div_(weights.sum(-1, keepdim=True))


def softmax_backward(weights: Tensor, d_weights: Tensor, scale: float) -> Tensor:
    """Return the gradient of the logits before they were scaled, in place of that of the weights."""
    d_logits = d_weights.mul_(weights)
    return d_logits.sub_(weights * d_logits.sum(-1, keepdim=True)).mul_(scale)
