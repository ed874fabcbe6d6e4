"""What a step is made of: gradients and their norms, and how they move members, each at its own rate."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import TypeVar

import torch
from torch import Tensor

from sim.config.model import ModelSection
from sim.config.training import Step, TrainingConfig
from sim.models.base import model_of
from sim.models.layers import Parameters
from theory import InputError

_GUARD = 1e-6
"""Against division by zero, as in torch.nn.utils.clip_grad_norm_."""
_Norm = TypeVar("_Norm", float, Tensor)
Found = tuple[Tensor, Parameters, Tensor]
"""Each member's loss, its gradients and their norm."""
Gradients = Callable[[Parameters, Tensor, Tensor], Found]
"""A function of parameters, tokens and labels."""


def torch_gradients(section: ModelSection, trained: Sequence[str]) -> Gradients:
    """Return a function that gives losses, gradients of trained tensors and their norms (M,), in torch."""
    model = model_of(section)

    def losses_gradients_norms(parameters: Parameters, tokens: Tensor, labels: Tensor) -> Found:
        losses, gradients = model.gradients(parameters, tokens, labels)
        gradients = {name: gradients[name] for name in trained}
        tensors = list(gradients.values())
        if tensors[0].is_cuda and not torch.compiler.is_compiling():  # Two kernels, not one for each tensor.
            norms = list(torch._foreach_norm([of_member for tensor in tensors for of_member in tensor]))
        else:
            norms = [torch.linalg.vector_norm(tensor.flatten(1), dim=1) for tensor in tensors]
        return losses, gradients, torch.linalg.vector_norm(torch.stack(norms).view(len(tensors), -1), dim=0)

    return losses_gradients_norms


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
    """What steps remember, and how many each member has taken; ``parameters`` change in place."""

    def __init__(self, parameters: Parameters, trainings: Sequence[TrainingConfig]) -> None:
        self.trainings, self.step, self.parameters = trainings, 0, parameters
        self.state: dict[str, Parameters] = {}
        for name, weight in parameters.items():
            for kind, tensor in trainings[0].initial_state(weight).items():
                self.state.setdefault(kind, {})[name] = tensor
        for kind, tensors in self.state.items():
            if any(n not in tensors or tensors[n].shape[:1] != w.shape[:1] for n, w in parameters.items()):
                problem = f"remembers no {kind} of each tensor, by member"
                remedy = "make it as weight.new_zeros(weight.shape), also where it is not needed"
                raise InputError("optimizer", trainings[0].optimizer, problem, remedy)
        first = next(iter(parameters.values()))
        self.decays = first.new_tensor([training.weight_decay for training in trainings])
        # Made once: about a hundred views per step would cost as much as the step's arithmetic.
        states = {kind: by_member(tensors) for kind, tensors in self.state.items()}
        self._views = [
            (weights, {kind: views[m] for kind, views in states.items()})
            for m, weights in enumerate(by_member(parameters))
        ]

    def update(self, member: int, gradients: list[Tensor], how: Step) -> None:
        """Take one member's step in place; gradients in float64 that are to be divided are overwritten."""
        if how.divisor is not None and gradients[0].dtype != torch.float32:
            # torch's fused step divides in float32 only.
            torch._foreach_div_(gradients, how.divisor)
            how = how._replace(divisor=None)
        weights, state = self._views[member]
        self.trainings[member].step_in_place(weights, gradients, state, how)

    def update_together(
        self, gradients: Parameters, norms: Tensor, rates: Tensor, number: Tensor, failed_at: Tensor
    ) -> None:
        """Take every member's step in place, in operations that a compiler fuses into a kernel or two.

        ``norms`` (of the gradients), ``rates`` and ``failed_at`` have shape (M,); a member whose
        ``failed_at`` is 0 or more stays as it is. ``update`` gives the same numbers up to rounding, but takes
        members one by one, with few threads for tensors this small.
        """
        training = self.trainings[0]
        divisors = clip_divisor(norms, training.clip_norm).clamp(min=1.0)
        for name, gradient in gradients.items():
            shape = (-1,) + (1,) * (gradient.ndim - 1)
            before = {kind: tensors[name] for kind, tensors in self.state.items()}
            rate, decay = rates.view(shape), self.decays.view(shape)
            weight, clipped = self.parameters[name], gradient / divisors.view(shape)
            new, after = training.step(weight, clipped, before, rate, decay, number)
            for old, moved in ((weight, new), *((before[kind], after[kind]) for kind in before)):
                old.copy_(torch.where(failed_at.view(shape) < 0, moved, old))
