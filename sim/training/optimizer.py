"""One optimiser step for every member, with its own learning rate, clipping and state."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor

from sim.config.run import TrainingConfig
from sim.models.layers import Parameters


def by_member(tensors: Parameters) -> list[list[Tensor]]:
    """Return each member's views of the tensors; a member alone has them as they are, which costs nothing."""
    members = len(next(iter(tensors.values())))
    if members == 1:
        return [list(tensors.values())]
    return [[tensor[m] for tensor in tensors.values()] for m in range(members)]


def clip_divisor(norm: float, largest: float) -> float:
    """Return what a gradient is to be divided by to have norm ``largest`` at most; 0: no clipping."""
    # The same guard against division by zero as torch.nn.utils.clip_grad_norm_.
    return max((norm + 1e-6) / largest, 1.0) if largest > 0 else 1.0


def clip_divisors(norms: Tensor, largest: float) -> Tensor | None:
    """Return the same for every member, on the device, shape (M,); None with clipping off."""
    return ((norms + 1e-6) / largest).clamp(min=1.0) if largest > 0 else None


class Optimizer:
    """AdamW or SGD for all members, each with its own learning rate, weight decay and clipping.

    Parameters
    ----------
    parameters : dict of Tensor, each of shape (M, ...)
        Changed in place.
    trainings : sequence of TrainingConfig
        One for each member; they share the optimiser.
    """

    def __init__(self, parameters: Parameters, trainings: Sequence[TrainingConfig]) -> None:
        self.trainings = trainings
        self._take = {"adamw": self._adamw, "sgd": self._sgd}[trainings[0].optimizer]
        self.first = {name: torch.zeros_like(p) for name, p in parameters.items()}
        self.second = {name: torch.zeros_like(p) for name, p in parameters.items()}
        self.step = 0
        # Made once: some hundred views a step would cost as much as the step's arithmetic.
        parts = [by_member(part) for part in (parameters, self.first, self.second)]
        self._views = [list(own) for own in zip(*parts, strict=True)]

    def update(
        self,
        gradients: Parameters,
        divisors: Sequence[float],
        rates: Sequence[float],
        alive: Sequence[int],
    ) -> None:
        """Take one step in place for the members that are alive; the others keep their weights.

        Each member has its own divisor of the gradient (``clip_divisor``) and its own learning rate.
        """
        steps = [torch.tensor(float(self.step + 1))] * len(gradients)
        views = by_member(gradients)
        for member in alive:
            own, divisor = views[member], divisors[member]
            clip = torch.tensor(divisor, dtype=own[0].dtype) if divisor > 1 else None
            self._take(member, own, rates[member], steps, clip)
        self.step += 1

    def update_on_device(
        self, gradients: Parameters, divisors: Tensor | None, rates: Tensor, step: Tensor, frozen: Tensor
    ) -> None:
        """Take one step without reading anything from the device.

        Parameters
        ----------
        gradients : dict of Tensor
        divisors : Tensor of shape (M,) or None
            As ``clip_divisors`` gives them.
        rates : Tensor of float32, shape (M,)
            Learning rates.
        step : Tensor of float32, shape ()
            The number of this step, counted from 1.
        frozen : Tensor of float32, shape (M,)
            1 for the members that keep their weights.
        """
        for member, own in enumerate(by_member(gradients)):
            divisor = None if divisors is None else divisors[member]
            self._take(member, own, rates[member], [step] * len(own), divisor, frozen[member])

    def _adamw(
        self,
        member: int,
        gradients: list[Tensor],
        rate: float | Tensor,
        steps: list[Tensor],
        divisor: Tensor | None,
        frozen: Tensor | None = None,
    ) -> None:
        weights, first, second = self._views[member]
        training = self.trainings[member]
        torch._fused_adamw_(
            weights,
            gradients,
            first,
            second,
            [],
            steps,
            lr=rate,
            beta1=training.beta1,
            beta2=training.beta2,
            weight_decay=training.weight_decay,
            eps=training.epsilon,
            amsgrad=False,
            maximize=False,
            grad_scale=_left_to_divide(gradients, divisor),
            found_inf=frozen,
        )

    def _sgd(
        self,
        member: int,
        gradients: list[Tensor],
        rate: float | Tensor,
        _: list[Tensor],
        divisor: Tensor | None,
        frozen: Tensor | None = None,
    ) -> None:
        weights, momenta, _unused = self._views[member]
        training = self.trainings[member]
        torch._fused_sgd_(
            weights,
            gradients,
            momenta if training.momentum > 0 else [],
            weight_decay=training.weight_decay,
            momentum=training.momentum,
            lr=rate,
            dampening=0.0,
            nesterov=False,
            maximize=False,
            is_first_step=False,
            grad_scale=_left_to_divide(gradients, divisor),
            found_inf=frozen,
        )


def _left_to_divide(gradients: list[Tensor], divisor: Tensor | None) -> Tensor | None:
    """Return the divisor if torch's fused step can divide by it, which it does in float32 alone."""
    if divisor is None or gradients[0].dtype == torch.float32:
        return divisor
    torch._foreach_div_(gradients, divisor)
    return None
