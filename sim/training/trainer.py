"""The training engine: members that differ in γ, seed, learning rate and weight decay step together.

``Trainer`` knows nothing of files or processes; one step is ``Trainer.step``.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

from torch import Tensor

from sim.config.run import MemberConfig
from sim.runs.records import CheckpointState
from sim.runs.tensors import Arrays
from sim.training.device_steps import DeviceLoop
from sim.training.evaluate import evaluate
from sim.training.optimizer import clip_divisor
from sim.training.state import TrainingState


class Trainer(TrainingState):
    """Takes the steps of some members: one by one on a CPU, in recorded blocks on a GPU.

    Parameters, attributes and errors are those of ``sim.training.state.TrainingState``.
    """

    def __init__(self, members: Sequence[MemberConfig], device: str = "cpu") -> None:
        super().__init__(members, device)
        self._loop = None if self.device.type == "cpu" else DeviceLoop(self)
        self.begin_epoch()

    def run_epoch(self, stop: Callable[[], bool] = lambda: False) -> bool:
        """Train to the end of the epoch, or until ``stop()``; return whether the end was reached."""
        return self.advance(self.steps_per_epoch, stop)

    def advance(self, until: int, stop: Callable[[], bool] = lambda: False) -> bool:
        """Train to a position in the epoch, or until ``stop()``; return whether it was reached.

        The last position is the end of the epoch, and the start of the next.
        """
        while self.position < until:
            if stop() or len(self.failures) == len(self.members):
                return False
            if self._loop is not None:
                self.position += self._loop.take(until - self.position)
            else:
                self.step(*self.batches.at(self.position))
                self.position += 1
        if self.position == self.steps_per_epoch:
            self.epoch += 1
            self.position = 0
            self.begin_epoch()
        return True

    def step(self, tokens: Tensor, labels: Tensor) -> None:
        """Take one step on sequences (M, B, L) and their labels (M, B)."""
        losses, gradients, of_members = self.gradients(tokens, labels)
        norms = of_members.tolist()
        for m, (loss, norm) in enumerate(zip(losses.tolist(), norms, strict=True)):
            if not (math.isfinite(loss) and math.isfinite(norm)):
                self.note_failure(m, self.optimizer.step, loss, norm)
        rates = self.rates(self.optimizer.step)
        alive = [m for m in range(len(self.members)) if m not in self.failures]
        divisors = [clip_divisor(norm, self.training.clip_norm) for norm in norms]
        self.optimizer.update(gradients, divisors, rates, alive)
        self.note_rates(rates)

    def evaluate(self) -> list[dict[str, dict[str, float]]]:
        """Return each member's loss and accuracy on each data set."""
        return evaluate(self.parameters, self.datasets, self.evaluated, self.model)

    def restore(self, checkpoints: Sequence[tuple[Arrays, CheckpointState]]) -> None:
        """Continue every member from its checkpoint; all have to be at the same step."""
        super().restore(checkpoints)
        if self._loop is not None:
            self._loop.restore()

    def begin_epoch(self) -> None:
        """Draw the order of the epoch, and its noise if that is fresh."""
        super().begin_epoch()
        if self._loop is not None:
            self._loop.begin_epoch()
