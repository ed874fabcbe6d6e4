"""The loss as it is defined, for autograd: what the gradients by hand are compared with."""

from __future__ import annotations

import torch
from torch import Tensor

from sim import label_logits
from sim.config.model import EmbMLPConfig, ModelConfig
from sim.models.layers import Parameters
from sim.models.transformer import transformer


def member_losses(parameters: Parameters, tokens: Tensor, labels: Tensor, model: ModelConfig) -> Tensor:
    """Return each member's mean cross entropy in nats, shape (M,).

    Of the labels, shape (M, batch); with ``loss = "next-token"`` of every next token too, the label being
    what comes after the last.
    """
    if model.loss == "next-token" and not isinstance(model, EmbMLPConfig):  # type: ignore[attr-defined]
        logits = transformer(parameters, tokens, model, every_position=True)
        targets = torch.cat([tokens[..., 1:], labels[..., None]], dim=-1)
    else:
        logits, targets = label_logits(parameters, tokens, model), labels
    each = torch.nn.functional.cross_entropy(logits.flatten(0, -2), targets.flatten(), reduction="none")
    return each.view(len(tokens), -1).mean(dim=1)
