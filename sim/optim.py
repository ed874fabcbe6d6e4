"""One optimiser step for every member, with its own learning rate, clipping and state."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor
from torch.optim.adamw import adamw
from torch.optim.sgd import sgd

from sim.config import TrainingConfig
from sim.layers import Parameters


def learning_rate(training: TrainingConfig, step: int, steps_per_epoch: int) -> float:
    """Return the learning rate of a step, counted from 0."""
    if training.schedule == "constant":
        return training.learning_rate
    warmup = training.warmup_epochs * steps_per_epoch
    peak = training.learning_rate * training.warmup_factor
    if step < warmup:
        return training.learning_rate + (peak - training.learning_rate) * step / warmup
    total = training.epochs * steps_per_epoch
    progress = (step - warmup) / max(total - warmup - 1, 1)
    final = training.final_learning_rate
    return final + (peak - final) * (1 + math.cos(math.pi * progress)) / 2


def clip(gradients: Parameters, largest: float) -> Tensor:
    """Scale each member's gradients in place to norm ``largest`` at most; return the norms before.

    ``largest = 0`` switches clipping off. The norm is over all of a member's tensors; shape (M,).
    """
    each = [torch.linalg.vector_norm(g, dim=tuple(range(1, g.ndim))) for g in gradients.values()]
    norms: Tensor = torch.linalg.vector_norm(torch.stack(each), dim=0)
    if largest > 0:
        # The same guard against division by zero as torch.nn.utils.clip_grad_norm_.
        scale = (largest / (norms + 1e-6)).clamp(max=1.0)
        for gradient in gradients.values():
            gradient.mul_(scale.view(-1, *[1] * (gradient.ndim - 1)))
    return norms


@dataclass
class OptimizerState:
    """The moments of AdamW, or the momentum of SGD, for all members; and their step count."""

    first: Parameters
    second: Parameters
    step: int = 0

    @classmethod
    def zeros(cls, parameters: Parameters) -> OptimizerState:
        """Return the state before the first step."""
        return cls(
            {name: torch.zeros_like(p) for name, p in parameters.items()},
            {name: torch.zeros_like(p) for name, p in parameters.items()},
        )


@torch.no_grad()
def update(
    parameters: Parameters,
    gradients: Parameters,
    state: OptimizerState,
    trainings: Sequence[TrainingConfig],
    rates: Sequence[float],
    alive: Sequence[int],
) -> None:
    """Take one step in place for the members that are alive; the others keep their weights.

    Members share the optimiser; learning rate and weight decay are each one's own.
    """
    step = adamw_step if trainings[0].optimizer == "adamw" else sgd_step
    for member in alive:
        tensors = [
            [part[name][member] for name in parameters]
            for part in (parameters, gradients, state.first, state.second)
        ]
        step(tensors, state.step, trainings[member], rates[member])
    state.step += 1


def adamw_step(tensors: list[list[Tensor]], step: int, training: TrainingConfig, rate: float) -> None:
    """Take one member's AdamW step with torch's own fused kernel.

    ``tensors`` holds its weights, gradients, first and second moments, each a list over tensors.
    """
    weights, gradients, first, second = tensors
    adamw(
        weights,
        gradients,
        first,
        second,
        [],
        [torch.tensor(float(step)) for _ in weights],
        fused=True,
        amsgrad=False,
        beta1=training.beta1,
        beta2=training.beta2,
        lr=rate,
        weight_decay=training.weight_decay,
        eps=training.epsilon,
        maximize=False,
    )


def sgd_step(tensors: list[list[Tensor]], _: int, training: TrainingConfig, rate: float) -> None:
    """Take one member's SGD step with torch's own fused kernel; ``tensors`` as in ``adamw_step``."""
    weights, gradients, momenta, _unused = tensors
    sgd(
        weights,
        gradients,
        [m if training.momentum > 0 else None for m in momenta],
        fused=True,
        weight_decay=training.weight_decay,
        momentum=training.momentum,
        lr=rate,
        dampening=0.0,
        nesterov=False,
        maximize=False,
    )
