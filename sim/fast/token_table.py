r"""The first layer's projections by table: its input is the sum of a token's and a position's vector.

A row of the first layer's input is :math:`x = e_s + p_i`, token s at position i. Its projection
:math:`x W = e_s W + p_i W` takes the products of d + L rows instead of all B L of a batch. This also works
with a pre norm, which, with a bar for a vector less its own mean, is

.. math:: r_{si}\, (\bar e_s + \bar p_i) \odot \mathrm{gain} + \mathrm{bias},
    \qquad r_{si} = (\|\bar e_s + \bar p_i\|^2 / d_m + ε)^{-1/2},

linear in the tables except for one number per row. Results are those of ``RowProjections`` up to rounding.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from sim.fast.layers import Norm, add_bias, input_gradient, store_projections, table_gradient, weight_gradient
from sim.models.layers import Parameters, joined, look_up


def pays(vocab_size: int, batch: int, length: int) -> bool:
    """Return whether the tables have so few rows that they are less work than the batch."""
    return 2 * (vocab_size + length) <= batch * length


@dataclass(frozen=True)
class TableProjections:
    """Projections of tokens (M, B, L), made once for each token of the vocabulary and each position."""

    prefix: str
    norm: Norm | None
    tokens: Tensor

    def forward(self, p: Parameters, x: Tensor) -> tuple[Tensor, tuple[Any, ...]]:
        """Return (M, B L, 3 H d_k) for x of shape (M, B L, d_m), and what the derivative needs."""
        weight, bias = joined(p, "QKV", self.prefix)
        centred, seen = self._tables(p)
        of_tokens, of_positions, shift = self._split_rows(p, torch.bmm(seen, weight))
        y = look_up(of_tokens, self.tokens).add_(of_positions[:, None]).flatten(1, 2)
        scale = None
        if self.norm is not None:
            x = x - x.mean(-1, keepdim=True)
            variance = torch.linalg.vecdot(x, x)[..., None] / x.shape[-1]
            scale = variance.add_(self.norm.epsilon).rsqrt_()
            y.mul_(scale)
            if shift.shape[1]:
                bias = shift[:, 0] + (0 if bias is None else bias)
        return add_bias(y, bias), (x, centred, seen, weight, bias, scale, y)

    def backward(self, p: Parameters, saved: tuple[Any, ...], dy: Tensor, found: Parameters) -> Tensor | None:
        """Return the part of dx that comes through the scale r, or None without a norm.

        All other gradients, including W_E's and W_pos's through the projections, are put into ``found``.
        """
        x, centred, seen, weight, bias, scale, y = saved
        scaled = dy if scale is None else dy * scale
        # Each row of the tables went into many rows of the batch.
        of_tokens = table_gradient(p["W_E"].shape[1], self.tokens, scaled)
        parts = [of_tokens, scaled.view(*self.tokens.shape, -1).sum(1)]
        if seen.shape[1] > centred.shape[1]:
            parts.append(dy.sum(1, keepdim=True))
        d_mapped = torch.cat(parts, dim=1)
        store_projections(p, self.prefix, weight_gradient(seen, d_mapped), dy, found)
        d_rows, dx = input_gradient(d_mapped, weight), None
        if self.norm is not None:
            # r times the gradient of r.
            along = torch.linalg.vecdot(dy, y if bias is None else y - bias[:, None])[..., None]
            dx = x.mul_(along * scale.square() / -x.shape[-1])
            n = centred.shape[1]
            found[f"{self.norm.prefix}.w"] = (d_rows[:, :n] * centred).sum(1)
            if d_rows.shape[1] > n:
                found[f"{self.norm.prefix}.b"] = d_rows[:, n].contiguous()
            d_rows = d_rows[:, :n] * p[f"{self.norm.prefix}.w"][:, None]
            d_rows.sub_(d_rows.mean(-1, keepdim=True))
        found["W_E"], d_positions, _ = self._split_rows(p, d_rows)
        if "W_pos" in p:
            found["W_pos"] = d_positions
        return dx

    def _tables(self, p: Parameters) -> tuple[Tensor, Tensor]:
        """Return the tables' rows, centred if there is a norm, and the rows that the projections see.

        Rows are tokens, then positions; the projections see the norm's bias, if it has one, as a last row.
        """
        W_E, length = p["W_E"], self.tokens.shape[-1]
        positions = p["W_pos"][:, :length] if "W_pos" in p else W_E.new_zeros(len(W_E), length, W_E.shape[-1])
        rows = torch.cat([W_E, positions], dim=1)
        if self.norm is None:
            return rows, rows
        rows -= rows.mean(-1, keepdim=True)
        seen = rows * p[f"{self.norm.prefix}.w"][:, None]
        bias = p.get(f"{self.norm.prefix}.b")
        return rows, seen if bias is None else torch.cat([seen, bias[:, None]], dim=1)

    def _split_rows(self, p: Parameters, rows: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """Return the rows of tokens, the rows of positions, and any rows below them."""
        vocab, length = p["W_E"].shape[1], self.tokens.shape[-1]
        return rows[:, :vocab], rows[:, vocab : vocab + length], rows[:, vocab + length :]
