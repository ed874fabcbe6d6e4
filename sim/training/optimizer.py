"""One step of AdamW or SGD for each member, with its own learning rate, weight decay, clipping and state."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, TypeVar

import torch
from torch import Tensor

from sim.config.run import TrainingConfig
from sim.models.layers import Parameters

_GUARD = 1e-6
"""Against division by zero, as in torch.nn.utils.clip_grad_norm_."""
_Norm = TypeVar("_Norm", float, Tensor)


def by_member(tensors: Parameters) -> list[list[Tensor]]:
    """Return each member's views of the tensors; a single member gets the tensors themselves, at no cost."""
    members = len(next(iter(tensors.values())))
    if members == 1:
        return [list(tensors.values())]
    return [[tensor[m] for tensor in tensors.values()] for m in range(members)]


def clip_divisor(norm: _Norm, largest: float) -> _Norm:
    """Return the number to divide a gradient by if it is above 1; with ``largest`` 0 it never is."""
    return (norm + _GUARD) / (largest or math.inf)


class Optimizer:
    """The moments of all members and the number of steps they have taken; ``parameters`` change in place."""

    def __init__(self, parameters: Parameters, trainings: Sequence[TrainingConfig]) -> None:
        self.trainings, self.step, self.parameters = trainings, 0, parameters
        self.first = {name: torch.zeros_like(p) for name, p in parameters.items()}
        self.second = {name: torch.zeros_like(p) for name, p in parameters.items()}
        own = next(iter(parameters.values()))
        self.decays = own.new_tensor([training.weight_decay for training in trainings])
        # Made once: about a hundred views per step would cost as much as the step's arithmetic.
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

        ``step`` is counted from 1, ``divisor`` divides the gradients (``clip_divisor``; those in float64 are
        overwritten), and ``frozen`` is 1 for a member that keeps its weights; each of shape ().
        """
        (weights, first, second), training = self._views[member], self.trainings[member]
        if divisor is not None and gradients[0].dtype != torch.float32:
            # torch's fused step divides in float32 only.
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
        self, gradients: Parameters, norms: Tensor, rates: Tensor, step: Tensor, failed_at: Tensor
    ) -> None:
        """Take every member's AdamW step in place, in operations that a compiler fuses into a kernel or two.

        ``norms`` (of the gradients), ``rates`` and ``failed_at`` have shape (M,); a member whose
        ``failed_at`` is 0 or more stays as it is. ``update`` gives the same numbers up to rounding, but takes
        members one by one, with few threads for tensors this small.
        """
        divisors = clip_divisor(norms, self.trainings[0].clip_norm).clamp(min=1.0)
        beta1, beta2, epsilon = (getattr(self.trainings[0], name) for name in ("beta1", "beta2", "epsilon"))
        correction1, correction2 = (1.0 - beta ** step.double() for beta in (beta1, beta2))
        for name, gradient in gradients.items():
            own = (-1,) + (1,) * (gradient.ndim - 1)
            rate, moves = rates.view(own), failed_at.view(own) < 0
            weights, first, second = self.parameters[name], self.first[name], self.second[name]
            gradient = gradient / divisors.view(own)
            new_first = beta1 * first + (1.0 - beta1) * gradient
            new_second = beta2 * second + (1.0 - beta2) * gradient.square()
            change = new_first / correction1 / ((new_second / correction2).sqrt() + epsilon)
            new = weights - rate * (self.decays.view(own) * weights + change)
            for old, found in ((first, new_first), (second, new_second), (weights, new)):
                old.copy_(torch.where(moves, found, old))
