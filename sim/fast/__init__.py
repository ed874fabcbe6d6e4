"""Each member's loss and the gradients of all its tensors: autograd's numbers for less work.

Gradients are written out, piece by piece. Each piece is a pair of functions: one forward, which also returns
what its derivative needs, and one backward, from the loss's gradient in the output to that in the input;
gradients of parameters are put into a dictionary. The same numbers as autograd's (a test compares them for
every kind of model), without its bookkeeping, its copies and its separate products, which cost as much as a
third of a step on a CPU. The models as one would write them are in ``sim.models``; one that
has no twin here trains with autograd.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from sim.config.model import EmbMLPConfig, ModelSection, OneLayerConfig, TransformerConfig
from sim.fast.emb_mlp import emb_mlp
from sim.fast.transformer import transformer
from sim.models.base import model_of
from sim.models.layers import Parameters

__all__ = ["gradients_of", "losses_and_gradients"]

Twin = Callable[[Parameters, Tensor, Tensor, Any], tuple[Tensor, Parameters]]
TWINS: dict[type[ModelSection], Twin] = {
    EmbMLPConfig: emb_mlp,
    OneLayerConfig: transformer,
    TransformerConfig: transformer,
}
"""Gradients written out, for the sections that have them."""


def gradients_of(model: ModelSection) -> Callable[[Parameters, Tensor, Tensor], tuple[Tensor, Parameters]]:
    """Return what computes a model's losses and gradients: its twin, or autograd."""
    twin = TWINS.get(type(model))
    if twin is None:
        return model_of(model).losses_and_gradients

    @torch.no_grad()
    def by_hand(parameters: Parameters, tokens: Tensor, labels: Tensor) -> tuple[Tensor, Parameters]:
        losses, found = twin(parameters, tokens, labels, model)
        return losses, {name: found[name] for name in parameters}

    return by_hand


def losses_and_gradients(
    parameters: Parameters, tokens: Tensor, labels: Tensor, model: ModelSection
) -> tuple[Tensor, Parameters]:
    """Return each member's mean cross entropy and its gradients.

    Parameters
    ----------
    parameters : dict of Tensor, each of shape (M, ...)
    tokens : Tensor of int64, shape (M, B, L)
    labels : Tensor of int64, shape (M, B)
    model : ModelSection

    Returns
    -------
    losses : Tensor, shape (M,)
        In nats: of the labels, or with ``loss = "next-token"`` of every next token too, the label being what
        comes after the last.
    gradients : dict of Tensor
        Of each member's loss in its own tensors, in the order of ``parameters``.
    """
    return gradients_of(model)(parameters, tokens, labels)
