"""The engine of SLURM, through submitit: one task of an array job for each job.

Queueing, retry and transport are SLURM's: a task that is preempted or reaches its time limit is queued again
and continues from the newest checkpoint of its runs.
"""

from __future__ import annotations

import os
import signal
import subprocess
import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import submitit

from sim.training.execution import Execution
from sim.training.jobs import Ended, Job, Stop, WorkerDiedError, train_job, watching
from sim.training.session import Report
from theory import InputError

DEFAULTS: dict[str, Any] = {"name": "anchorflow", "timeout_min": 1440, "cpus_per_task": 1, "mem_gb": 2}
"""What a task asks for unless ``engine_options`` say otherwise, by submitit's names."""
_EVERY = 1.0  # Seconds.
_LATE = 15.0
"""Seconds for which the result of a task that has left the queue may still be on its way, as over NFS."""


def train_jobs(jobs: Sequence[Job], execution: Execution, stop: Stop, report: Report) -> list[Ended]:
    """Train jobs as the tasks of one array job, at most ``workers`` of them at a time.

    ``engine_options`` are submitit's parameters, besides ``folder``, where it keeps scripts and logs
    (".slurm" beside the first run), and ``cluster``: "slurm", or "local" for processes of this machine.
    """
    executor = executor_of(jobs, execution)
    with watching([run for job in jobs for run in job], report):
        return _await(executor.map_array(Training(execution.in_worker()), jobs), stop)


def check_engine(jobs: Sequence[Job], execution: Execution) -> None:
    """Refuse parameters that submitit does not know, and a machine without SLURM."""
    executor_of(jobs, execution)


def executor_of(jobs: Sequence[Job], execution: Execution) -> submitit.AutoExecutor:
    """Return the executor that submits the jobs."""
    given = DEFAULTS | dict(execution.engine_options)
    folder = given.pop("folder", Path(jobs[0][0][1]).parent / ".slurm")
    try:
        executor = submitit.AutoExecutor(folder=folder, cluster=given.pop("cluster", "slurm"))
        executor.update_parameters(slurm_array_parallelism=execution.workers, **given)
    except (RuntimeError, ValueError, TypeError, NameError) as error:
        shown = " ".join(str(error).split())
        raise InputError("engine", "slurm", shown, "run it where sbatch is, with submitit's names") from None
    return executor


@dataclass
class Training:
    """What a task of the array runs."""

    execution: Execution

    def __call__(self, job: Job) -> Ended:
        """Train; when SLURM cancels the task, stop after a checkpoint."""
        stop = threading.Event()
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, lambda *_: stop.set())
        return train_job(job, self.execution, lambda _: None, stop.is_set)

    def checkpoint(self, job: Job) -> submitit.helpers.DelayedSubmission:
        """Return the submission to queue after preemption or at the time limit: this one again."""
        return submitit.helpers.DelayedSubmission(self, job)


def _await(submitted: Sequence[submitit.Job[Ended]], stop: Stop) -> list[Ended]:
    """Wait until every task has a result or has left the queue without one; cancel them all when asked to."""
    cancelled, waiting = False, list(submitted)
    left_at: dict[str, float] = {}
    while waiting:
        if stop() and not cancelled:
            cancelled = True
            for job in submitted:
                job.cancel(check=False)
        queued, now = _queued(waiting), time.monotonic()
        for job in waiting:
            if queued is not None and job.job_id not in queued:
                left_at.setdefault(job.job_id, now)
        late = 0.0 if cancelled else _LATE
        gone = {name for name, when in left_at.items() if now - when >= late}
        waiting = [job for job in waiting if not (job.paths.result_pickle.exists() or job.job_id in gone)]
        if waiting:
            time.sleep(_EVERY)
    return [_ended(job, cancelled) for job in submitted]


def _queued(waiting: Sequence[submitit.Job[Ended]]) -> set[str] | None:
    """Return which tasks are queued or running, or None if SLURM does not answer just now.

    ``squeue`` knows; ``sacct``, which submitit asks, does so only where accounting is set up.
    """
    if not isinstance(waiting[0], submitit.SlurmJob):
        return {job.job_id for job in waiting if not job.done()}
    line = ["squeue", "--noheader", "--array", "--user", str(os.getuid()), "--format", "%i"]
    answer = subprocess.run(line, capture_output=True, text=True, check=False)
    return set(answer.stdout.split()) if answer.returncode == 0 else None


def _ended(job: submitit.Job[Ended], cancelled: bool) -> Ended:
    try:
        if job.paths.result_pickle.exists():
            return job.result()
        said = (job.stderr() or "").strip()
    except submitit.core.utils.FailedJobError as error:
        said = str(error).strip()
    if cancelled:
        return Ended("interrupted")
    why = f" ({said.splitlines()[-1]})" if said else ""
    problem = f"task {job.job_id} gave no result{why}; its log: {job.paths.stderr}"
    return Ended("died", WorkerDiedError(problem))
