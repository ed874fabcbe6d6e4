"""The engine of Dask distributed: processes of this machine, or any running cluster.

Queueing, transport and the retry of jobs whose worker died are Dask's. What is left here: a worker that
cannot write is retired while others are left, and after a scheduler was restarted the jobs are sent again. A
job that is sent again continues from its checkpoint.
"""

from __future__ import annotations

import asyncio
import logging
import signal
import uuid
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from multiprocessing import resource_tracker
from typing import Any

import torch
from distributed import CancelledError, Client, Future, KilledWorker, LocalCluster, get_worker, rpc, wait
from distributed.comm.addressing import resolve_address
from distributed.security import Security

from sim.errors import UnfinishedRunsError, UnwritableError
from sim.fast.memory import keep_freed_memory
from sim.training.execution import Execution
from sim.training.jobs import Ended, Job, Stop, WorkerDiedError, train_job
from sim.training.session import Report
from sim.training.watch import watching
from theory import InputError

_LOG = logging.getLogger("anchorflow")
_TERMINAL = (signal.SIGINT, signal.SIGHUP, signal.SIGQUIT)
"""What a terminal sends to all its processes; this one tells the workers."""
_PATIENCE = 120.0
"""Seconds to wait for a scheduler that has gone."""
_ANSWER = 10.0
"""Seconds to wait for the first answer of a scheduler."""
_GONE = (CancelledError, OSError)
"""What Dask's client raises when its scheduler is gone; what a job raises comes as the job's result."""
_stopped: set[str] = set()
"""In a worker: the sessions whose jobs are to end."""


def train_jobs(jobs: Sequence[Job], execution: Execution, stop: Stop, report: Report) -> list[Ended]:
    """Train jobs on Dask workers: those of the ``scheduler`` in ``engine_options``, or processes made here.

    Raises
    ------
    InputError
        If there is no scheduler at the address.
    UnfinishedRunsError
        If the scheduler was lost and did not come back.
    """
    address = execution.engine_options.get("scheduler")
    runs = [run for job in jobs for run in job]
    with watching(runs, report), _scheduler(address, min(execution.workers, len(jobs))) as found:
        session = _Session(jobs, replace(execution, engine="local", workers=1, engine_options={}))
        while session.left and not session.stopped:
            with _client(found, session) as client:
                session.run(client, stop)
    return [session.ended.get(index, Ended("interrupted")) for index in range(len(jobs))]


def check_engine(_: Sequence[Job], execution: Execution) -> None:
    """Refuse an address at which no scheduler answers.

    It is asked here what it is: a client would stay behind, trying again, where something else answers.
    """
    address = execution.engine_options.get("scheduler")
    if address is None:
        return
    try:
        resolve_address(address)
    except (OSError, ValueError) as error:
        raise _no_scheduler(address, f"is no address that Dask can find ({error})") from None
    try:
        with ThreadPoolExecutor(1) as thread:  # A notebook has a loop of its own in this one.
            kind = thread.submit(asyncio.run, _kind(address)).result()
    except TimeoutError:
        raise _no_scheduler(address, f"no Dask scheduler answers (in {_ANSWER:g} s)") from None
    except OSError as error:
        raise _no_scheduler(address, f"no Dask scheduler answers ({error})") from None
    except Exception as error:  # Whatever Dask makes of bytes that are not its own.
        why = f"{type(error).__name__}: {' '.join(str(error).split())}"
        raise _no_scheduler(address, f"what answers there is no Dask scheduler ({why})") from None
    if kind != "Scheduler":
        raise _no_scheduler(address, f"what answers there is no Dask scheduler but a {kind}")


async def _kind(address: str) -> str:
    """Return what answers at an address, by Dask's name."""
    secrets = Security().get_connection_args("client")
    async with rpc(address, timeout=_ANSWER, connection_args=secrets) as server:
        return str((await asyncio.wait_for(server.identity(), _ANSWER + 1))["type"])


def _no_scheduler(address: str, problem: str) -> InputError:
    return InputError("scheduler", address, problem, "start one: dask scheduler")


@dataclass
class _Session:
    """Jobs on their way, over all schedulers that they are sent to."""

    jobs: Sequence[Job]
    execution: Execution
    token: str = field(default_factory=lambda: uuid.uuid4().hex)
    ended: dict[int, Ended] = field(default_factory=dict)
    begun: bool = False
    stopped: bool = False

    @property
    def left(self) -> list[int]:
        """The jobs that have not ended."""
        return [index for index in range(len(self.jobs)) if index not in self.ended]

    def run(self, client: Client, stop: Stop) -> None:
        """Send the jobs that are left, and collect them until all have ended or the scheduler is gone."""
        with suppress(*_GONE):
            self._run(client, stop)

    def _run(self, client: Client, stop: Stop) -> None:
        futures = {self._send(client, index): index for index in self.left}
        while futures:
            if stop():
                futures = self._stop(client, futures)
            done = _done(futures)
            if any(future.status in ("lost", "cancelled") for future in done) or client.status != "running":
                return
            for future in done:
                index = futures.pop(future)
                again = self._collect(client, index, future)
                if again and not self.stopped:
                    futures[self._send(client, index)] = index

    def _send(self, client: Client, index: int) -> Future[Any]:
        job = self.jobs[index]
        names = "+".join(path.name for _, path in job[:3])
        key = f"{names}-{uuid.uuid4().hex[:8]}"
        return client.submit(_train, job, self.execution, self.token, key=key, pure=False)

    def _collect(self, client: Client, index: int, future: Future[Any]) -> bool:
        """Note how a job ended; return whether it is to be sent again, to another worker."""
        if future.status == "error":
            error = future.exception()
            if error is None:  # It was cancelled after its status was read: the scheduler is gone.
                raise CancelledError
            self.ended[index] = _failure(error)
            return False
        ended, worker = future.result()
        if isinstance(ended.error, UnwritableError) and _retire(client, worker):
            _LOG.warning("anchorflow: worker %s is retired: %s", worker, ended.error)
            return True
        self.ended[index] = ended
        return False

    def _stop(self, client: Client, futures: dict[Future[Any], int]) -> dict[Future[Any], int]:
        """Ask the workers to end their jobs, take back those that none has begun, and return the others.

        To be called again and again: a worker that has just been restarted does not know yet.
        """
        self.stopped = True
        client.run(_stop_session, self.token, on_error="ignore")
        begun = {key for keys in client.processing().values() for key in keys}
        waiting = [future for future in futures if future.key not in begun]
        client.cancel(waiting)
        return {future: index for future, index in futures.items() if future.key in begun}


def _done(futures: dict[Future[Any], int]) -> list[Future[Any]]:
    """Return the futures that are no longer pending, after waiting a moment for one."""
    with suppress(TimeoutError):
        wait(list(futures), timeout=0.3, return_when="FIRST_COMPLETED")
    return [future for future in futures if future.status != "pending"]


def _failure(error: BaseException) -> Ended:
    if isinstance(error, KilledWorker):
        return Ended("died", WorkerDiedError(f"Dask gave it up: {error}"))
    return Ended("failed", error)


def _retire(client: Client, worker: str) -> bool:
    """Take a worker out of the cluster, unless it is the last; return whether others are left."""
    workers = set(client.scheduler_info(n_workers=-1)["workers"])
    if workers <= {worker}:
        return False
    if worker in workers:
        client.retire_workers([worker])
    return True


@contextmanager
def _scheduler(address: str | None, n_workers: int) -> Iterator[str]:
    """Yield the address of a scheduler: the given one, or that of a cluster of processes made here."""
    if address is not None:
        yield address
        return
    # The cluster's thread is started here, and the workers by that thread: they inherit what is blocked.
    resource_tracker.ensure_running()  # Before signals are blocked, since it unblocks them.
    before = signal.pthread_sigmask(signal.SIG_BLOCK, _TERMINAL)
    try:
        cluster = LocalCluster(
            n_workers=n_workers, threads_per_worker=1, dashboard_address=None, silence_logs=logging.ERROR
        )
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
    with cluster:
        yield cluster.scheduler_address


@contextmanager
def _client(address: str, session: _Session) -> Iterator[Client]:
    """Yield a client of the scheduler, which may just be starting again."""
    try:
        client = Client(address, timeout=_PATIENCE if session.begun else _ANSWER, set_as_default=False)
    except (OSError, TimeoutError, ValueError) as error:
        raise _unreachable(address, session, error) from None
    session.begun = True
    try:
        with client.as_current():
            yield client
    finally:
        with suppress(Exception):  # Of a scheduler that is gone.
            client.close(timeout=5)


def _unreachable(address: str, session: _Session, error: Exception) -> Exception:
    """Return what to raise: a wrong address, or a scheduler that was there before."""
    if not session.begun:
        return _no_scheduler(address, f"no Dask scheduler answers ({error})")
    lost = f"the scheduler at {address} is gone"
    left = [str(path) for index in session.left for _, path in session.jobs[index]]
    return UnfinishedRunsError(dict.fromkeys(left, lost), sum(map(len, session.jobs)))


def _train(job: Job, execution: Execution, token: str) -> tuple[Ended, str]:
    """Train a job in a worker; return how it ended and the worker's address."""
    worker = str(get_worker().address)
    if token in _stopped:
        return Ended("interrupted"), worker
    if execution.device == "cpu":
        keep_freed_memory()
        torch.set_num_threads(1)
    ended = train_job(job, execution, lambda _: None, lambda: token in _stopped)
    return ended, worker


def _stop_session(token: str) -> None:
    _stopped.add(token)
