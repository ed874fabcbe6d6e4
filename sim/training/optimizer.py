"""One step of AdamW or SGD for each member, with its own learning rate, weight decay, clipping and state."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor

from sim.config.run import TrainingConfig
from sim.models.layers import Parameters

_GUARD = 1e-6
"""Against division by zero, as in torch.nn.utils.clip_grad_norm_."""


def by_member(tensors: Parameters) -> list[list[Tensor]]:
    """Return each member's views of the tensors; a member alone has them as they are, which costs nothing."""
    members = len(next(iter(tensors.values())))
    if members == 1:
        return [list(tensors.values())]
    return [[tensor[m] for tensor in tensors.values()] for m in range(members)]


def clip_divisor(norm: float, largest: float) -> float:
    """Return what a gradient is to be divided by to have norm ``largest`` at most; 0: no clipping."""
    return max((norm + _GUARD) / largest, 1.0) if largest > 0 else 1.0


def clip_divisors(norms: Tensor, largest: float) -> Tensor | None:
    """Return the same for every member, on the device, shape (M,); None with clipping off."""
    return ((norms + _GUARD) / largest).clamp(min=1.0) if largest > 0 else None


class Optimizer:
    """The moments of all members and the number of steps they have taken; ``parameters`` change in place."""

    def __init__(self, parameters: Parameters, trainings: Sequence[TrainingConfig]) -> None:
        self.trainings, self.step = trainings, 0
        self.first = {name: torch.zeros_like(p) for name, p in parameters.items()}
        self.second = {name: torch.zeros_like(p) for name, p in parameters.items()}
        # Made once: some hundred views a step would cost as much as the step's arithmetic.
        parts = [by_member(part) for part in (parameters, self.first, self.second)]
        self._views = list(zip(*parts, strict=True))

    def update(
        self,
        member: int,
        gradients: list[Tensor],
        rate: float | Tensor,
        step: Tensor,
        divisor: Tensor | None,
        frozen: Tensor | None = None,
    ) -> None:
        """Take one member's step in place; on a GPU nothing is read from the device.

        ``step`` is counted from 1, ``divisor`` divides the gradients (``clip_divisor``), which change in
        float64, and ``frozen`` is 1 for a member that keeps its weights; each of shape (), in float32.
        """
        weights, first, second = self._views[member]
        training = self.trainings[member]
        if divisor is not None and gradients[0].dtype != torch.float32:
            # torch's fused step divides in float32 alone.
            torch._foreach_div_(gradients, divisor)
            divisor = None
        how: Any = {"lr": rate, "weight_decay": training.weight_decay, "maximize": False}
        how |= {"grad_scale": divisor, "found_inf": frozen}
        if training.optimizer == "sgd":
            momenta = first if training.momentum > 0 else []
            how |= {"momentum": training.momentum, "dampening": 0.0, "nesterov": False}
            torch._fused_sgd_(weights, gradients, momenta, is_first_step=False, **how)
        else:
            how |= {"beta1": training.beta1, "beta2": training.beta2, "eps": training.epsilon}
            steps = [step] * len(gradients)
            torch._fused_adamw_(weights, gradients, first, second, [], steps, amsgrad=False, **how)
