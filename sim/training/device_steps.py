"""Steps that need no host: data, schedule, clipping, update and failures are on the device.

A step reads its position in the epoch from a tensor and advances it, so that the same recorded work can be
replayed: on a GPU blocks of steps are CUDA graphs. Once a block the host reads which members failed.
On a CPU the same code runs step by step, which is how it is tested.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from sim.training.optimizer import by_member, clip_divisors

BLOCK = 20
"""Steps in a recorded block: enough that starting it costs nothing, few enough for Ctrl-C."""
_WARM_UP = 3
"""Steps before recording, which let libraries choose kernels and allocate."""


class DeviceLoop:
    """Takes the steps of a ``sim.Trainer`` on its device, where parameters, data and optimiser are."""

    def __init__(self, trainer: Any) -> None:
        self.trainer, device = trainer, trainer.device
        n = len(trainer.members)
        self.position = torch.zeros(1, dtype=torch.int64, device=device)
        self.step = torch.zeros((), dtype=torch.float32, device=device)
        self.failed = torch.full((3, n), -1.0, device=device)
        """The step at which each member failed, if it did, with its loss and norm then."""
        self.rates = torch.zeros(trainer.steps_per_epoch, n, device=device)
        self._within = torch.arange(trainer.batch, device=device)
        self._graphs: dict[int, torch.cuda.CUDAGraph] = {}
        self._taken = 0
        self.compiled_update: Callable[..., None] | None = None

    def begin_epoch(self) -> None:
        """Copy the epoch's learning rates to the device, in place: graphs hold their address."""
        trainer, first = self.trainer, self.trainer.optimizer.step - self.trainer.position
        rates = [trainer.rates(first + i) for i in range(trainer.steps_per_epoch)]
        self.rates.copy_(torch.tensor(rates, dtype=torch.float32))

    def take(self, most: int) -> int:
        """Take some steps, at most ``most``, and update the host's records; return how many."""
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
        trainer.optimizer.step += count
        failures = self.failed.T.tolist()
        for step in range(start, start + count):
            for m, (at, loss, norm) in enumerate(failures):
                if 0 <= at <= step:  # A counter in float32 lags from 2^24 on.
                    trainer.note_failure(m, step, loss, norm)
            trainer.note_rates(trainer.rates(step))
        return count

    def _play(self, count: int) -> None:
        # The rows of a text differ in length from batch to batch: a recorded step would keep the first ones.
        plain = self.trainer.device.type != "cuda" or self.trainer.model.reads_text
        if plain or self._taken < _WARM_UP:
            self._steps(count)
            self._taken += count
            return
        if count not in self._graphs:  # Recording takes no step.
            self._graphs[count] = torch.cuda.CUDAGraph()
            with torch.cuda.graph(self._graphs[count], capture_error_mode="thread_local"):
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
        now = torch.stack([self.step.expand(len(losses)), losses.float(), norms.float()])
        # Zero times what is not finite is not a number. Every kernel counts: the step is nothing but kernels.
        first = ((now * 0.0).sum(0) != 0.0) & (self.failed[0] < 0)
        self.failed.copy_(torch.where(first, now, self.failed))
        divisors = clip_divisors(norms, trainer.training.clip_norm)
        self.step.add_(1.0)
        rates = self.rates.index_select(0, self.position)[0]
        frozen = (self.failed[0] >= 0).to(torch.float32)
        self.position.add_(1)
        if self.compiled_update is not None:
            self.compiled_update(gradients, rates, self.step, divisors, frozen)
            return
        for m, own in enumerate(by_member(gradients)):
            divisor = None if divisors is None else divisors[m]
            trainer.optimizer.update(m, own, rates[m], self.step, divisor, frozen[m])
