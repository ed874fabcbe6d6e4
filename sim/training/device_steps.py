"""Steps that need no host: data, schedule, clipping, update and failures are on the device.

A step reads its position in the epoch from a tensor and advances it, so that the same recorded work can be
replayed: on a GPU blocks of steps are CUDA graphs. Once per block the host reads which members failed.
On a CPU the same code runs step by step, which is how it is tested.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from sim.config.training import Step
from sim.training.optimizer import by_member, clip_divisor

BLOCK = 20
"""Steps in a recorded block: enough to make its launch negligible, few enough for Ctrl-C to act soon."""
_WARM_UP = 3
"""Steps before recording, in which libraries choose kernels and allocate memory."""


class DeviceLoop:
    """Takes the steps of a ``sim.Trainer`` on its device, where parameters, data and optimiser are."""

    def __init__(self, trainer: Any) -> None:  # A ``sim.Trainer``, which imports this module.
        self.trainer, device = trainer, trainer.device
        n, first = len(trainer.members), next(iter(trainer.parameters.values()))
        self.position = torch.zeros(1, dtype=torch.int64, device=device)
        self.step = torch.zeros((), dtype=torch.float32, device=device)
        self.failed = first.new_full((3, n), -1.0)
        """The position at which each member failed, if it did, with its loss and norm then."""
        self.rates = first.new_zeros(trainer.steps_per_epoch, n)
        self._within = torch.arange(trainer.batch, device=device)
        self._graphs: dict[int, torch.cuda.CUDAGraph] = {}
        # torch's default stream is on the current GPU, and records nothing from another.
        self._stream = torch.cuda.Stream(device) if device.type == "cuda" else None  # type: ignore[no-untyped-call]
        self._taken = 0
        self.compiled_update: Callable[..., None] | None = None

    def begin_epoch(self) -> None:
        """Copy learning rates and failures in place, because graphs hold the addresses of these tensors."""
        trainer, first = self.trainer, self.trainer.optimizer.step - self.trainer.position
        rates = [trainer.rates(first + i) for i in range(trainer.steps_per_epoch)]
        self.rates.copy_(torch.tensor(rates, dtype=torch.float64))
        failed = [0.0 if m in trainer.failures else -1.0 for m in range(len(trainer.members))]
        self.failed[0].copy_(torch.tensor(failed))

    def take(self, most: int) -> int:
        """Take at most ``most`` steps and update the host's records; return how many steps counted."""
        trainer = self.trainer
        position, start = trainer.position, trainer.optimizer.step
        self.position.fill_(position)
        self.step.fill_(float(start))
        count: int = min(most, trainer.n_train // trainer.batch - position, BLOCK)
        if count > 0:
            self._play(count)
        else:
            count = 1
            self.one_step(trainer.batches.rows(position))
        failures = self.failed.T.tolist()
        for passed in range(count):
            for m, (at, loss, norm) in enumerate(failures):
                if 0 <= at <= position + passed:
                    trainer.note_failure(m, start + passed, f"loss {loss:.3g}, gradient norm {norm:.3g}")
            trainer.note_rates(trainer.rates(start + passed))
            trainer.optimizer.step += 1
            if len(trainer.failures) == len(trainer.members):
                return passed + 1  # Nothing has moved since.
        return count

    def _play(self, count: int) -> None:
        # Rows of text differ in length from batch to batch: a recorded step would keep the first length.
        plain = self.trainer.device.type != "cuda" or self.trainer.model.reads_text
        if plain or self._taken < _WARM_UP:
            self._steps(count)
            self._taken += count
            return
        if count not in self._graphs:  # Recording takes no step.
            graph = self._graphs[count] = torch.cuda.CUDAGraph()
            with torch.cuda.graph(graph, stream=self._stream, capture_error_mode="thread_local"):
                self._steps(count)
        self._graphs[count].replay()

    def _steps(self, count: int) -> None:
        order = self.trainer.batches.order
        for _ in range(count):
            self.one_step(order.index_select(1, self.position * self.trainer.batch + self._within))

    def one_step(self, rows: Tensor) -> None:
        """Take one step on rows of the training set, all on the device."""
        trainer = self.trainer
        losses, gradients, norms = trainer.gradients(*trainer.batches.of(rows))
        now = torch.stack([self.position.to(losses.dtype).expand(len(losses)), losses, norms])
        # Zero times a non-finite number is NaN. Every kernel counts: a step consists of nothing else.
        first = ((now * 0.0).sum(0) != 0.0) & (self.failed[0] < 0)
        torch.where(first, now, self.failed, out=self.failed)
        self.step.add_(1.0)
        rates = self.rates.index_select(0, self.position)[0]
        self.position.add_(1)
        if self.compiled_update is not None:
            self.compiled_update(gradients, norms, rates, self.step, self.failed[0])
            return
        divisors = clip_divisor(norms, trainer.training.clip_norm).clamp(min=1.0)
        frozen = (self.failed[0] >= 0).float()
        if rates.is_cuda:  # On a GPU, torch's fused step reads them in float32 only.
            rates = rates.float()
        for m, of_member in enumerate(by_member(gradients)):
            trainer.optimizer.update(m, of_member, Step(rates[m], self.step, divisors[m], frozen[m]))
