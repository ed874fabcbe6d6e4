"""Engines: what takes jobs to the processes that train them; the library behind one is imported when used.

An engine is a function from jobs to how each ended. Queueing, retry and transport are the library's.
"""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Sequence
from typing import Protocol, cast

from sim.training.execution import Execution
from sim.training.jobs import Ended, Job, Stop
from sim.training.session import Report
from theory import InputError
from theory.errors import unknown_name

ENGINES = {
    "local": "sim.training.engines.local:train_jobs",
    "dask": "sim.training.engines.on_dask:train_jobs",
    "slurm": "sim.training.engines.on_slurm:train_jobs",
}
"""The function of each engine, as "module:name"; add your own.

Its module may have a ``check_engine``, of jobs and execution, which refuses what cannot be reached.
"""


class Engine(Protocol):
    """Trains jobs, wherever it likes; the run folders must be reachable there by the same paths."""

    def __call__(self, jobs: Sequence[Job], execution: Execution, stop: Stop, report: Report) -> list[Ended]:
        """Return how each job ended, in their order.

        At most ``execution.workers`` train at a time, each as ``execution.in_worker()`` says. ``stop`` is
        asked often: True ends every job after a checkpoint, and those that have not begun at once. ``report``
        is called after epochs, as far as the engine learns of them.
        """


def engine_of(name: str) -> Engine:
    """Return an engine by its name, or refuse one that is unknown or whose library is not installed."""
    if name not in ENGINES:
        raise unknown_name("engine", name, ENGINES)
    try:
        return cast(Engine, pkgutil.resolve_name(ENGINES[name]))
    except ImportError as error:
        remedy = "pip install 'anchorflow[sweep]', or take the engine local"
        raise InputError("engine", name, f"needs {error.name}", remedy) from None


def check_engine(jobs: Sequence[Job], execution: Execution) -> None:
    """Let an engine refuse, before anything is written, what it cannot train on."""
    module = importlib.import_module(ENGINES[execution.engine].partition(":")[0])
    if jobs and hasattr(module, "check_engine"):
        module.check_engine(jobs, execution)
