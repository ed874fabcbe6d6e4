"""Several runs in one call: one single-threaded process per core, members spread over them."""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import torch

from sim.config.run import Kernels, MemberConfig, RunConfig
from sim.errors import UnfinishedRunsError
from sim.fast.compiled import check_kernels
from sim.fast.memory import keep_freed_memory
from sim.runs.folder import RunFolder, check_free, check_resumable, is_begun
from sim.runs.run import Run
from sim.training.device import check_device as check_device
from sim.training.session import Report, train_together
from sim.training.size import check_size
from sim.training.trainer import groups_of_members
from sim.training.workers import SIGNALS, Ended, WorkerDiedError, train_in_processes
from theory import InputError
from theory.checked import Size, checked
from theory.paths import PathLike, as_path, paths_of

Pending = tuple[MemberConfig, Path]
"""A run that is left to train, and its folder."""


@checked
def train(
    config: RunConfig,
    out: PathLike,
    *,
    workers: Size = 1,
    resume: bool = False,
    overwrite: bool = False,
    device: str = "cpu",
    kernels: Kernels = "auto",
    report: Report = lambda progress: None,
) -> list[Run]:
    """Train every γ and seed of a configuration, each into its own folder inside ``out``.

    Parameters
    ----------
    config : RunConfig
        What to train.
    out : path
        The folder that receives one run folder for each member.
    workers : int, optional
        Processes to spread the members over. More than one needs a script with an
        ``if __name__ == "__main__"`` guard, as always in Python.
    resume, overwrite : bool, optional
        Continue or replace runs that exist; without either they are refused before any work starts.
    device : str, optional
        "cpu", or a GPU as torch names it, "cuda": there the members train together in this process, and
        ``workers`` says nothing.
    kernels : str, optional
        "torch", or "compiled" for the model before training, which takes a C++ compiler; "auto" compiles for
        long runs, where it can (``sim.fast.compiled``).
    report : callable, optional
        Told after every epoch of every member.

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
    options: dict[str, Any] = {"resume": resume, "overwrite": overwrite, "device": device, "kernels": kernels}
    train_members(members, paths, workers=workers, report=report, **options)
    return [Run.open(path) for path in paths]


@checked
def train_members(
    members: Sequence[MemberConfig],
    paths: Sequence[PathLike],
    *,
    workers: Size = 1,
    resume: bool = False,
    overwrite: bool = False,
    device: str = "cpu",
    kernels: Kernels = "auto",
    report: Report = lambda progress: None,
) -> None:
    """Train members of any configurations, each into its own folder, in one pool of processes.

    Parameters
    ----------
    members : sequence of MemberConfig
        They need share nothing.
    paths : sequence of Path
        One run folder for each.
    workers, resume, overwrite, device, kernels, report
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
    paths = paths_of(paths)
    check_device(device)
    check_kernels(kernels, device)
    left = pending_runs(members, paths, resume, overwrite)
    call = {"resume": resume, "overwrite": overwrite, "kernels": kernels}
    with _stop_on_signals() as stop:
        if device != "cpu":
            statuses = _train_on_device(left, call | {"device": device}, report, stop)
        elif workers == 1 or len(left) <= 1:
            statuses = _train_here(left, call, report, stop)
        else:
            tasks = [(member, path, call) for member, path in left]
            statuses = _statuses(left, train_in_processes(tasks, workers, stop, report))
    if "interrupted" in statuses:
        raise KeyboardInterrupt


def default_workers() -> int:
    """Return the number of cores this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def pending_runs(
    members: Sequence[MemberConfig], paths: Sequence[Path], resume: bool, overwrite: bool
) -> list[Pending]:
    """Return what is left to train; refuse, before any work, whatever stands in the way."""
    if len(members) != len(paths):
        raise InputError("paths", len(paths), f"not one for each of {len(members)} runs", "give as many")
    _check_sizes(members)
    left = []
    for member, path in zip(members, paths, strict=True):
        if resume and is_begun(path):
            check_resumable(path, member)
            if _is_complete(path):
                continue
        else:
            check_free(path, overwrite=overwrite)
        left.append((member, path))
    return left


def _check_sizes(members: Sequence[MemberConfig]) -> None:
    """Refuse runs that do not fit into memory; neighbours of the same sizes are asked once."""
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


def _train_here(
    pending: Sequence[Pending], call: dict[str, Any], report: Report, stop: Callable[[], bool]
) -> list[str]:
    """Train one member after the other in this process, on one thread."""
    keep_freed_memory()
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    statuses: list[str] = []
    try:
        for member, path in pending:
            if stop():
                return [*statuses, "interrupted"]
            statuses.append(train_together([member], [path], **call, report=report, stop=stop))
    finally:
        torch.set_num_threads(threads)
    return statuses


def _train_on_device(
    pending: Sequence[Pending], call: dict[str, Any], report: Report, stop: Callable[[], bool]
) -> list[str]:
    """Train members together that may share a trainer, one such group after the other."""
    statuses: list[str] = []
    for group in groups_of_members([member for member, _ in pending]):
        if stop():
            return [*statuses, "interrupted"]
        members, paths = zip(*(pending[i] for i in group), strict=True)
        statuses.append(train_together(members, paths, **call, report=report, stop=stop))
    return statuses


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
    """Turn Ctrl-C and what else asks a process to stop into a flag, to be looked at after each step."""
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
