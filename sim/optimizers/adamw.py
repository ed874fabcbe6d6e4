"""AdamW: Adam with decoupled weight decay (Loshchilov and Hutter, arXiv 1711.05101)."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar, Literal

from sim.config.section import tagged
from sim.config.training import TrainingConfig, register_optimizer

if TYPE_CHECKING:
    from torch import Tensor

    from sim.config.training import Rates, State, States, Step, Tensors
    from theory import AdamSettings


@register_optimizer
class AdamW(TrainingConfig):
    """Training by AdamW."""

    title: ClassVar[str] = "AdamW"

    optimizer: Literal["adamw"] = tagged("paper", "adamw")
    """The update rule; each has settings of its own."""
    beta1: float = tagged("sibling", 0.9, ge=0, lt=1)
    """Decay of AdamW's first moment."""
    beta2: float = tagged("sibling", 0.999, ge=0, lt=1)
    """Decay of AdamW's second moment."""
    epsilon: float = tagged("sibling", 1e-8, gt=0)
    """AdamW's ε."""

    def initial_state(self, weight: Tensor) -> dict[str, Tensor]:
        return {"first": weight.new_zeros(weight.shape), "second": weight.new_zeros(weight.shape)}

    def step(
        self, weight: Tensor, gradient: Tensor, state: State, rate: Rates, decay: Rates, number: Tensor
    ) -> tuple[Tensor, State]:
        first = self.beta1 * state["first"] + (1 - self.beta1) * gradient
        second = self.beta2 * state["second"] + (1 - self.beta2) * gradient.square()
        corrected, squares = (
            moment / (1 - beta ** number.double())
            for moment, beta in ((first, self.beta1), (second, self.beta2))
        )
        change = corrected / (squares.sqrt() + self.epsilon)
        return weight - rate * (decay * weight + change), {"first": first, "second": second}

    def step_in_place(self, weights: Tensors, gradients: Tensors, state: States, how: Step) -> None:
        import torch

        moments, steps = (state["first"], state["second"]), [how.number] * len(gradients)
        torch._fused_adamw_(
            *(weights, gradients, *moments, [], steps),
            lr=how.rate,
            beta1=self.beta1,
            beta2=self.beta2,
            weight_decay=self.weight_decay,
            eps=self.epsilon,
            amsgrad=False,
            maximize=False,
            grad_scale=how.divisor,
            found_inf=how.frozen,
        )

    def flow(self) -> AdamSettings:
        from theory import AdamSettings

        return AdamSettings(self.learning_rate, (self.beta1, self.beta2), self.epsilon, self.weight_decay)
