"""Each member's loss and the gradients of all its tensors: autograd's numbers for less work.

The models as one would write them are in ``sim.models``; those that are trained most have a twin in this
package, with gradients written out (``sim.fast.layers``). A model without a twin trains with autograd.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import Tensor

from sim.config.model import EmbMLPConfig, GPT2Config, ModelSection, OneLayerConfig, TransformerConfig
from sim.fast.emb_mlp import emb_mlp
from sim.fast.gpt2 import gpt2
from sim.fast.transformer import transformer
from sim.models.base import model_of
from sim.models.layers import Parameters

Found = tuple[Tensor, Parameters, Tensor]
"""Each member's loss, its gradients and their norm."""
Gradients = Callable[[Parameters, Tensor, Tensor], Found]
"""From parameters, tokens and labels."""
Twin = Callable[[Parameters, Tensor, Tensor, Any], tuple[Tensor, Parameters]]
TWINS: dict[type[ModelSection], Twin] = {
    EmbMLPConfig: emb_mlp,
    OneLayerConfig: transformer,
    TransformerConfig: transformer,
    GPT2Config: gpt2,
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


def gradient_norms(gradients: Parameters) -> Tensor:
    """Return the norm of each member's gradient over all its tensors, shape (M,)."""
    each = [torch.linalg.vector_norm(gradient.flatten(1), dim=1) for gradient in gradients.values()]
    norms: Tensor = torch.linalg.vector_norm(torch.stack(each), dim=0)
    return norms


def torch_gradients(model: ModelSection, trained: Sequence[str]) -> Gradients:
    """Return what computes losses, gradients in what is trained and their norms, with torch's own kernels."""
    take = gradients_of(model)

    def gradients(parameters: Parameters, tokens: Tensor, labels: Tensor) -> Found:
        losses, found = take(parameters, tokens, labels)
        found = {name: found[name] for name in trained}
        return losses, found, gradient_norms(found)

    return gradients
