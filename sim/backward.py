"""A Transformer's pieces with their derivatives written out: what a training step is made of.

Each piece is a pair of functions: one forward, which also returns what its derivative needs, and one
backward, from the loss's gradient in the output to that in the input; gradients of parameters are put into
a dictionary. The same numbers as autograd's (a test compares them for every kind of model), without its
bookkeeping, its copies and its separate products, which cost as much as a third of a step on a CPU.

Rows are flattened: activations have shape (M, R, width) with R = B L, or R = B where only the last place is
needed.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from sim.layers import ACTIVATIONS, Parameters, causal_mask, member_product
from sim.matmul import small_products
from sim.model_config import Activation, AttentionModel

ops: Any = torch.ops.aten


def weight_gradient(x: Tensor, dy: Tensor) -> Tensor:
    """Return xᵀ dy for each member: the gradient of W in y = x W."""
    return member_product(x.mT, dy)


def input_gradient(dy: Tensor, weight: Tensor) -> Tensor:
    """Return dy Wᵀ for each member: the gradient of x in y = x W."""
    return member_product(dy, weight.mT)


def add_bias(y: Tensor, bias: Tensor | None) -> Tensor:
    """Add each member's bias to its rows, in place."""
    return y if bias is None else y.add_(bias[:, None])


@dataclass(frozen=True)
class Norm:
    """A layer norm over the rows of x: y = (x − mean) / √(variance + ε) · gain + bias."""

    prefix: str
    epsilon: float

    def forward(self, p: Parameters, x: Tensor) -> tuple[Tensor, tuple[Tensor, ...]]:
        """Return y (M, R, width), and the saved x, mean and 1/√(variance + ε)."""
        gain, bias = p[f"{self.prefix}.w"], p.get(f"{self.prefix}.b")
        own = (gain[0], None if bias is None else bias[0]) if len(x) == 1 else (None, None)
        y, mean, scale = ops.native_layer_norm(x, x.shape[-1:], *own, self.epsilon)
        if len(x) > 1:
            y = add_bias(y * gain[:, None], bias)
        return y, (x, mean, scale)

    def backward(self, p: Parameters, saved: tuple[Tensor, ...], dy: Tensor, found: Parameters) -> Tensor:
        """Return dx; put the gradients of gain and bias into ``found``."""
        x, mean, scale = saved
        gain, bias = p[f"{self.prefix}.w"], p.get(f"{self.prefix}.b")
        alone = len(x) == 1
        if not alone:
            found[f"{self.prefix}.w"] = torch.einsum("mrk,mrk->mk", dy, (x - mean) * scale)
            if bias is not None:
                found[f"{self.prefix}.b"] = dy.sum(1)
            dy = dy * gain[:, None]
        own = (gain[0], None if bias is None else bias[0]) if alone else (None, None)
        wanted = [True, alone, alone and bias is not None]
        dx: Tensor
        dx, d_gain, d_bias = ops.native_layer_norm_backward(
            dy.contiguous(), x, x.shape[-1:], mean, scale, *own, wanted
        )
        if alone:
            found[f"{self.prefix}.w"] = d_gain[None]
            if bias is not None:
                found[f"{self.prefix}.b"] = d_bias[None]
        return dx


def _tanh(dh: Tensor, h: Tensor, _: Tensor) -> Tensor:
    ops.tanh_backward.grad_input(dh, h, grad_input=dh)
    return dh


def _relu(dh: Tensor, h: Tensor, _: Tensor) -> Tensor:
    ops.threshold_backward.grad_input(dh, h, 0, grad_input=dh)
    return dh


def _gelu(dh: Tensor, _: Tensor, before: Tensor) -> Tensor:
    ops.gelu_backward.grad_input(dh, before, grad_input=dh)
    return dh


DERIVATIVES: dict[Activation, Callable[[Tensor, Tensor, Tensor], Tensor]] = {
    "tanh": _tanh,
    "relu": _relu,
    "gelu": _gelu,
    "identity": lambda dh, h, before: dh,
}
"""From the gradient behind σ, overwritten, σ's value and its argument to the gradient before it."""


def tanh_(h: Tensor) -> Tensor:
    """Return tanh h = e/(e + 2) with e = exp(2h) − 1, in place: half the time of torch's on a CPU.

    Small arguments keep their relative accuracy; from 40 on the value is 1 in any precision.
    """
    e = h.clamp_(max=40.0).mul_(2.0).expm1_()
    return e.div_(e + 2.0)


IN_PLACE: dict[Activation, Callable[[Tensor], Tensor]] = {
    "tanh": tanh_,
    "relu": torch.relu_,
    "gelu": ACTIVATIONS["gelu"],  # Its derivative needs the argument.
    "identity": lambda h: h,
}


def mlp(
    p: Parameters, prefix: str, x: Tensor, activation: Activation
) -> tuple[Tensor, tuple[Tensor, Tensor, Tensor]]:
    """Return σ(x W_in + b_in) W_out + b_out, shape (M, R, d_m), and x, hidden and its argument."""
    before = add_bias(member_product(x, p[f"{prefix}W_in"]), p.get(f"{prefix}b_in"))
    hidden = IN_PLACE[activation](before)
    y = member_product(hidden, p[f"{prefix}W_out"])
    return add_bias(y, p.get(f"{prefix}b_out")), (x, hidden, before)


def mlp_backward(
    p: Parameters,
    prefix: str,
    saved: tuple[Tensor, Tensor, Tensor],
    dy: Tensor,
    activation: Activation,
    found: Parameters,
) -> Tensor:
    """Return dx of ``mlp``."""
    x, hidden, before = saved
    found[f"{prefix}W_out"] = weight_gradient(hidden, dy)
    dh = DERIVATIVES[activation](input_gradient(dy, p[f"{prefix}W_out"]), hidden, before)
    found[f"{prefix}W_in"] = weight_gradient(x, dh)
    if f"{prefix}b_in" in p:
        found[f"{prefix}b_in"], found[f"{prefix}b_out"] = dh.sum(1), dy.sum(1)
    return input_gradient(dh, p[f"{prefix}W_in"])


@dataclass(frozen=True)
class Attention:
    """Attention of one layer, whose last place alone asks, or every place.

    Attributes
    ----------
    prefix : str
        The layer's, "0." for the first.
    model : OneLayerConfig or TransformerConfig
    sizes : tuple of int
        M, B and L.
    last_only : bool
    """

    prefix: str
    model: AttentionModel
    sizes: tuple[int, int, int]
    last_only: bool

    def forward(self, p: Parameters, x: Tensor) -> tuple[Tensor, tuple[Tensor, ...]]:
        """Return (M, B L or B, d_m) for x of shape (M, B L, d_m), and what the derivative needs."""
        split = self._project(p, x)
        q, k, v = (self._heads(part) for part in split)
        places = q.shape[1]
        scale = 1 / math.sqrt(q.shape[-1])
        mask = causal_mask(self.sizes[2], x.dtype, x.device)[-places:]
        with small_products():
            weights = softmax_(torch.baddbmm(mask, q, k.mT, alpha=scale))
            mixed = self._rows(torch.bmm(weights, v))
        y = add_bias(member_product(mixed, p[f"{self.prefix}W_O"]), p.get(f"{self.prefix}b_O"))
        return y, (x, q, k, v, weights, mixed)

    def backward(self, p: Parameters, saved: tuple[Tensor, ...], dy: Tensor, found: Parameters) -> Tensor:
        """Return dx, shape (M, B L, d_m)."""
        x, q, k, v, weights, mixed = saved
        found[f"{self.prefix}W_O"] = weight_gradient(mixed, dy)
        if f"{self.prefix}b_O" in p:
            found[f"{self.prefix}b_O"] = dy.sum(1)
        d_mixed = self._heads(input_gradient(dy, p[f"{self.prefix}W_O"]))
        with small_products():
            d_logits = torch.bmm(d_mixed, v.mT).mul_(weights)
            d_logits.sub_(weights * d_logits.sum(-1, keepdim=True)).mul_(1 / math.sqrt(q.shape[-1]))
            dq, dk = torch.bmm(d_logits, k), torch.bmm(d_logits.mT, q)
            dv = torch.bmm(weights.mT, d_mixed)
        return self._project_backward(p, x, tuple(self._rows(part) for part in (dq, dk, dv)), found)

    def _project(self, p: Parameters, x: Tensor) -> tuple[Tensor, ...]:
        if not self.last_only:
            return self._maps(p, x, "QKV")
        return *self._maps(p, last_rows(x, self.sizes), "Q"), *self._maps(p, x, "KV")

    def _project_backward(
        self, p: Parameters, x: Tensor, parts: tuple[Tensor, ...], found: Parameters
    ) -> Tensor:
        if not self.last_only:
            return self._maps_backward(p, x, "QKV", torch.cat(parts, dim=-1), found)
        dx = self._maps_backward(p, x, "KV", torch.cat(parts[1:], dim=-1), found)
        asking = self._maps_backward(p, last_rows(x, self.sizes), "Q", parts[0], found)
        last_rows(dx, self.sizes).add_(asking)
        return dx

    def _maps(self, p: Parameters, x: Tensor, names: str) -> tuple[Tensor, ...]:
        """Return x W + b for several maps in one product, which is faster than one for each."""
        y = member_product(x, joined(p, f"{self.prefix}W_", names))
        if f"{self.prefix}b_Q" in p:
            add_bias(y, joined(p, f"{self.prefix}b_", names))
        return y.chunk(len(names), dim=-1)

    def _maps_backward(self, p: Parameters, x: Tensor, names: str, dy: Tensor, found: Parameters) -> Tensor:
        gradients = weight_gradient(x, dy).chunk(len(names), dim=-1)
        for name, gradient, part in zip(names, gradients, dy.chunk(len(names), dim=-1), strict=True):
            # torch's fused optimisers read gradients as they lie in memory.
            found[f"{self.prefix}W_{name}"] = gradient.contiguous()
            if f"{self.prefix}b_Q" in p:
                found[f"{self.prefix}b_{name}"] = part.sum(1)
        return input_gradient(dy, joined(p, f"{self.prefix}W_", names))

    def _heads(self, x: Tensor) -> Tensor:
        """Split the width among heads: (M, B L, H d_k) → (M B H, L, d_k), without a copy where H = 1."""
        split = x.view(*self.sizes[:2], -1, self.model.n_heads, x.shape[-1] // self.model.n_heads)
        return split.transpose(2, 3).flatten(0, 2)

    def _rows(self, x: Tensor) -> Tensor:
        """Undo ``_heads``."""
        split = x.view(*self.sizes[:2], self.model.n_heads, -1, x.shape[-1])
        return split.transpose(2, 3).flatten(3).flatten(1, 2)


def softmax_(logits: Tensor) -> Tensor:
    """Return the softmax of each row, in place of the logits: torch's own is slow on rows this short."""
    weights = logits.sub_(logits.amax(-1, keepdim=True)).exp_()
    return weights.div_(weights.sum(-1, keepdim=True))


def last_rows(x: Tensor, sizes: tuple[int, int, int]) -> Tensor:
    """Return a view of the last place's rows: (M, B L, width) → (M, B, width)."""
    return x.view(*sizes, -1)[:, :, -1]


def joined(p: Parameters, prefix: str, names: str) -> Tensor:
    """Return several tensors side by side."""
    return p[prefix + names] if len(names) == 1 else torch.cat([p[prefix + name] for name in names], dim=-1)
