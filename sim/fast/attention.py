"""Attention, with any pre norm before it: with a query at every position, or at the last alone."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from sim.fast.layers import Norm, add_bias, input_gradient, last_rows, weight_gradient
from sim.fast.matmul import small_products
from sim.models.layers import Parameters, causal_mask, joined


@dataclass(frozen=True)
class RowProjections:
    """x → Norm(x) (W_Q, W_K, W_V) + (b_Q, b_K, b_V), row by row; the norm may apply to the queries alone."""

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

    def backward(self, p: Parameters, saved: tuple[Any, ...], dy: Tensor, gradients: Parameters) -> Tensor:
        """Return dx, shape (M, R, d_m)."""
        seen, x, weight, normed = saved
        if self.norm is not None and self.queries_only:
            (d_queries, d_others), (of_queries, others) = _split(dy), _split(weight)
            d_weight = torch.cat([weight_gradient(seen, d_queries), weight_gradient(x, d_others)], dim=-1)
            dx = self.norm.backward(p, normed, input_gradient(d_queries, of_queries), gradients)
            dx.add_(input_gradient(d_others, others))
        else:
            d_weight, dx = weight_gradient(seen, dy), input_gradient(dy, weight)
            dx = dx if self.norm is None else self.norm.backward(p, normed, dx, gradients)
        of_kinds = {"W": d_weight} | ({"b": dy.sum(1)} if f"{self.prefix}b_Q" in p else {})
        for kind, of_three in of_kinds.items():
            for name, part in zip("QKV", of_three.chunk(3, dim=-1), strict=True):
                gradients[f"{self.prefix}{kind}_{name}"] = part
        return dx


def _split(joined_projections: Tensor) -> tuple[Tensor, Tensor]:
    """Return the columns of the queries, and the columns of keys and values."""
    width = joined_projections.shape[-1] // 3
    return joined_projections[..., :width], joined_projections[..., width:]


@dataclass(frozen=True)
class Attention:
    """Attention of one layer; ``sizes`` are M, B and L."""

    prefix: str
    sizes: tuple[int, int, int]
    n_heads: int
    projections: RowProjections

    def forward(self, p: Parameters, x: Tensor) -> tuple[Tensor, tuple[Any, ...]]:
        """Return (M, B L, d_m) for x of shape (M, B L, d_m), and what the derivative needs."""
        qkv, projected = self.projections.forward(p, x)
        q, k, v = (self._heads(part) for part in qkv.chunk(3, dim=-1))
        if not qkv.is_cuda:  # Each product below would copy a part that is interleaved with the others.
            q, k, v = (part.contiguous() for part in (q, k, v))
        mask = causal_mask(self.sizes[2], qkv.dtype, qkv.device)
        with small_products():
            weights = softmax_(product(q, k.mT).mul_(1 / math.sqrt(q.shape[-1])).add_(mask))
            mixed = self._rows(product(weights, v))
        y = add_bias(torch.bmm(mixed, p[f"{self.prefix}W_O"]), p.get(f"{self.prefix}b_O"))
        return y, (projected, q, k, v, weights, mixed)

    def backward(self, p: Parameters, saved: tuple[Any, ...], dy: Tensor, gradients: Parameters) -> Tensor:
        """Return dx, shape (M, B L, d_m)."""
        projected, q, k, v, weights, mixed = saved
        gradients[f"{self.prefix}W_O"] = weight_gradient(mixed, dy)
        if f"{self.prefix}b_O" in p:
            gradients[f"{self.prefix}b_O"] = dy.sum(1)
        d_mixed = self._heads(input_gradient(dy, p[f"{self.prefix}W_O"]))
        with small_products():
            d_logits = softmax_backward(weights, product(d_mixed, v.mT), 1 / math.sqrt(q.shape[-1]))
            parts = product(d_logits, k), product(d_logits.mT, q), product(weights.mT, d_mixed)
        d_qkv = torch.cat([self._rows(part) for part in parts], dim=-1)
        return self.projections.backward(p, projected, d_qkv, gradients)

    def _heads(self, x: Tensor) -> Tensor:
        """Split the width among heads: (M, B L, H d_k) → (M B H, L, d_k), without a copy where H = 1."""
        split = x.view(*self.sizes, self.n_heads, x.shape[-1] // self.n_heads)
        return split.transpose(2, 3).flatten(0, 2)

    def _rows(self, x: Tensor) -> Tensor:
        """Undo ``_heads``."""
        split = x.view(*self.sizes[:2], self.n_heads, -1, x.shape[-1])
        return split.transpose(2, 3).flatten(3).flatten(1, 2)


@dataclass(frozen=True)
class LastPositionAttention:
    r"""Attention with a query at the last position alone; keys and values are never computed.

    A query's logits are :math:`q \cdot (x_j W_K) = (q W_K^\top) \cdot x_j`, and its output is
    :math:`\sum_j a_j (x_j W_V) = (\sum_j a_j x_j) W_V`. With one query per sequence, mapping the query and
    the weighted sum is L times less work than mapping every position; the numbers are the same up to
    rounding. The pre norm before it, if there is one, may apply to the queries alone.
    """

    prefix: str
    sizes: tuple[int, int, int]
    """M, B and L."""
    n_heads: int
    norm: Norm | None
    queries_only: bool = False

    def forward(self, p: Parameters, x: Tensor) -> tuple[Tensor, tuple[Any, ...]]:
        """Return (M, B, d_m) for x of shape (M, B L, d_m), and what the derivative needs.

        b_K adds the same to all logits of a query and drops out of the softmax; b_V passes through
        unchanged, since the weights sum to one.
        """
        W_Q, W_K, W_V, W_O = (p[f"{self.prefix}W_{name}"] for name in "QKVO")
        normed: tuple[Tensor, ...] = ()
        if self.norm is not None and not self.queries_only:
            x, normed = self.norm.forward(p, x)
        query_input = last_rows(x, self.sizes)
        if self.norm is not None and self.queries_only:
            query_input, normed = self.norm.forward(p, query_input.contiguous())
        q = self._heads(add_bias(torch.bmm(query_input, W_Q), p.get(f"{self.prefix}b_Q")))
        query_key = self._sequences(input_gradient(q, self._heads(W_K)))
        positions = x.view(-1, self.sizes[2], x.shape[-1])
        with small_products():
            weights = softmax_(product(query_key, positions.mT).mul_(1 / math.sqrt(q.shape[-1])))
            read = product(weights, positions)
        mixed = self._rows(torch.bmm(self._by_head(read), self._heads(W_V)))
        mixed = add_bias(mixed, p.get(f"{self.prefix}b_V"))
        y = add_bias(torch.bmm(mixed, W_O), p.get(f"{self.prefix}b_O"))
        return y, (normed, x, query_input, q, query_key, weights, read, mixed)

    def backward(self, p: Parameters, saved: tuple[Any, ...], dy: Tensor, gradients: Parameters) -> Tensor:
        """Return dx, shape (M, B L, d_m)."""
        normed, x, query_input, q, query_key, weights, read, mixed = saved
        W_Q, W_K, W_V, W_O = (p[f"{self.prefix}W_{name}"] for name in "QKVO")
        d_mixed = self._heads(input_gradient(dy, W_O))
        d_read = self._sequences(input_gradient(d_mixed, self._heads(W_V)))
        positions = x.view(-1, self.sizes[2], x.shape[-1])
        with small_products():
            d_logits = softmax_backward(weights, product(d_read, positions.mT), 1 / math.sqrt(q.shape[-1]))
            d_query_key = self._by_head(product(d_logits, positions))
            dx = product(torch.cat([weights, d_logits], 1).mT, torch.cat([d_read, query_key], 1))
        dq = self._rows(torch.bmm(d_query_key, self._heads(W_K)))
        of_layer = {
            "W_Q": weight_gradient(query_input, dq),
            "W_K": self._rows(weight_gradient(d_query_key, q)),
            "W_V": self._rows(weight_gradient(self._by_head(read), d_mixed)),
            "W_O": weight_gradient(mixed, dy),
        }
        if f"{self.prefix}b_Q" in p:
            of_layer |= {"b_Q": dq.sum(1), "b_V": self._rows(d_mixed).sum(1), "b_O": dy.sum(1)}
            of_layer["b_K"] = torch.zeros_like(of_layer["b_Q"])
        gradients |= {f"{self.prefix}{name}": gradient for name, gradient in of_layer.items()}
        dx = dx.view(x.shape)
        d_query_input = input_gradient(dq, W_Q)
        if self.norm is not None and self.queries_only:
            d_query_input = self.norm.backward(p, normed, d_query_input, gradients)
        last_rows(dx, self.sizes).add_(d_query_input)
        if self.norm is None or self.queries_only:
            return dx
        return self.norm.backward(p, normed, dx, gradients)

    def _heads(self, x: Tensor) -> Tensor:
        """Give every head its own product: (M, R, H w) → (M H, R, w)."""
        return x.view(*x.shape[:2], self.n_heads, -1).transpose(1, 2).flatten(0, 1)

    def _rows(self, x: Tensor) -> Tensor:
        """Undo ``_heads``."""
        return x.view(-1, self.n_heads, *x.shape[1:]).transpose(1, 2).flatten(2)

    def _sequences(self, x: Tensor) -> Tensor:
        """Put a sequence's heads together: (M H, B, d_m) → (M B, H, d_m)."""
        return x.view(-1, self.n_heads, *x.shape[1:]).transpose(1, 2).flatten(0, 1)

    def _by_head(self, x: Tensor) -> Tensor:
        """Undo ``_sequences``."""
        return x.view(-1, self.sizes[1], *x.shape[1:]).transpose(1, 2).flatten(0, 1)


def product(a: Tensor, b: Tensor) -> Tensor:
    """Return a b for many small matrices, (N, R, K) and (N, K, C): on a GPU as sums that a compiler fuses."""
    if a.is_cuda and torch.compiler.is_compiling():
        return (a[:, :, :, None] * b[:, None]).sum(2)
    return torch.bmm(a, b)


def softmax_(logits: Tensor) -> Tensor:
    """Return the softmax of each row, overwriting the logits: torch's own is slow on rows this short."""
    if torch.compiler.is_compiling():
        return logits.softmax(-1)
    weights = logits.sub_(logits.amax(-1, keepdim=True)).exp_()
    return weights.div_(weights.sum(-1, keepdim=True))


def softmax_backward(weights: Tensor, d_weights: Tensor, scale: float) -> Tensor:
    """Return the gradient of the logits before scaling, overwriting the gradient of the weights."""
    d_logits = d_weights.mul_(weights)
    return d_logits.sub_(weights * d_logits.sum(-1, keepdim=True)).mul_(scale)
