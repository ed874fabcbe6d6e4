"""An optimiser of your own: Lion (Chen et al., arXiv 2302.06675), whose step is a sign."""

from collections.abc import Mapping
from typing import Literal

from torch import Tensor

from sim import TrainingConfig, register_optimizer


@register_optimizer
class Lion(TrainingConfig):
    """Its settings, beside those of any training; what it remembers; and its step."""

    title = "Lion"

    optimizer: Literal["lion"] = "lion"
    """The name in configurations."""
    beta1: float = 0.9
    """Weight of the momentum in the direction of a step."""
    beta2: float = 0.99
    """Decay of the momentum."""

    def initial_state(self, weight: Tensor) -> dict[str, Tensor]:
        """Return what steps remember of a tensor."""
        return {"momentum": weight.new_zeros(weight.shape)}

    def step(
        self,
        weight: Tensor,
        gradient: Tensor,
        state: Mapping[str, Tensor],
        rate: float | Tensor,
        decay: float | Tensor,
        number: Tensor,
    ) -> tuple[Tensor, dict[str, Tensor]]:
        """Return a tensor and its state after a step."""
        direction = (self.beta1 * state["momentum"] + (1 - self.beta1) * gradient).sign()
        momentum = self.beta2 * state["momentum"] + (1 - self.beta2) * gradient
        return weight - rate * (direction + decay * weight), {"momentum": momentum}
