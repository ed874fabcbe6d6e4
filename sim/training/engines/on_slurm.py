"""The engine of SLURM, through submitit: one task of an array job for each job.

Queueing, retry and transport are left to SLURM: a task that is preempted or reaches its time limit is queued
again and continues from the newest checkpoint of its runs.
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

from sim.training.engines import Ended, Job, Stop, WorkerDiedError, watching
from sim.training.engines.local import train_sent_job
from sim.training.execution import Execution
from sim.training.session import Report
from theory import InputError

DEFAULTS: dict[str, Any] = {"name": "anchorflow", "timeout_min": 1440, "cpus_per_task": 1, "mem_gb": 2}
"""A task's requests unless ``engine_options`` say otherwise, by submitit's names."""
_EVERY = 1.0  # Seconds.
_LATE = 15
"""Looks at the queue to wait for the result of a task that has left it: NFS may deliver it late."""


def train_jobs(jobs: Sequence[Job], execution: Execution, stop: Stop, report: Report) -> list[Ended]:
    """Train jobs as the tasks of one array job, at most ``workers`` of them at a time.

    ``engine_options`` are submitit's parameters, and two more: ``folder``, where it keeps scripts and logs
    (".slurm" beside the first run), and ``cluster``: "slurm", or "local" for processes of this machine.
    """
    executor, stopped = executor_of(jobs, execution), False
    with watching(jobs, report):
        tasks = executor.map_array(Training(execution.in_worker()), jobs)
        late = dict.fromkeys(tasks, 0)
        while waiting := [t for t in tasks if late[t] < _LATE and not t.paths.result_pickle.exists()]:
            if stop():
                stopped = True
                for task in waiting:
                    task.cancel(check=False)
            queued = _queued(waiting)
            for task in waiting:
                if task.job_id not in queued:
                    late[task] += _LATE if stopped else 1
            time.sleep(_EVERY)
    return [_ended(task, stopped) for task in tasks]


def executor_of(jobs: Sequence[Job], execution: Execution) -> submitit.AutoExecutor:
    """Return the executor that submits the jobs; refuse unknown parameters, or a machine without SLURM."""
    given = DEFAULTS | dict(execution.engine_options)
    folder = given.pop("folder", Path(jobs[0][0][1]).parent / ".slurm")
    try:
        executor = submitit.AutoExecutor(folder=folder, cluster=given.pop("cluster", "slurm"))
        executor.update_parameters(slurm_array_parallelism=execution.workers, **given)
    except (RuntimeError, ValueError, TypeError, NameError, AssertionError) as error:
        shown = " ".join(str(error).split())
        remedy = "run it where sbatch is found, with submitit's parameters"
        raise InputError("engine", "slurm", shown, remedy) from None
    return executor


check_engine = executor_of


@dataclass
class Training:
    """The function that a task of the array calls."""

    execution: Execution

    def __call__(self, job: Job) -> Ended:
        """Train; when SLURM cancels the task, stop after a checkpoint."""
        stop = threading.Event()
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, lambda *_: stop.set())
        return train_sent_job(job, self.execution, stop.is_set)

    def checkpoint(self, job: Job) -> submitit.helpers.DelayedSubmission:
        """Return the submission to queue after preemption or at the time limit: the same one again."""
        return submitit.helpers.DelayedSubmission(self, job)


def _queued(tasks: Sequence[submitit.Job[Ended]]) -> set[str]:
    """Return which tasks are queued or running; all of them if SLURM does not answer just now.

    ``squeue`` always knows; ``sacct``, which submitit asks, only where accounting is set up.
    """
    if not isinstance(tasks[0], submitit.SlurmJob):
        return {task.job_id for task in tasks if not task.done()}
    line = ["squeue", "--noheader", "--array", "--user", str(os.getuid()), "--format", "%i"]
    answer = subprocess.run(line, capture_output=True, text=True, check=False)
    return set(answer.stdout.split()) if answer.returncode == 0 else {task.job_id for task in tasks}


def _ended(task: submitit.Job[Ended], stopped: bool) -> Ended:
    if task.paths.result_pickle.exists():
        try:
            return task.result()
        except submitit.core.utils.FailedJobError as error:
            said = str(error)
    else:
        said = task.stderr() or ""
    if stopped:
        return "interrupted"
    why = (said.strip().splitlines() or ["nothing was said"])[-1]
    return WorkerDiedError(f"task {task.job_id} gave no result ({why}); its log: {task.paths.stderr}")
