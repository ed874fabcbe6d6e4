"""Each member's loss and the gradients of all its tensors: autograd's numbers for less work.

See ``sim.backward`` for the pieces and for why they exist.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from sim.backward import (
    DERIVATIVES,
    IN_PLACE,
    Attention,
    Norm,
    add_bias,
    input_gradient,
    last_rows,
    mlp,
    mlp_backward,
    weight_gradient,
)
from sim.layers import Parameters, look_up, member_product, own_rows
from sim.model_config import AttentionModel, EmbMLPConfig, ModelConfig

ops: Any = torch.ops.aten


@torch.no_grad()
def losses_and_gradients(
    parameters: Parameters, tokens: Tensor, labels: Tensor, model: ModelConfig
) -> tuple[Tensor, Parameters]:
    """Return each member's mean cross entropy and its gradients.

    Parameters
    ----------
    parameters : dict of Tensor, each of shape (M, ...)
    tokens : Tensor of int64, shape (M, B, L)
    labels : Tensor of int64, shape (M, B)
    model : ModelConfig

    Returns
    -------
    losses : Tensor, shape (M,)
        In nats: of the labels, or with ``loss = "next-token"`` of every next token too, the label being what
        comes after the last.
    gradients : dict of Tensor
        Of each member's loss in its own tensors, in the order of ``parameters``.
    """
    if isinstance(model, EmbMLPConfig):
        losses, found = _emb_mlp(parameters, tokens, labels, model)
    else:
        losses, found = _transformer(parameters, tokens, labels, model)
    return losses, {name: found[name] for name in parameters}


def cross_entropy(logits: Tensor, labels: Tensor) -> tuple[Tensor, Tensor]:
    """Return the mean over rows, shape (M,), and its gradient in the logits, shape (M, R, d)."""
    log_p = logits.log_softmax(dim=-1)
    index = labels.unsqueeze(-1)
    losses = -log_p.gather(-1, index).mean(dim=(1, 2))
    rows = labels.shape[1]
    gradient = log_p.exp_().div_(rows)
    minus = torch.full((1, 1, 1), -1.0 / rows, dtype=logits.dtype, device=logits.device)
    return losses, gradient.scatter_add_(-1, index, minus.expand(index.shape))


def table_gradient(table: Tensor, tokens: Tensor, dy: Tensor) -> Tensor:
    """Return the gradient of a look-up: each row of dy, (M, R, width), added to its token's row."""
    members, rows, width = table.shape
    if dy.is_cuda:
        # A product with one-hot rows: no atomic additions, whose order changes from run to run.
        flat = tokens.flatten(1)
        one_hot = dy.new_zeros(members, rows, flat.shape[1]).scatter_(1, flat[:, None], 1.0)
        return torch.bmm(one_hot, dy.reshape(members, -1, width))
    index = own_rows(tokens, rows)
    found: Tensor = ops.embedding_dense_backward(
        dy.reshape(*index.shape, width), index, members * rows, -1, False
    )
    return found.view(members, rows, width)


def _emb_mlp(p: Parameters, tokens: Tensor, labels: Tensor, model: EmbMLPConfig) -> tuple[Tensor, Parameters]:
    W_emb = p["W_emb"]
    members, vocab, width = W_emb.shape
    bags = own_rows(tokens, vocab).flatten(0, 1)
    sums = torch.nn.functional.embedding_bag(bags, W_emb.reshape(-1, width), mode="sum")
    sums = sums.view(members, -1, width)
    before = member_product(sums, p["W1"])
    hidden = IN_PLACE[model.activation](before)
    losses, dy = cross_entropy(member_product(hidden, p["W2"]), labels)
    dh = DERIVATIVES[model.activation](input_gradient(dy, p["W2"]), hidden, before)
    each = input_gradient(dh, p["W1"])[:, :, None].expand(-1, -1, tokens.shape[2], -1)
    return losses, {
        "W_emb": table_gradient(W_emb, tokens, each),
        "W1": weight_gradient(sums, dh),
        "W2": weight_gradient(hidden, dy),
    }


class _Layer:
    """One layer: h = x + Attn(x), x' = h + MLP(h), with the norms where the model has them."""

    def __init__(
        self, model: AttentionModel, layer: int, sizes: tuple[int, int, int], last_only: bool
    ) -> None:
        self.prefix, self.model, self.sizes, self.last_only = f"{layer}.", model, sizes, last_only
        self.attention = Attention(self.prefix, model, sizes, last_only)
        self.norms = [Norm(f"{self.prefix}{name}", model.norm_epsilon) for name in ("ln1", "ln2")]

    def forward(self, p: Parameters, x: Tensor) -> tuple[Tensor, list[Any]]:
        """Return the layer's output, (M, B L or B, d_m), and what its derivative needs."""
        saved: list[Any] = [None] * 4
        pre, post = self.model.norm == "pre", self.model.norm == "post"
        first, second = self.norms
        seen, saved[0] = first.forward(p, x) if pre else (x, None)
        h, saved[1] = self.attention.forward(p, seen)
        h.add_(last_rows(x, self.sizes) if self.last_only else x)
        if post:
            h, saved[0] = first.forward(p, h)
        seen, saved[2] = second.forward(p, h) if pre else (h, None)
        y, saved[3] = mlp(p, self.prefix, seen, self.model.activation)
        y.add_(h)
        if post:
            y, saved[2] = second.forward(p, y)
        return y, saved

    def backward(self, p: Parameters, saved: list[Any], dy: Tensor, found: Parameters) -> Tensor:
        """Return dx, (M, B L, d_m)."""
        pre, post = self.model.norm == "pre", self.model.norm == "post"
        first, second = self.norms
        if post:
            dy = second.backward(p, saved[2], dy, found)
        dh = mlp_backward(p, self.prefix, saved[3], dy, self.model.activation, found)
        if pre:
            dh = second.backward(p, saved[2], dh, found)
        dh.add_(dy)
        if post:
            dh = first.backward(p, saved[0], dh, found)
        dx = self.attention.backward(p, saved[1], dh, found)
        if pre:
            dx = first.backward(p, saved[0], dx, found)
        (last_rows(dx, self.sizes) if self.last_only else dx).add_(dh)
        return dx


def _transformer(
    p: Parameters, tokens: Tensor, labels: Tensor, model: AttentionModel
) -> tuple[Tensor, Parameters]:
    sizes = members, batch, length = *tokens.shape[:2], tokens.shape[2]
    every = model.loss == "next-token"
    x = look_up(p["W_E"], tokens)
    if "W_pos" in p:
        x.add_(p["W_pos"][:, None, :length])
    x = x.flatten(1, 2)
    n = model.n_layers
    layers = [_Layer(model, i, sizes, last_only=i == n - 1 and not every) for i in range(n)]
    saved = []
    for layer in layers:
        x, own = layer.forward(p, x)
        saved.append(own)
    targets = torch.cat([tokens[..., 1:], labels[..., None]], dim=-1).flatten(1) if every else labels
    found: Parameters = {}
    losses, dx = _read_out(p, x, targets, model, found)
    for layer, own in zip(reversed(layers), reversed(saved), strict=True):
        dx = layer.backward(p, own, dx, found)
    found["W_E"] = table_gradient(p["W_E"], tokens, dx)
    if "W_pos" in p:
        found["W_pos"] = _position_gradient(p["W_pos"], dx.view(members, batch, length, -1).sum(1))
    return losses, found


def _read_out(
    p: Parameters, x: Tensor, targets: Tensor, model: AttentionModel, found: Parameters
) -> tuple[Tensor, Tensor]:
    """Return the losses and the gradient of the last layer's output."""
    norm = Norm("ln_final", model.norm_epsilon)
    pre = model.norm == "pre"
    x, saved = norm.forward(p, x) if pre else (x, ())
    logits = add_bias(member_product(x, p["W_U"]), p.get("b_U")) if "W_U" in p else x
    losses, dy = cross_entropy(logits, targets)
    if "W_U" in p:
        found["W_U"] = weight_gradient(x, dy)
        if "b_U" in p:
            found["b_U"] = dy.sum(1)
        dy = input_gradient(dy, p["W_U"])
    return losses, norm.backward(p, saved, dy, found) if pre else dy


def _position_gradient(W_pos: Tensor, dx: Tensor) -> Tensor:
    """Return the gradient of the position vectors, of which short sequences use the first alone."""
    if dx.shape == W_pos.shape:
        return dx
    gradient = torch.zeros_like(W_pos)
    gradient[:, : dx.shape[1]] = dx
    return gradient
