"""One step of some members: gradients, clipping, learning rates, update, and who has failed."""

from __future__ import annotations

import math
from collections.abc import Sequence

import torch
from torch import Tensor

from sim.config.run import MemberConfig, steps_in_epoch
from sim.config.training import Step
from sim.data.base import Batches
from sim.fast import Found, Gradients, torch_gradients
from sim.models.layers import Parameters
from sim.training.members import check_frozen
from sim.training.optimizer import Optimizer, by_member, clip_divisor
from sim.training.schedule import learning_rate


class Steps:
    """The state that steps change, and a step that the host takes.

    ``tokens`` (M, n, L) and ``labels`` (M, n) are the training sets. Attributes are described in ``Trainer``.
    """

    def __init__(
        self, members: Sequence[MemberConfig], parameters: Parameters, tokens: Tensor, labels: Tensor
    ) -> None:
        self.members, self.parameters, self.device = list(members), parameters, labels.device
        self.training, self.model = members[0].training, members[0].model
        check_frozen(self.training.frozen, parameters)
        self.trained = [name for name in parameters if name not in self.training.frozen]
        moving = {name: parameters[name] for name in self.trained}
        self.optimizer = Optimizer(moving, [member.training for member in members])
        self.n_train, size = labels.shape[1], self.training.batch_size
        self.steps_per_epoch = steps_in_epoch(self.n_train, size)
        self.batch = self.n_train if size == "full" else min(int(size), self.n_train)
        """Sequences in a step; an epoch's last may hold fewer."""
        self.batches = Batches(tokens, labels, self.batch)
        self.position = 0
        self.sum_learning_rate = [0.0] * len(members)
        self.failures: dict[int, str] = {}
        self.compiled: Gradients | None = None
        self._torch_gradients = torch_gradients(self.model, self.trained)

    def step(self, tokens: Tensor, labels: Tensor) -> None:
        """Take one step on sequences (M, B, L) and their labels (M, B)."""
        losses, gradients, of_members = self.gradients(tokens, labels)
        norms = of_members.tolist()
        for m, (loss, norm) in enumerate(zip(losses.tolist(), norms, strict=True)):
            if not (math.isfinite(loss) and math.isfinite(norm)):
                self.note_failure(m, self.optimizer.step, loss, norm)
        rates, largest = self.rates(self.optimizer.step), self.training.clip_norm
        number = torch.tensor(float(self.optimizer.step + 1))
        for m, own in enumerate(by_member(gradients)):
            if m not in self.failures:
                divisor = clip_divisor(norms[m], largest)
                clip = torch.tensor(divisor, dtype=own[0].dtype) if divisor > 1 else None
                self.optimizer.update(m, own, Step(rates[m], number, clip, None))
        self.optimizer.step += 1
        self.note_rates(rates)

    def gradients(self, tokens: Tensor, labels: Tensor) -> Found:
        """Return each member's mean loss (M,), its gradients in what is trained, and their norm (M,)."""
        whole = labels.shape[1] == self.batch
        take = self.compiled if self.compiled is not None and whole else self._torch_gradients
        return take(self.parameters, tokens, labels)

    def rates(self, step: int) -> list[float]:
        """Return each member's learning rate at a step."""
        return [learning_rate(member.training, step, self.steps_per_epoch) for member in self.members]

    def note_rates(self, rates: Sequence[float]) -> None:
        """Add the learning rates of a step to the sums of the members that took it."""
        for m, rate in enumerate(rates):
            self.sum_learning_rate[m] += 0.0 if m in self.failures else rate

    def note_failure(self, member: int, step: int, loss: float, norm: float) -> None:
        """Mark a member whose loss or gradient is not finite at a step; the first mark stays."""
        reason = f"diverged at step {step}: loss {loss:.3g}, gradient norm {norm:.3g}"
        self.failures.setdefault(member, reason)
