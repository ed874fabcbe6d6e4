"""Each member's loss and the gradients of all its tensors: autograd's numbers for less work.

Gradients are written out, piece by piece. Each piece is a pair of functions: one forward, which also returns
what its derivative needs, and one backward, from the loss's gradient in the output to that in the input;
gradients of parameters are put into a dictionary. The same numbers as autograd's (a test compares them for
every kind of model), without its bookkeeping, its copies and its separate products, which cost as much as a
third of a step on a CPU. The models as one would write them are in ``sim.models.emb_mlp``.
"""

from __future__ import annotations

import torch
from torch import Tensor

from sim.config.model import EmbMLPConfig, ModelConfig
from sim.fast.emb_mlp import emb_mlp
from sim.fast.transformer import transformer
from sim.models.layers import Parameters

__all__ = ["losses_and_gradients"]


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
        losses, found = emb_mlp(parameters, tokens, labels, model)
    else:
        losses, found = transformer(parameters, tokens, labels, model)
    return losses, {name: found[name] for name in parameters}
