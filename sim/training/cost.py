"""What training will cost, from a few steps on throw-away state on this machine."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import safetensors.numpy
import torch

from sim.config.run import Kernels, MemberConfig, RunConfig, steps_in_epoch
from sim.data.dataset import build_dataset
from sim.fast.matmul import matmul_route
from sim.runs.provenance import peak_memory_mib
from sim.training.device_steps import BLOCK
from sim.training.engines import one_thread
from sim.training.execution import Execution
from sim.training.kernels import choose_kernels, member_route
from sim.training.members import groups_of_members
from sim.training.trainer import Trainer
from theory.edge.checked import Size, checked

Remaining = tuple[MemberConfig, int]
"""A run and the epochs that it still needs."""
_COSTS: Any = {
    **dict.fromkeys(("task", "model", "data"), True),
    "training": {"batch_size", "dtype", "optimizer", "frozen", "evaluate_every", "evaluations_per_epoch"}
    | {"evaluation_size"},
}
"""Settings that decide how long an epoch takes."""


@dataclass(frozen=True)
class Cost:
    """The expected cost of some runs."""

    seconds: float
    """Wall time."""
    memory_mib: float
    """Resident memory of one process, measured on throw-away state in this one; on a GPU, the device's."""
    processes: int
    """Processes that run at the same time."""


@checked
def estimate(config: RunConfig, workers: Size, device: str = "cpu", kernels: Kernels = "auto") -> Cost:
    """Return what training a whole configuration will cost, from a few steps on this machine.

    Parameters
    ----------
    config : RunConfig
    workers : int
        Runs at a time.
    device : str, optional
        "cpu", or "cuda", where all members train together.
    kernels : {"auto", "torch", "compiled"}, optional
    """
    runs = [(member, config.training.epochs) for member in config.members()]
    return cost_of_runs(runs, Execution(device=device, kernels=kernels, workers=workers))


def cost_of_runs(runs: Sequence[Remaining], execution: Execution) -> Cost:
    """Return what training will cost; of runs with steps alike, one is timed."""
    if execution.device != "cpu":
        return _cost_on_device(runs, execution.device)
    timed: dict[str, float] = {}
    loads = [0.0] * max(min(execution.workers, len(runs)), 1)
    for member, epochs in runs:
        key = member.model_dump_json(include=_COSTS)
        if key not in timed:
            timed[key] = _seconds_per_epoch(member, execution.kernels)
        # Each run goes to the process that is free first, as in the pool.
        loads[loads.index(min(loads))] += timed[key] * epochs
    return Cost(max(loads), peak_memory_mib(), len(loads))


def steps_of_runs(runs: Sequence[Remaining]) -> int:
    """Return how many steps the runs still take in total."""
    sizes, n_steps = dict[str, int](), 0
    for member, epochs in runs:
        key = member.model_dump_json(include={"task", "data"})
        if key not in sizes:
            sizes[key] = len(build_dataset(member).train)
        n_steps += epochs * steps_in_epoch(sizes[key], member.training.batch_size)
    return n_steps


def _cost_on_device(runs: Sequence[Remaining], device: str) -> Cost:
    seconds = 0.0
    for group in groups_of_members([member for member, _ in runs]):
        trainer = Trainer([runs[i][0] for i in group], device)
        steps = min(4 * BLOCK, trainer.steps_per_epoch)
        trainer.advance(steps // 2)  # The first block warms up, the second is recorded.
        start = time.perf_counter()
        trainer.advance(steps)
        step = (time.perf_counter() - start) / (steps - steps // 2)
        epoch = step * trainer.steps_per_epoch + _evaluation_seconds(trainer)
        seconds += epoch * max(runs[i][1] for i in group)
    return Cost(seconds, torch.cuda.max_memory_reserved(device) / 2**20, 1)


def _seconds_per_epoch(member: MemberConfig, kernels: Kernels) -> float:
    """Return the time of one of a member's epochs, from a few steps on throw-away state."""
    with one_thread("cpu"):
        trainer = Trainer([member])
        with matmul_route(member_route(member).route):
            choose_kernels(trainer, kernels)  # Compiled here, they are ready for the runs.
            steps = 3 if trainer.training.batch_size == "full" else 30
            batch = trainer.batches.at(0)
            trainer.step(*batch)
            start = time.perf_counter()
            for _ in range(steps):
                trainer.step(*batch)
            step = (time.perf_counter() - start) / steps
            seconds = step * trainer.steps_per_epoch + _evaluation_seconds(trainer)
            # A checkpoint is part of the peak: every tensor and moment, twice.
            safetensors.numpy.save(trainer.checkpoint(0)[0])
            return seconds


def _evaluation_seconds(trainer: Trainer) -> float:
    """Return the time spent on evaluations per epoch."""
    start = time.perf_counter()
    trainer.evaluate()
    seconds = time.perf_counter() - start
    times = min(trainer.training.evaluations_per_epoch, trainer.steps_per_epoch)
    return seconds * times / trainer.training.evaluate_every
