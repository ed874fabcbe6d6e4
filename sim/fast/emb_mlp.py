"""The Emb-MLP's loss and gradients."""

from __future__ import annotations

import torch
from torch import Tensor

from sim.config.model import EmbMLPConfig
from sim.fast.layers import (
    DERIVATIVES,
    IN_PLACE,
    cross_entropy,
    input_gradient,
    table_gradient,
    weight_gradient,
)
from sim.models.layers import Parameters, own_rows


def emb_mlp(p: Parameters, tokens: Tensor, labels: Tensor, model: EmbMLPConfig) -> tuple[Tensor, Parameters]:
    """Return the losses, shape (M,), and the gradients."""
    W_emb = p["W_emb"]
    members, vocab, width = W_emb.shape
    bags = own_rows(tokens, vocab).flatten(0, 1)
    sums = torch.nn.functional.embedding_bag(bags, W_emb.reshape(-1, width), mode="sum")
    sums = sums.view(members, -1, width)
    before = torch.bmm(sums, p["W1"])
    hidden = IN_PLACE[model.activation](before)
    losses, dy = cross_entropy(torch.bmm(hidden, p["W2"]), labels)
    dh = DERIVATIVES[model.activation](input_gradient(dy, p["W2"]), hidden, before)
    each = input_gradient(dh, p["W1"])[:, :, None].expand(-1, -1, tokens.shape[2], -1)
    return losses, {
        "W_emb": table_gradient(vocab, tokens, each),
        "W1": weight_gradient(sums, dh),
        "W2": weight_gradient(hidden, dy),
    }
