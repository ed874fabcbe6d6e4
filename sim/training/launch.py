"""Several runs in one call: checked, then given to an engine that trains them."""

from __future__ import annotations

import signal
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import replace
from itertools import groupby
from pathlib import Path
from typing import Any

from sim.config.run import MemberConfig, RunConfig
from sim.data.dataset import check_data
from sim.errors import BusyError, UnfinishedRunsError
from sim.models.initial import tensor_specs
from sim.runs.beginning import check_folder, open_folder
from sim.runs.files import is_being_written, only_writer
from sim.runs.folder import RunFolder
from sim.runs.run import Run, is_complete
from sim.training.engines import Ended, Job, Pending, Stop, WorkerDiedError, check_engine, engine_of, jobs_of
from sim.training.engines.local import SIGNALS
from sim.training.execution import Execution, check_device, default_report
from sim.training.kernels import check_kernels
from sim.training.members import check_frozen, check_size
from sim.training.session import Report
from theory import InputError
from theory.edge.checked import checked
from theory.edge.reading import PathLike, as_path, normalized, paths_of

_OTHERS_EVERY = 0.5
"""Seconds between looks at runs that other processes train."""


@checked
def train(
    config: RunConfig,
    out: PathLike,
    execution: Execution | None = None,
    *,
    report: Report | None = None,
    **options: Any,
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
        Called after every epoch of every member; by default ``validate.show_progress()``, if one is open
        around the call, shows them.
    **options
        The fields of an ``Execution`` as keywords.

    Returns
    -------
    list of Run
        In the order of ``config.members()``.

    Raises
    ------
    InputError
        If the configuration makes no sense, a run folder is in the way, or device or kernels are not
        available; once all are trained, if one diverged.
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
    report: Report | None = None,
    stop: Stop = lambda: False,
    **options: Any,
) -> None:
    """Train members of any configurations, each into its own folder, in one pool of processes.

    Parameters
    ----------
    members : sequence of MemberConfig
        They need not share any setting.
    paths : sequence of Path
        One run folder for each.
    execution, report, **options
        As in ``train``.
    stop : callable, optional
        Called before every step; True ends the training as Ctrl-C does.

    Raises
    ------
    InputError, UnfinishedRunsError, KeyboardInterrupt
        As in ``train``, but a member that diverges raises nothing: its folder says so.
    """
    how = replace(execution or Execution(), **options)
    check_machine(how)
    engine, is_local = engine_of(how.engine), how.engine == "local"
    # Remote workers may have another working folder. "." and ".." are resolved: a lock needs the real name.
    given = [p.absolute() if how.is_remote else p for p in paths_of(paths)]
    whole = [normalized(p) if p.name in ("", "..") else p for p in given]
    left = pending_runs(members, whole, how)
    check_engine(jobs_of(left, how.device, how.workers), how)
    ended: list[Ended] = []
    total = sum(epochs_left(*run) if how.resume else run[0].training.epochs for run in left)
    shown = nullcontext(report) if report else default_report.get()(total)
    # Two processes that are given the same runs would each get some of them.
    alone = only_writer(min(whole), kind="command") if left and not how.shared else nullcontext()
    with alone, shown as report, _signals_noted() as signals:

        def stops() -> bool:
            return bool(signals) or stop()

        if how.overwrite or not is_local or (how.workers > 1 and how.device == "cpu"):
            for member, path in [] if how.resume else left:
                with only_writer(path):
                    open_folder(path, member, overwrite=how.overwrite)
            # So that a second process that is sent a job continues it, and no run that was to be replaced is
            # left to be resumed. Other engines' second process waits for the lock of the first one, which may
            # only have lost its scheduler.
            how = replace(how, resume=True, overwrite=False, shared=how.shared or not is_local)
        while left and not stops():
            jobs = jobs_of(left, how.device, 1 if is_local else how.workers)
            passed = engine(jobs, how, stops, report)
            busy = _check_ended(jobs, passed, how)
            ended += passed
            left = _await_others([run for job in busy for run in job], stops)
    if signals or left or "interrupted" in ended:
        raise KeyboardInterrupt(*signals[:1])


def check_machine(execution: Execution) -> None:
    """Refuse a device or kernels not available here; other machines refuse them when they train."""
    check_device(execution.device, here=not execution.is_remote)
    if not execution.is_remote:
        check_kernels(execution.kernels, execution.device)


def pending_runs(
    members: Sequence[MemberConfig], paths: Sequence[Path], execution: Execution
) -> list[Pending]:
    """Return the runs left to train; before any work, refuse paths that are taken and unusable settings."""
    if len(members) != len(paths):
        raise InputError("paths", len(paths), f"not one for each of {len(members)} runs", "give as many")
    if len({*paths}) < len(paths):
        raise InputError("paths", [str(path) for path in paths], "a folder for two runs", "give each its own")
    for _, alike in groupby(members, lambda m: (m.model, m.data, m.training, m.task)):
        member = next(alike)
        check_size(member)
        check_data(member)
        check_frozen(member.training.frozen, tensor_specs(member))
    resume, overwrite = execution.resume, execution.overwrite
    left = [
        (member, path)
        for member, path in zip(members, paths, strict=True)
        if not check_folder(path, member, resume=resume, overwrite=overwrite) or not is_complete(path)
    ]
    for folder in [RunFolder(path) for _, path in left] if resume else []:
        folder.snapshot_epochs()  # Damage that training would find later is refused now.
        if folder.checkpoint_steps():
            folder.read_metrics()
    return left


def epochs_left(member: MemberConfig, path: Path) -> int:
    """Return the epochs that a run still needs if it continues from its newest checkpoint."""
    return max(member.training.epochs - RunFolder(path).epochs_done(), 0)


def _check_ended(jobs: Sequence[Job], ended: Sequence[Ended], execution: Execution) -> list[Job]:
    """Return the jobs that other processes have; raise the first error of the rest once all have ended."""
    busy, died = list[Job](), dict[str, str]()
    for job, end in zip(jobs, ended, strict=True):
        if isinstance(end, BusyError) and execution.shared:
            busy.append(job)
        elif isinstance(end, WorkerDiedError):
            died |= {str(path): str(end) for _, path in job}
        elif isinstance(end, Exception):
            raise end
    if died:
        n_stopped = sum(len(job) for job, end in zip(jobs, ended, strict=True) if end == "interrupted")
        raise UnfinishedRunsError(died, sum(map(len, jobs)), n_stopped)
    return busy


def _await_others(busy: Sequence[Pending], stop: Stop) -> list[Pending]:
    """Wait until other processes have finished these runs or one of them is gone; return the runs left."""
    left = list(busy)
    while left and not stop():
        left = [(member, path) for member, path in left if not is_complete(path)]
        if not left or not all(is_being_written(path) for _, path in left):
            break
        time.sleep(_OTHERS_EVERY)
    return left


@contextmanager
def _signals_noted() -> Iterator[list[int]]:
    """Inside the block, note the numbers of signals that ask to stop instead of obeying them at once."""
    noted: list[int] = []
    if threading.current_thread() is not threading.main_thread():
        yield noted
        return
    # A program under nohup is to outlive its terminal.
    numbers = [n for n in SIGNALS if n != signal.SIGHUP or signal.getsignal(n) != signal.SIG_IGN]
    before = {number: signal.signal(number, lambda n, _: noted.append(n)) for number in numbers}
    try:
        yield noted
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
