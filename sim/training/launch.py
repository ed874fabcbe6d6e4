"""Several runs in one call: one single-threaded process per core, members spread over them."""

from __future__ import annotations

import multiprocessing
import os
import queue
import signal
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ProcessPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import torch

from sim.config.run import Kernels, MemberConfig, RunConfig
from sim.fast.compiled import check_kernels
from sim.fast.memory import keep_freed_memory
from sim.runs.folder import RunFolder, check_free, is_begun
from sim.runs.run import Run
from sim.training.session import Report, train_together
from sim.training.trainer import groups_of_members
from theory import InputError

_stop = threading.Event()
_progress: Any = None


def train(
    config: RunConfig,
    out: Path | str,
    *,
    workers: int = 1,
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
    KeyboardInterrupt
        After Ctrl-C, once every run has written a checkpoint.
    """
    members = config.members()
    paths = [Path(out) / member.name for member in members]
    options: dict[str, Any] = {"resume": resume, "overwrite": overwrite, "device": device, "kernels": kernels}
    train_members(members, paths, workers=workers, report=report, **options)
    return [Run.open(path) for path in paths]


def train_members(
    members: Sequence[MemberConfig],
    paths: Sequence[Path],
    *,
    workers: int = 1,
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
    KeyboardInterrupt
        After Ctrl-C, once every run has written a checkpoint.
    """
    check_device(device)
    check_kernels(kernels, device)
    left = pending_runs(members, paths, resume, overwrite)
    call = {"resume": resume, "overwrite": overwrite, "kernels": kernels}
    if device != "cpu":
        statuses = _train_on_device(left, call | {"device": device}, report)
    elif workers == 1 or len(left) <= 1:
        statuses = _train_here(left, call, report)
    else:
        statuses = _train_in_processes(left, call, report, workers)
    if "interrupted" in statuses:
        raise KeyboardInterrupt


def check_device(device: str) -> None:
    """Refuse a device that torch does not know or cannot use here."""
    try:
        torch.zeros(1, device=device)
    except (RuntimeError, AssertionError) as error:
        reason = str(error).splitlines()[0]
        raise InputError("device", device, f"cannot be used ({reason})", "use cpu") from None


def default_workers() -> int:
    """Return the number of cores this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def pending_runs(
    members: Sequence[MemberConfig], paths: Sequence[Path], resume: bool, overwrite: bool
) -> list[tuple[MemberConfig, Path]]:
    """Return what is left to train; refuse, before any work, whatever stands in the way."""
    left = []
    for member, path in zip(members, paths, strict=True):
        if resume and is_begun(path):
            if _is_complete(path, member):
                continue
        else:
            check_free(path, overwrite=overwrite)
        left.append((member, path))
    return left


def epochs_left(member: MemberConfig, path: Path) -> int:
    """Return the epochs that a run still needs if it goes on from its newest checkpoint."""
    return member.training.epochs - RunFolder(path).epochs_done()


def _is_complete(path: Path, member: MemberConfig) -> bool:
    try:
        return Run.open(path).config == member
    except InputError:
        return False


def _train_here(pending: list[tuple[MemberConfig, Path]], call: dict[str, Any], report: Report) -> list[str]:
    """Train one member after the other in this process, on one thread."""
    _stop.clear()
    keep_freed_memory()
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    statuses: list[str] = []
    try:
        with _stopping_on_signals(_stop.set):
            for member, path in pending:
                if _stop.is_set():
                    return [*statuses, "interrupted"]
                statuses.append(train_together([member], [path], **call, report=report, stop=_stop.is_set))
    finally:
        torch.set_num_threads(threads)
    return statuses


def _train_on_device(
    pending: list[tuple[MemberConfig, Path]], call: dict[str, Any], report: Report
) -> list[str]:
    """Train members together that may share a trainer, one such group after the other."""
    _stop.clear()
    statuses: list[str] = []
    with _stopping_on_signals(_stop.set):
        for group in groups_of_members([member for member, _ in pending]):
            if _stop.is_set():
                return [*statuses, "interrupted"]
            members, paths = zip(*(pending[i] for i in group), strict=True)
            statuses.append(train_together(members, paths, **call, report=report, stop=_stop.is_set))
    return statuses


def _train_in_processes(
    pending: list[tuple[MemberConfig, Path]], call: dict[str, Any], report: Report, workers: int
) -> list[str]:
    """Train one member per task in a pool of fresh processes."""
    context = multiprocessing.get_context("spawn")
    progress, stop = context.Queue(), context.Event()
    count = min(workers, len(pending))
    with ProcessPoolExecutor(count, context, _begin_worker, (progress, stop)) as pool:
        futures = [pool.submit(_work, member, path, call) for member, path in pending]
        with _stopping_on_signals(stop.set):
            _pass_on(futures, progress, report)
        return [future.result() for future in futures]


def _pass_on(futures: list[Future[str]], progress: Any, report: Report) -> None:
    """Report progress until every task has ended."""
    while True:
        done = all(future.done() for future in futures)
        try:
            report(progress.get(timeout=0.2))
        except queue.Empty:
            if done:
                return


def _begin_worker(progress: Any, stop: Any) -> None:
    """Make a worker single-threaded, and leave Ctrl-C to the parent, which asks it to stop."""
    global _progress, _stop
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    keep_freed_memory()
    torch.set_num_threads(1)
    _progress, _stop = progress, stop


def _work(member: MemberConfig, path: Path, call: dict[str, Any]) -> str:
    if _stop.is_set():
        return "interrupted"
    return train_together([member], [path], **call, report=_progress.put, stop=_stop.is_set)


@contextmanager
def _stopping_on_signals(request: Callable[[], None]) -> Iterator[None]:
    """Turn Ctrl-C and SIGTERM into a request to stop after the current step."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    numbers = (signal.SIGINT, signal.SIGTERM)
    before = {number: signal.signal(number, lambda *_: request()) for number in numbers}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
