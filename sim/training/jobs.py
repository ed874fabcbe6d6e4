"""Jobs: what one worker trains at a time, how that ended, and how far runs are that other processes train."""

from __future__ import annotations

import json
import threading
import traceback
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import torch

from sim.config.run import MemberConfig
from sim.errors import BusyError
from sim.fast.memory import keep_freed_memory
from sim.runs.ending import has_ended
from sim.runs.folder import RunFolder
from sim.training.execution import Execution
from sim.training.members import groups_of_members
from sim.training.session import Progress, Report, train_together

Pending = tuple[MemberConfig, Path]
"""A run that is left to train, and its folder."""
Job = Sequence[Pending]
"""Runs that one worker trains together: on a CPU a single one."""
Stop = Callable[[], bool]


@dataclass
class Ended:
    """How a job ended: its status, or what went wrong.

    The status is one of ``train_together``, or "busy" if another process has a run of the job, "died" if the
    job's process did, "failed" for any other error.
    """

    status: str
    error: BaseException | None = None


class WorkerDiedError(RuntimeError):
    """A process was killed, or failed to start, while it had a job."""


def jobs_of(pending: Sequence[Pending], device: str, parts: int = 1) -> list[Job]:
    """Return the jobs for runs: on a GPU those that may share a trainer, on a CPU each run by itself.

    Parameters
    ----------
    pending : sequence of (MemberConfig, Path)
    device : str
    parts : int, optional
        How many GPUs there are: runs that may share a trainer are dealt out to so many jobs.
    """
    if device == "cpu":
        return [[run] for run in pending]
    alike: dict[tuple[int, ...], list[Pending]] = {}
    for number, group in enumerate(groups_of_members([member for member, _ in pending])):
        for run in (pending[i] for i in group):
            # A trainer has one step for all its members: that of their newest checkpoint.
            newest = RunFolder(run[1]).checkpoint_steps()[:1]
            alike.setdefault((number, *newest), []).append(run)
    return [runs[part::parts] for runs in alike.values() for part in range(parts) if runs[part:]]


def train_job(job: Job, execution: Execution, report: Report, stop: Stop) -> Ended:
    """Train the runs of a job for another process, to which errors take their traceback along as a note."""
    if stop():
        return Ended("interrupted")
    members, paths = zip(*job, strict=True)
    with ending() as ended:
        ended.status = train_together(members, paths, execution, report=report, stop=stop)
    if ended.status == "failed" and ended.error:
        ended.error.add_note("".join(traceback.format_exception(ended.error)))
    return ended


@contextmanager
def ending() -> Iterator[Ended]:
    """Yield how a job ended, to be given its status inside the block; an error there is noted in it."""
    ended = Ended("failed")
    try:
        yield ended
    except BusyError as error:
        ended.status, ended.error = "busy", error
    except Exception as error:
        ended.error = error


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


@contextmanager
def watching(runs: Sequence[Pending], report: Report, every: float = 1.0) -> Iterator[None]:
    """Report the epochs that runs' folders show inside the block, one call for each epoch.

    A run shows an epoch when it has been evaluated after it; folders are read every so many seconds.
    """
    ended = threading.Event()
    before = {path: epoch_of(_lines(path)) for _, path in runs}

    def look() -> None:
        for member, path in runs:
            lines = _lines(path)
            epoch = epoch_of(lines)
            if epoch > before[path]:
                is_over = has_ended(member.training, [json.loads(line) for line in lines])
                for done in range(before[path] + 1, epoch + 1):
                    report(Progress(member.name, done, member.training.epochs, is_over and done == epoch))
                before[path] = epoch

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


def epoch_of(lines: Sequence[str]) -> int:
    """Return the whole epochs of the last evaluation, 0 if there is none."""
    try:
        return int(json.loads(lines[-1])["epoch"])
    except (IndexError, ValueError):
        return 0


def _lines(path: Path) -> list[str]:
    """Return a run's evaluations as they are written, none if it shows none yet."""
    try:
        return (path / "metrics.jsonl").read_text().splitlines()
    except (OSError, ValueError):
        return []
