"""Each member's loss and the gradients of all its tensors: autograd's numbers with less work.

The models are written plainly in ``sim.models``, and train with autograd; those that are trained most are
registered with hand-written gradients from this package (``sim.fast.layers``).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import torch
from torch import Tensor

from sim.config.model import ModelSection
from sim.models.base import model_of, registered
from sim.models.layers import Parameters

Found = tuple[Tensor, Parameters, Tensor]
"""Each member's loss, its gradients and their norm."""
Gradients = Callable[[Parameters, Tensor, Tensor], Found]
"""A function of parameters, tokens and labels."""


def gradients_of(section: ModelSection) -> Callable[[Parameters, Tensor, Tensor], tuple[Tensor, Parameters]]:
    """Return a function that gives a model's losses (M,) in nats and gradients, by hand or by autograd.

    It takes parameters, tokens (M, B, L) and labels (M, B), which follow the last tokens.
    """
    _, hand_written = registered(section)
    if hand_written is None:
        return model_of(section).losses_and_gradients

    @torch.no_grad()
    def by_hand(parameters: Parameters, tokens: Tensor, labels: Tensor) -> tuple[Tensor, Parameters]:
        losses, gradients = hand_written(parameters, tokens, labels, section)
        return losses, {name: gradients[name] for name in parameters}

    return by_hand


def torch_gradients(model: ModelSection, trained: Sequence[str]) -> Gradients:
    """Return a function that gives losses, gradients of trained tensors and their norms (M,), in torch."""
    take = gradients_of(model)

    def losses_gradients_norms(parameters: Parameters, tokens: Tensor, labels: Tensor) -> Found:
        losses, gradients = take(parameters, tokens, labels)
        gradients = {name: gradients[name] for name in trained}
        tensors = list(gradients.values())
        if tensors[0].is_cuda and not torch.compiler.is_compiling():  # Two kernels, not one for each tensor.
            norms = list(torch._foreach_norm([of_member for tensor in tensors for of_member in tensor]))
        else:
            norms = [torch.linalg.vector_norm(tensor.flatten(1), dim=1) for tensor in tensors]
        return losses, gradients, torch.linalg.vector_norm(torch.stack(norms).view(len(tensors), -1), dim=0)

    return losses_gradients_norms
