"""Stochastic gradient descent, with momentum if asked for; weight decay is an L2 penalty."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar, Literal

from sim.config.section import tagged
from sim.config.training import TrainingConfig, register_optimizer

if TYPE_CHECKING:
    from torch import Tensor

    from sim.config.training import Rates, State, States, Step, Tensors
    from theory import SGDSettings


@register_optimizer
class SGD(TrainingConfig):
    """Training by SGD."""

    title: ClassVar[str] = "SGD"

    optimizer: Literal["sgd"] = tagged("paper", "sgd")
    """The update rule; each has settings of its own."""
    # AdamW's 0.01 as L2 at SGD's rates would shrink all weights before anything is learned.
    weight_decay: float = tagged("chosen", 0.0, ge=0)
    """λ; decoupled for AdamW, L2 for SGD, where it is 0 unless set."""
    momentum: float = tagged("chosen", 0.0, ge=0, lt=1)
    """SGD's momentum."""

    def initial_state(self, weight: Tensor) -> dict[str, Tensor]:
        return {"first": weight.new_zeros(weight.shape)} if self.momentum > 0 else {}

    def step(
        self, weight: Tensor, gradient: Tensor, state: State, rate: Rates, decay: Rates, number: Tensor
    ) -> tuple[Tensor, State]:
        step = gradient + decay * weight
        if self.momentum == 0:
            return weight - rate * step, {}
        step = self.momentum * state["first"] + step
        return weight - rate * step, {"first": step}

    def step_in_place(self, weights: Tensors, gradients: Tensors, state: States, how: Step) -> None:
        import torch

        torch._fused_sgd_(
            *(weights, gradients, state.get("first", [])),
            lr=how.rate,
            weight_decay=self.weight_decay,
            momentum=self.momentum,
            dampening=0.0,
            nesterov=False,
            maximize=False,
            is_first_step=False,
            grad_scale=how.divisor,
            found_inf=how.frozen,
        )

    def flow(self) -> SGDSettings | None:
        from theory import SGDSettings

        return SGDSettings(self.learning_rate, self.weight_decay) if self.momentum == 0 else None
