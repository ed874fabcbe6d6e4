"""What training will cost, from a few steps on throw-away state on this machine."""

from __future__ import annotations

import time
from dataclasses import dataclass

import safetensors.numpy
import torch

from sim.config import MemberConfig, RunConfig
from sim.device_loop import BLOCK
from sim.engine import Trainer
from sim.kernels import Kernels, choose_kernels
from sim.matmul import matmul_route
from sim.memory import keep_freed_memory
from sim.provenance import peak_memory_mib
from sim.session import choose_member_route


@dataclass(frozen=True)
class Cost:
    """What some runs are expected to cost.

    Attributes
    ----------
    seconds : float
        Wall time.
    memory_mib : float
        Resident memory of one process, measured on throw-away state in this one.
    processes : int
        Processes side by side.
    """

    seconds: float
    memory_mib: float
    processes: int


def estimate(
    config: RunConfig, workers: int, steps: int = 30, device: str = "cpu", kernels: Kernels = "auto"
) -> Cost:
    """Return what training will cost, from a few steps on throw-away state on this machine.

    On a GPU the members train together; the memory is then the device's.
    """
    members = config.members()
    if device != "cpu":
        return _estimate_on_device(config, device)
    seconds = seconds_per_epoch(members[0], steps, kernels)
    processes = min(workers, len(members))
    rounds = -(-len(members) // processes)
    return Cost(rounds * seconds * config.training.epochs, peak_memory_mib(), processes)


def _estimate_on_device(config: RunConfig, device: str) -> Cost:
    trainer = Trainer(config.members(), device)
    steps = min(3 * BLOCK, trainer.steps_per_epoch)
    trainer.advance(steps // 2)  # The first blocks are recorded.
    start = time.perf_counter()
    trainer.advance(steps)
    seconds = (time.perf_counter() - start) / (steps - steps // 2) * trainer.steps_per_epoch
    seconds += _evaluation_seconds(trainer)
    memory = torch.cuda.max_memory_reserved(device) / 2**20
    return Cost(seconds * config.training.epochs, memory, 1)


def seconds_per_epoch(member: MemberConfig, steps: int = 30, kernels: Kernels = "auto") -> float:
    """Return the time of one of a member's epochs, from a few steps on throw-away state."""
    keep_freed_memory()
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        trainer = Trainer([member])
        with matmul_route(choose_member_route(member, trainer.task).route):
            choose_kernels(trainer, kernels)  # Compiled here, they are ready for the runs.
            seconds = _seconds_per_epoch(trainer, steps)
            # What a checkpoint takes is part of the peak: every tensor and moment, twice.
            safetensors.numpy.save(trainer.checkpoint(0)[0])
            return seconds
    finally:
        torch.set_num_threads(before)


def _seconds_per_epoch(trainer: Trainer, steps: int) -> float:
    """Return the time of an epoch with its share of evaluation."""
    rows = trainer.batch_rows(0)
    steps = min(steps, 3) if trainer.training.batch_size == "full" else steps
    trainer.step(rows)
    start = time.perf_counter()
    for _ in range(steps):
        trainer.step(rows)
    step = (time.perf_counter() - start) / steps
    return step * trainer.steps_per_epoch + _evaluation_seconds(trainer)


def _evaluation_seconds(trainer: Trainer) -> float:
    """Return an epoch's share of the time of evaluating."""
    start = time.perf_counter()
    trainer.evaluate()
    seconds = time.perf_counter() - start
    return seconds * trainer.training.evaluations_per_epoch / trainer.training.evaluate_every
