"""The parts of models; every tensor has a leading member axis.

One code path serves one member and many: with M members, B sequences per member and L positions, activations
have shape (M, B, L, width) and weights (M, ...).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping

import torch
from torch import Tensor

from sim.config.model import Activation

Parameters = dict[str, Tensor]
Keep = Callable[[str, Tensor], None]
"""Called with the name and value of every intermediate."""

ACTIVATIONS: dict[Activation, Callable[[Tensor], Tensor]] = {
    "tanh": torch.tanh,
    "relu": torch.relu,
    "gelu": torch.nn.functional.gelu,
    "identity": lambda h: h,
}


def of_layer(parameters: Mapping[str, Tensor], layer: int) -> Parameters:
    """Return the parameters of a layer by their names within it: "0.W_Q" is "W_Q"."""
    prefix = f"{layer}."
    return {name.removeprefix(prefix): p for name, p in parameters.items() if name.startswith(prefix)}


def own_rows(tokens: Tensor, rows: int) -> Tensor:
    """Shift each member's tokens to its own rows in the members' stacked tables."""
    if len(tokens) == 1:
        return tokens
    return tokens + rows * torch.arange(len(tokens), device=tokens.device).view(-1, 1, 1)


def look_up(table: Tensor, tokens: Tensor) -> Tensor:
    """Return each token's row of its member's table: (M, d, width), (M, B, L) → (M, B, L, width)."""
    flat = table.reshape(-1, table.shape[-1])
    return torch.nn.functional.embedding(own_rows(tokens, table.shape[1]), flat)


def linear(x: Tensor, weight: Tensor, bias: Tensor | None) -> Tensor:
    """Return x W + b: x (M, B, L, d_in), W (M, d_in, d_out), b (M, d_out) or None."""
    y = torch.bmm(x.flatten(1, 2), weight).view(*x.shape[:3], -1)
    return y if bias is None else y + bias[:, None, None]


def look_up_sum(table: Tensor, tokens: Tensor) -> Tensor:
    """Return the sum of the rows of each sequence's tokens: (M, d, width), (M, B, L) → (M, B, width)."""
    flat = table.reshape(-1, table.shape[-1])
    bags = own_rows(tokens, table.shape[1]).flatten(0, 1)
    return torch.nn.functional.embedding_bag(bags, flat, mode="sum").view(*tokens.shape[:2], -1)


def layer_norm(p: Mapping[str, Tensor], name: str, x: Tensor, epsilon: float) -> Tensor:
    """Normalise each row of x (M, B, L, width) to mean 0 and variance 1, then scale and shift it."""
    gain, bias = p[f"{name}.w"], p.get(f"{name}.b")
    if len(x) == 1:  # One kernel in place of three.
        shift = None if bias is None else bias.squeeze(0)
        return torch.nn.functional.layer_norm(x, x.shape[-1:], gain.squeeze(0), shift, epsilon)
    y = torch.nn.functional.layer_norm(x, x.shape[-1:], eps=epsilon) * gain[:, None, None]
    return y if bias is None else y + bias[:, None, None]


def attention(
    p: Mapping[str, Tensor], query_input: Tensor, x: Tensor, n_heads: int, *, last_only: bool
) -> tuple[Tensor, Tensor, Tensor]:
    r"""Return :math:`\mathrm{softmax}(\mathrm{mask}(Q K^\top / \sqrt{d_k})) V W_O` (eq. 2), logits, softmax.

    Queries are made from ``query_input`` (with ``last_only``, at the last position alone), keys and values
    from ``x``: both (M, B, L, d_m), usually the same. ``p`` has W_Q, W_K, W_V (M, d_m, H d_k),
    W_O (M, H d_k, d_m), and b_Q, b_K, b_V, b_O if there are biases. The logits, −∞ where masked, and
    their softmax have shape (M, B, H, L or 1, L).
    """
    if last_only or query_input is not x:
        q = linear(query_input[:, :, -1:] if last_only else query_input, p["W_Q"], p.get("b_Q"))
        k, v = linear_together(p, x, "KV")
    else:
        q, k, v = linear_together(p, x, "QKV")
    q, k, v = (heads(part, n_heads) for part in (q, k, v))
    logits = q @ k.mT * (1 / math.sqrt(q.shape[-1]))
    if not last_only:
        logits = logits + causal_mask(x.shape[2], x.dtype, x.device)
    weights = logits.softmax(dim=-1)
    mixed = (weights @ v).transpose(2, 3).flatten(3)
    return linear(mixed, p["W_O"], p.get("b_O")), logits, weights


def linear_together(p: Mapping[str, Tensor], x: Tensor, names: str) -> tuple[Tensor, ...]:
    """Return x W + b for several linear maps in one product, which is faster than one for each."""
    return linear(x, *joined(p, names)).chunk(len(names), dim=-1)


def joined(p: Mapping[str, Tensor], names: str, prefix: str = "") -> tuple[Tensor, Tensor | None]:
    """Return the matrices of several linear maps, such as "QKV", side by side, and their biases if any."""
    weight = torch.cat([p[f"{prefix}W_{name}"] for name in names], dim=-1)
    if f"{prefix}b_{names[0]}" not in p:
        return weight, None
    return weight, torch.cat([p[f"{prefix}b_{name}"] for name in names], dim=-1)


def causal_mask(length: int, dtype: torch.dtype, device: torch.device) -> Tensor:
    """Return 0 where position i may look at j ≤ i, −∞ elsewhere, shape (L, L)."""
    return torch.full((length, length), -math.inf, dtype=dtype, device=device).triu(1)


def heads(x: Tensor, n_heads: int) -> Tensor:
    """Split the width among heads: (M, B, L, H d_k) → (M, B, H, L, d_k)."""
    return x.view(*x.shape[:3], n_heads, x.shape[-1] // n_heads).transpose(2, 3)
