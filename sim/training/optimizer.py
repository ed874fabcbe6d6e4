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
        self.trainings, self.step, self.parameters = trainings, 0, parameters
        self.first = {name: torch.zeros_like(p) for name, p in parameters.items()}
        self.second = {name: torch.zeros_like(p) for name, p in parameters.items()}
        own = next(iter(parameters.values()))
        self.decays = own.new_tensor([training.weight_decay for training in trainings])
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

    def adamw_together(
        self, gradients: Parameters, rates: Tensor, step: Tensor, divisors: Tensor | None, frozen: Tensor
    ) -> None:
        """Take every member's AdamW step in place, in operations that a compiler joins to a kernel or two.

        The arguments are those of ``update``, one for each member, shape (M,); the same numbers up to
        rounding. torch's fused step takes members one by one, with few threads for tensors this small.
        """
        beta1, beta2, epsilon = (getattr(self.trainings[0], name) for name in ("beta1", "beta2", "epsilon"))
        correction1, correction2 = (1.0 - beta ** step.double() for beta in (beta1, beta2))
        for name, gradient in gradients.items():
            own = (-1,) + (1,) * (gradient.ndim - 1)
            rate, moves = rates.view(own), frozen.view(own) == 0
            weights, first, second = self.parameters[name], self.first[name], self.second[name]
            if divisors is not None:
                gradient = gradient / divisors.view(own)
            new_first = beta1 * first + (1.0 - beta1) * gradient
            new_second = beta2 * second + (1.0 - beta2) * gradient.square()
            change = new_first / correction1 / ((new_second / correction2).sqrt() + epsilon)
            new = weights - rate * (self.decays.view(own) * weights + change)
            for old, found in ((first, new_first), (second, new_second), (weights, new)):
                old.copy_(torch.where(moves, found, old))
