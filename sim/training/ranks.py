"""One run on several processes that torchrun started: each takes a share of every batch.

Every process holds the whole state and takes the same steps. What is added up over the processes are the
losses and gradients of their shares, times how many targets these have, so that a step is that of the whole
batch. The first process alone writes the run folder.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import torch
import torch.distributed
from torch import Tensor

from sim.fast.gradients import Found, Gradients, gradient_norms
from sim.models.base import Model
from sim.models.layers import Parameters


@dataclass(frozen=True)
class Ranks:
    """The processes of a run.

    Attributes
    ----------
    own : int
        This process's number, from 0.
    size : int
        How many there are.
    add_up : callable
        Replaces a tensor by its sum over the processes.
    sent : callable
        Returns in every process what the first one gives.
    """

    own: int
    size: int
    add_up: Callable[[Tensor], Any]
    sent: Callable[[Any], Any]

    def shared(self, take: Gradients, model: Model[Any], trained: Sequence[str]) -> Gradients:
        """Return what computes one member's loss and gradients of a batch, each process its share."""

        def gradients(parameters: Parameters, tokens: Tensor, labels: Tensor) -> Found:
            own = tokens[:, self.own :: self.size], labels[:, self.own :: self.size]
            # An epoch's last batch may have fewer sequences than there are processes.
            n = model.n_targets(*own) if own[1].shape[1] else 0
            if n:
                losses, found, _ = take(parameters, *own)
            else:
                found = {name: torch.zeros_like(parameters[name]) for name in trained}
                losses = next(iter(found.values())).new_zeros(1)
            flat = torch.cat([losses, *(gradient.flatten() for gradient in found.values())]).mul_(n)
            flat = torch.cat([flat, flat.new_tensor([n])])
            self.add_up(flat)
            flat = flat[:-1].div_(flat[-1].clone())
            parts = torch.split(flat[1:], [gradient.numel() for gradient in found.values()])
            whole = {name: part.view_as(found[name]) for name, part in zip(found, parts, strict=True)}
            return flat[:1], whole, gradient_norms(whole)

        return gradients

    def agreed(self, stop: Callable[[], bool]) -> Callable[[], bool]:
        """Return whether any process was asked to stop: all have to leave before the same step."""

        def asked() -> bool:
            flag = torch.tensor(float(stop()))
            self.add_up(flag)
            return bool(flag)

        return asked


@contextmanager
def joined_ranks() -> Iterator[Ranks]:
    """Join the processes that torchrun started, over gloo."""
    torch.distributed.init_process_group("gloo")
    try:
        yield Ranks(
            torch.distributed.get_rank(),
            torch.distributed.get_world_size(),
            torch.distributed.all_reduce,
            _sent,
        )
    finally:
        torch.distributed.destroy_process_group()


def _sent(value: Any) -> Any:
    box = [value]
    torch.distributed.broadcast_object_list(box)
    return box[0]


def under_torchrun() -> bool:
    """Return whether torchrun started this process as one of several."""
    return "TORCHELASTIC_RUN_ID" in os.environ and int(os.environ.get("WORLD_SIZE", "1")) > 1
