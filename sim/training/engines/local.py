"""The engine of this machine: several processes, or this one."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

import torch

from sim.fast.memory import keep_freed_memory
from sim.training.execution import Execution
from sim.training.jobs import Ended, Job, Stop, ending
from sim.training.session import Report, train_together
from sim.training.workers import train_in_processes


def train_jobs(jobs: Sequence[Job], execution: Execution, stop: Stop, report: Report) -> list[Ended]:
    """Train jobs in processes of this machine; on a GPU, or with one worker, in this process."""
    if execution.device == "cpu" and execution.workers > 1 and len(jobs) > 1:
        return train_in_processes(jobs, execution, stop, report)
    results = []
    with one_thread(execution.device):
        for job in jobs:
            members, paths = zip(*job, strict=True)
            with ending() as ended:
                if stop():
                    ended.status = "interrupted"
                else:
                    ended.status = train_together(members, paths, execution, report=report, stop=stop)
            results.append(ended)
    return results


@contextmanager
def one_thread(device: str) -> Iterator[None]:
    """Train on one thread inside the block, in memory that the process keeps; a GPU needs neither."""
    if device != "cpu":
        yield
        return
    keep_freed_memory()
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(threads)
