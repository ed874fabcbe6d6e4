"""Several runs in one call: one single-threaded process per core, members spread over them."""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Unpack

import torch

from sim.config.run import MemberConfig, RunConfig
from sim.errors import UnfinishedRunsError
from sim.fast.memory import keep_freed_memory
from sim.runs.beginning import check_free, check_resumable, is_begun
from sim.runs.folder import RunFolder
from sim.runs.run import Run
from sim.training.device import check_device as check_device
from sim.training.execution import Execution, Options, execution_of
from sim.training.kernels import check_kernels
from sim.training.session import Report, train_together
from sim.training.size import check_size
from sim.training.together import groups_of_members
from sim.training.workers import SIGNALS, Ended, WorkerDiedError, train_in_processes
from theory import InputError
from theory.checked import checked
from theory.paths import PathLike, as_path, paths_of

Pending = tuple[MemberConfig, Path]
"""A run that is left to train, and its folder."""


@checked
def train(
    config: RunConfig,
    out: PathLike,
    execution: Execution | None = None,
    *,
    report: Report = lambda progress: None,
    **options: Unpack[Options],
) -> list[Run]:
    """Train every γ and seed of a configuration, each into its own folder inside ``out``.

    Parameters
    ----------
    config : RunConfig
        What to train.
    out : path
        The folder that receives one run folder for each member.
    execution : Execution, optional
        How; by default one after the other, on the CPU.
    report : callable, optional
        Called after every epoch of every member.
    **options
        The fields of an ``Execution`` as keywords: device, kernels, workers, resume, overwrite.

    Returns
    -------
    list of Run
        In the order of ``config.members()``.

    Raises
    ------
    InputError
        If the configuration makes no sense, a run folder is in the way, or device or kernels cannot be had.
    UnfinishedRunsError
        If a worker process was killed; the other runs are trained to their end first.
    KeyboardInterrupt
        After Ctrl-C, once every run has written a checkpoint.
    """
    members = config.members()
    paths = [as_path("out", out) / member.name for member in members]
    train_members(members, paths, execution, report=report, **options)
    return [Run.open(path) for path in paths]


@checked
def train_members(
    members: Sequence[MemberConfig],
    paths: Sequence[PathLike],
    execution: Execution | None = None,
    *,
    report: Report = lambda progress: None,
    **options: Unpack[Options],
) -> None:
    """Train members of any configurations, each into its own folder, in one pool of processes.

    Parameters
    ----------
    members : sequence of MemberConfig
        They need share nothing.
    paths : sequence of Path
        One run folder for each.
    execution, report, **options
        As in ``train``.

    Raises
    ------
    InputError
        If a run folder is in the way. A member that diverges raises nothing: its folder says so.
    UnfinishedRunsError
        If a worker process was killed; the other runs are trained to their end first.
    KeyboardInterrupt
        After Ctrl-C, once every run has written a checkpoint.
    """
    how = execution_of(execution, options)
    check_device(how.device)
    check_kernels(how.kernels, how.device)
    left = pending_runs(members, paths_of(paths), how)
    with _stop_on_signals() as stop:
        if how.device == "cpu" and how.workers > 1 and len(left) > 1:
            statuses = _statuses(left, train_in_processes(left, how, stop, report))
        else:
            statuses = []
            with _one_thread(how.device):
                for group in _groups(left, how.device):
                    if stop():
                        statuses.append("interrupted")
                        break
                    together, folders = zip(*group, strict=True)
                    statuses.append(train_together(together, folders, how, report=report, stop=stop))
    if "interrupted" in statuses:
        raise KeyboardInterrupt


def pending_runs(
    members: Sequence[MemberConfig], paths: Sequence[Path], execution: Execution
) -> list[Pending]:
    """Return what is left to train; refuse, before any work, whatever is in the way."""
    if len(members) != len(paths):
        raise InputError("paths", len(paths), f"not one for each of {len(members)} runs", "give as many")
    _check_sizes(members)
    left = []
    for member, path in zip(members, paths, strict=True):
        if execution.resume and is_begun(path):
            check_resumable(path, member)
            if _is_complete(path):
                continue
        else:
            check_free(path, overwrite=execution.overwrite)
        left.append((member, path))
    return left


def _check_sizes(members: Sequence[MemberConfig]) -> None:
    """Refuse runs that do not fit into memory; neighbours of the same sizes are checked once."""
    before: tuple[Any, ...] | None = None
    for member in members:
        sizes = (member.model, member.data, member.training, member.task)
        if sizes != before:
            check_size(member)
        before = sizes


def epochs_left(member: MemberConfig, path: Path) -> int:
    """Return the epochs that a run still needs if it continues from its newest checkpoint."""
    return max(member.training.epochs - RunFolder(path).epochs_done(), 0)


def _is_complete(path: Path) -> bool:
    try:
        Run.open(path)
    except InputError:
        return False
    return True


def _groups(pending: Sequence[Pending], device: str) -> list[list[Pending]]:
    """Return runs that train together: on a GPU those that may share a trainer, on a CPU each by itself."""
    if device == "cpu":
        return [[run] for run in pending]
    return [[pending[i] for i in group] for group in groups_of_members([member for member, _ in pending])]


@contextmanager
def _one_thread(device: str) -> Iterator[None]:
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


def _statuses(pending: Sequence[Pending], ended: Sequence[Ended]) -> list[str]:
    """Return how runs ended; raise what went wrong, once all of them have."""
    errors = {str(path): end.error for (_, path), end in zip(pending, ended, strict=True) if end.error}
    if errors and all(isinstance(error, WorkerDiedError) for error in errors.values()):
        raise UnfinishedRunsError({path: str(error) for path, error in errors.items()}, len(pending))
    for error in errors.values():
        if not isinstance(error, WorkerDiedError):
            raise error
    return [end.status for end in ended]


@contextmanager
def _stop_on_signals() -> Iterator[Callable[[], bool]]:
    """Turn Ctrl-C and the other signals that ask a process to stop into a flag, read after each step."""
    stop = threading.Event()
    if threading.current_thread() is not threading.main_thread():
        yield stop.is_set
        return
    # A program under nohup is to outlive its terminal.
    numbers = [n for n in SIGNALS if n != signal.SIGHUP or signal.getsignal(n) != signal.SIG_IGN]
    before = {number: signal.signal(number, lambda *_: stop.set()) for number in numbers}
    try:
        yield stop.is_set
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
