"""Projections to queries, keys and values at every position, with the pre norm before them if any."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from sim.fast.layers import Norm, add_bias, input_gradient, weight_gradient
from sim.models.layers import Parameters, member_product


@dataclass(frozen=True)
class RowProjections:
    """x → Norm(x) (W_Q, W_K, W_V) + (b_Q, b_K, b_V), row by row, in one product.

    Attributes
    ----------
    prefix : str
        The layer's, "0." for the first.
    norm : Norm or None
    """

    prefix: str
    norm: Norm | None

    def forward(self, p: Parameters, x: Tensor) -> tuple[Tensor, tuple[Tensor, ...]]:
        """Return (M, R, 3 H d_k) for x of shape (M, R, d_m), and what the derivative needs."""
        seen, saved = (x, ()) if self.norm is None else self.norm.forward(p, x)
        weight, bias = joined(p, self.prefix)
        return add_bias(member_product(seen, weight), bias), (seen, weight, *saved)

    def backward(self, p: Parameters, saved: tuple[Tensor, ...], dy: Tensor, found: Parameters) -> Tensor:
        """Return dx, shape (M, R, d_m)."""
        seen, weight, *normed = saved
        store_projections(p, self.prefix, weight_gradient(seen, dy), dy, found)
        dx = input_gradient(dy, weight)
        return dx if self.norm is None else self.norm.backward(p, tuple(normed), dx, found)


@dataclass(frozen=True)
class QueryNormProjections:
    """The same with the norm on the queries alone: Norm(x) W_Q, and x (W_K, W_V).

    Attributes
    ----------
    prefix : str
        The layer's, "0." for the first.
    norm : Norm
    """

    prefix: str
    norm: Norm

    def forward(self, p: Parameters, x: Tensor) -> tuple[Tensor, tuple[Tensor, ...]]:
        """Return (M, R, 3 H d_k) for x of shape (M, R, d_m), and what the derivative needs."""
        seen, normed = self.norm.forward(p, x)
        weight, bias = joined(p, self.prefix)
        of_queries, others = _split(weight)
        y = torch.cat([member_product(seen, of_queries), member_product(x, others)], dim=-1)
        return add_bias(y, bias), (seen, x, weight, *normed)

    def backward(self, p: Parameters, saved: tuple[Tensor, ...], dy: Tensor, found: Parameters) -> Tensor:
        """Return dx, shape (M, R, d_m)."""
        seen, x, weight, *normed = saved
        (d_queries, d_others), (of_queries, others) = _split(dy), _split(weight)
        d_weight = torch.cat([weight_gradient(seen, d_queries), weight_gradient(x, d_others)], dim=-1)
        store_projections(p, self.prefix, d_weight, dy, found)
        dx = self.norm.backward(p, tuple(normed), input_gradient(d_queries, of_queries), found)
        return dx.add_(input_gradient(d_others, others))


def _split(joined_projections: Tensor) -> tuple[Tensor, Tensor]:
    """Return the columns of the queries, and those of keys and values."""
    width = joined_projections.shape[-1] // 3
    return joined_projections[..., :width], joined_projections[..., width:]


def joined(p: Parameters, prefix: str) -> tuple[Tensor, Tensor | None]:
    """Return W_Q, W_K and W_V side by side, and their biases where there are any."""
    weight = torch.cat([p[f"{prefix}W_{name}"] for name in "QKV"], dim=-1)
    if f"{prefix}b_Q" not in p:
        return weight, None
    return weight, torch.cat([p[f"{prefix}b_{name}"] for name in "QKV"], dim=-1)


def store_projections(p: Parameters, prefix: str, d_weight: Tensor, dy: Tensor, found: Parameters) -> None:
    """Put the gradients of the joined projections into ``found``, each under its own name."""
    for name, gradient in zip("QKV", d_weight.chunk(3, dim=-1), strict=True):
        # torch's fused optimisers read gradients as they lie in memory.
        found[f"{prefix}W_{name}"] = gradient.contiguous()
    if f"{prefix}b_Q" in p:
        parts = dy.sum(1).chunk(3, dim=-1)
        found |= {f"{prefix}b_{name}": part.contiguous() for name, part in zip("QKV", parts, strict=True)}
