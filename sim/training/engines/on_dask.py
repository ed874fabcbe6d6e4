"""The engine of Dask distributed: processes of this machine, or any running cluster.

Queueing, transport and the retry of jobs whose worker died are left to Dask. A job that is sent again
continues from its checkpoint.
"""

from __future__ import annotations

import logging
import signal
import time
import uuid
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import Any

import cryptography  # noqa: F401  Makes the certificate of a cluster started here: no engine without it.
from distributed import Client, Future, LocalCluster

from sim.training.engines import Ended, Job, Stop, WorkerDiedError, watching
from sim.training.engines.local import signals_blocked, train_sent_job
from sim.training.execution import Execution
from sim.training.session import Report
from theory import InputError
from theory.edge.errors import unknown_key

_EVERY = 0.2  # Seconds.
_stopped: set[str] = set()
"""In a worker: the tokens of those calls of ``train_jobs`` whose jobs are to end."""


def train_jobs(jobs: Sequence[Job], execution: Execution, stop: Stop, report: Report) -> list[Ended]:
    """Train jobs on the workers of the ``scheduler`` in ``engine_options``, or on processes made here."""
    token, how = uuid.uuid4().hex, execution.in_worker()
    left, ended = list(range(len(jobs)))[::-1], dict[int, Ended]()
    running: dict[Future[Ended], int] = {}
    gone: Ended = WorkerDiedError("Dask's scheduler is gone")
    with watching(jobs, report), _client(execution, len(jobs)) as client:
        while left or running:
            if stop():
                gone = "interrupted"
                left.clear()
                with suppress(OSError):
                    # Repeated, because a worker that has just been restarted does not know yet.
                    client.run(_stop, token, on_error="ignore")
                    # Jobs that no worker has are dropped: without workers they would never end.
                    begun = {key for keys in client.processing().values() for key in keys}
                    running = {future: index for future, index in running.items() if future.key in begun}
            while left and len(running) < execution.workers:
                index = left.pop()
                key = f"{jobs[index][0][1].name}-{uuid.uuid4().hex[:8]}"
                running[client.submit(_train, jobs[index], how, token, key=key, pure=False)] = index
            time.sleep(_EVERY)
            for future in [future for future in running if future.status != "pending"]:
                if future.status in ("lost", "cancelled"):
                    left.clear()
                    running.clear()
                    break
                index = running.pop(future)
                try:  # A job returns its own error as its result, so that an error raised here is Dask's.
                    ended[index] = future.result()
                except Exception as error:
                    ended[index] = WorkerDiedError(f"Dask gave it up: {error}")
    return [ended.get(index, gone) for index in range(len(jobs))]


def check_engine(_: Sequence[Job], execution: Execution) -> None:
    """Refuse options other than a scheduler, and an address at which none answers."""
    for name in set(execution.engine_options) - {"scheduler"}:
        raise unknown_key("engine_options", name, ["scheduler"])
    if "scheduler" in execution.engine_options:
        with _client(execution, 0):
            pass


@contextmanager
def _client(execution: Execution, n_jobs: int) -> Iterator[Client]:
    """Yield a client of the given scheduler, or of a new cluster that accepts no other client."""
    address: Any = execution.engine_options.get("scheduler")
    if address is None:
        # The cluster's thread starts the workers, and both inherit the blocked signals, which a terminal
        # sends to all its processes. This process tells the workers to stop.
        with signals_blocked((signal.SIGINT, signal.SIGHUP, signal.SIGQUIT)):
            cluster = LocalCluster(
                n_workers=min(execution.workers, n_jobs),
                threads_per_worker=1,
                security=True,
                scheduler_kwargs={"dashboard": False, "dashboard_address": "127.0.0.1:0"},
                silence_logs=logging.ERROR,
            )
        with cluster, Client(cluster, set_as_default=False) as client:
            yield client
        return
    try:
        client = Client(address, timeout=10, set_as_default=False)
    except (OSError, TimeoutError, ValueError) as error:
        problem = f"no Dask scheduler answers ({error})"
        raise InputError("scheduler", address, problem, "start one: dask scheduler") from None
    with client:
        yield client


def _train(job: Job, execution: Execution, token: str) -> Ended:
    return train_sent_job(job, execution, lambda: token in _stopped)


def _stop(token: str) -> None:
    _stopped.add(token)
