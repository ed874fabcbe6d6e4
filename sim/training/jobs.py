"""Jobs: the runs that one worker trains at a time, and how far runs are that other processes train."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import torch

from sim.config.run import MemberConfig
from sim.fast.memory import keep_freed_memory
from sim.runs.folder import RunFolder
from sim.training.members import groups_of_members
from sim.training.schedule import has_ended
from sim.training.session import Progress, Report

Pending = tuple[MemberConfig, Path]
"""A run that is left to train, and its folder."""
Job = Sequence[Pending]
"""Runs that one worker trains together: on a CPU a single one."""
Stop = Callable[[], bool]
Ended = str | Exception
"""How a job ended: a status of ``train_together``, or what went wrong."""


class WorkerDiedError(RuntimeError):
    """A process was killed, or failed to start, while it had a job."""


def jobs_of(pending: Sequence[Pending], device: str, parts: int = 1) -> list[Job]:
    """Return the jobs for runs: each run by itself on a CPU; on GPUs, ``parts`` in number, those alike."""
    if device == "cpu":
        return [[run] for run in pending]
    alike: dict[tuple[int, ...], list[Pending]] = {}
    for number, group in enumerate(groups_of_members([member for member, _ in pending])):
        for run in (pending[i] for i in group):
            # A trainer has one step for all its members: that of their newest checkpoint.
            newest = RunFolder(run[1]).checkpoint_steps()[:1]
            alike.setdefault((number, *newest), []).append(run)
    return [runs[part::parts] for runs in alike.values() for part in range(parts) if runs[part:]]


@contextmanager
def one_thread(device: str) -> Iterator[None]:
    """Train on one thread inside the block, in memory that the process keeps; a GPU needs neither."""
    threads = torch.get_num_threads()
    if device == "cpu":
        keep_freed_memory()
        torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(threads)


@contextmanager
def watching(jobs: Sequence[Job], report: Report, every: float = 1.0) -> Iterator[None]:
    """Report the epochs that runs' folders show inside the block, read every so many seconds.

    A run shows an epoch when it has been evaluated after it; each epoch gets a call of its own.
    """
    runs, ended = [run for job in jobs for run in job], threading.Event()
    before = {path: _metrics(path)[0] for _, path in runs}

    def look() -> None:
        for member, path in [run for run in runs if before[run[1]] < run[0].training.epochs]:
            epoch, metrics = _metrics(path)
            for done in range(before[path] + 1, epoch + 1):
                is_over = done == epoch and has_ended(member.training, metrics)
                report(Progress(member.name, done, member.training.epochs, is_over))
            before[path] = max(epoch, before[path])

    def watch() -> None:
        while not ended.wait(every):
            look()

    watcher = threading.Thread(target=watch, daemon=True)
    watcher.start()
    try:
        yield
    finally:
        ended.set()
        watcher.join()
        look()


def _metrics(path: Path) -> tuple[int, list[dict[str, Any]]]:
    """Return the whole epochs of a run's last evaluation, 0 without one, and its evaluations."""
    try:
        metrics = [json.loads(line) for line in (path / "metrics.jsonl").read_text().splitlines()]
        return int(metrics[-1]["epoch"]), metrics
    except (OSError, ValueError, LookupError):
        return 0, []
