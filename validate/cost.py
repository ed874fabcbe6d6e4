"""What training will cost, in words."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sim.training.execution import default_workers
from theory import InputError
from theory.checked import checked

if TYPE_CHECKING:
    from sim.training.cost import Cost


@checked
def process_count(workers: int) -> int:
    """Return how many processes to use: 0 asks for one for each core."""
    if workers < 0:
        raise InputError("workers", workers, "negative", "give a number of processes, or 0 for all cores")
    return workers or default_workers()


def cost_text(cost: Cost) -> str:
    """Return what is said of a cost before the work."""
    time, memory = duration(cost.seconds), f"{cost.memory_mib:.0f} MiB"
    return f"processes: {cost.processes}; about {time} if no other work shares the cores, {memory} a process"


def duration(seconds: float) -> str:
    """Return a time as text, in seconds or minutes."""
    return f"{seconds:.0f} s" if seconds < 120 else f"{seconds / 60:.0f} min"
