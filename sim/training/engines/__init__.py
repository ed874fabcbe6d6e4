"""Engines and their jobs: an engine is a function that takes jobs to the processes that train them.

Queueing, retry and transport are left to the library behind it, which is imported when the engine is used.
"""

from __future__ import annotations

import importlib
import pkgutil
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, cast

import torch

from sim.config.run import MemberConfig
from sim.fast.matmul import keep_freed_memory
from sim.runs.folder import METRICS, RunFolder
from sim.training.execution import Execution
from sim.training.members import groups_of_members
from sim.training.session import Progress, Report
from theory import InputError
from theory.edge.errors import unknown_name

ENGINES = {
    "local": "sim.training.engines.local:train_jobs",
    "dask": "sim.training.engines.on_dask:train_jobs",
    "slurm": "sim.training.engines.on_slurm:train_jobs",
}
"""The function of each engine, as "module:name"; add your own.

Its module may define ``check_engine(jobs, execution)``, which refuses an engine that cannot be reached.
"""
Pending = tuple[MemberConfig, Path]
"""A run still to be trained, and its folder."""
Job = Sequence[Pending]
"""Runs that one worker trains together: on a CPU a single one."""
Stop = Callable[[], bool]
Ended = str | Exception
"""How a job ended: a status of ``train_together``, or what went wrong."""
Engine = Callable[[Sequence[Job], Execution, Stop, Report], list[Ended]]
"""Trains jobs, wherever it likes, and returns how each ended, in their order.

The run folders must be reachable there by the same paths. At most ``execution.workers`` train at a time, each
as ``execution.in_worker()`` says. Stop is called often: True ends every job after a checkpoint, and at once
those that have not begun. Report is called after epochs, as far as the engine learns of them.
"""


class WorkerDiedError(RuntimeError):
    """A process was killed, or failed to start, while it had a job."""


def engine_of(name: str) -> Engine:
    """Return an engine by its name, or refuse one that is unknown or whose library is not installed."""
    if name not in ENGINES:
        raise unknown_name("engine", name, ENGINES)
    try:
        return cast(Engine, pkgutil.resolve_name(ENGINES[name]))
    except ImportError as error:
        remedy = "pip install 'anchorflow[sweep]', or use the engine local"
        raise InputError("engine", name, f"needs {error.name}", remedy) from None


def check_engine(jobs: Sequence[Job], execution: Execution) -> None:
    """Let an engine refuse, before anything is written, jobs and settings that it cannot take."""
    if execution.engine == "local" and (options := dict(execution.engine_options)):
        raise InputError("engine_options", options, "not for the engine local", "name their engine")
    module = importlib.import_module(ENGINES[execution.engine].partition(":")[0])
    if jobs and hasattr(module, "check_engine"):
        module.check_engine(jobs, execution)


def jobs_of(pending: Sequence[Pending], device: str, parts: int = 1) -> list[Job]:
    """Return the jobs for runs: one for each on a CPU; on GPUs, up to ``parts`` for all runs alike."""
    if device == "cpu":
        return [[run] for run in pending]
    alike: dict[tuple[int, ...], list[Pending]] = {}
    for number, group in enumerate(groups_of_members([member for member, _ in pending])):
        for run in (pending[i] for i in group):
            # All members of a trainer are at one step, that of their newest checkpoint.
            newest = RunFolder(run[1]).checkpoint_steps()[:1]
            alike.setdefault((number, *newest), []).append(run)
    return [runs[part::parts] for runs in alike.values() for part in range(parts) if runs[part:]]


@contextmanager
def one_thread(device: str) -> Iterator[None]:
    """On a CPU, use one thread inside the block and keep freed memory in the process; a GPU needs neither."""
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
    """Report each epoch that the runs' folders show, read every ``every`` seconds inside the block."""
    runs, ended = [run for job in jobs for run in job], threading.Event()
    before = {path: _metrics(path)[0] for _, path in runs}
    read = dict[Path, tuple[int, int] | None]()

    def look() -> None:
        for member, path in [run for run in runs if before[run[1]] < run[0].training.epochs]:
            # A long run's evaluations take tens of milliseconds to read.
            if (written := _written(path)) == read.get(path):
                continue
            read[path] = written
            epoch, metrics = _metrics(path)
            for done in range(before[path] + 1, epoch + 1):
                is_over = done == epoch and member.has_ended(metrics)
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


def _written(path: Path) -> tuple[int, int] | None:
    """Return when a run's evaluations were last written, and their size; None before the first."""
    with suppress(OSError):
        status = (path / METRICS).stat()
        return status.st_mtime_ns, status.st_size
    return None


def _metrics(path: Path) -> tuple[int, list[dict[str, Any]]]:
    """Return the whole epochs of a run's last evaluation, 0 without one, and its evaluations."""
    try:
        metrics = RunFolder(path).read_metrics()
    except InputError:  # There are none yet, or they are being replaced.
        return 0, []
    return int(metrics[-1]["epoch"]), metrics
