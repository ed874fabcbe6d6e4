"""The engine of Dask distributed: processes of this machine, or any running cluster.

Queueing, transport and the retry of jobs whose worker died are Dask's. Here a worker that cannot write is
retired while others are left, and after a scheduler was restarted the jobs are sent again. A job that is sent
again continues from its checkpoint.
"""

from __future__ import annotations

import asyncio
import logging
import signal
import uuid
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from importlib.util import find_spec
from multiprocessing import resource_tracker
from typing import Any

import dask
from distributed import CancelledError, Client, Future, KilledWorker, LocalCluster, get_worker, rpc, wait
from distributed.comm.addressing import resolve_address
from distributed.security import Security

from sim.errors import UnfinishedRunsError, UnwritableError
from sim.training.execution import Execution
from sim.training.jobs import Ended, Job, Stop, WorkerDiedError, train_job, watching
from sim.training.session import Report
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

    A scheduler that was lost and did not come back is an UnfinishedRunsError.
    """
    given = execution.engine_options.get("scheduler")
    session = _Session(jobs, execution.in_worker())
    runs = [run for job in jobs for run in job]
    with watching(runs, report), _scheduler(given, min(execution.workers, len(jobs))) as place:
        while session.left and not session.stopped:
            with _client(*place, session) as client:
                session.run(client, stop)
    return [session.ended.get(index, Ended("interrupted")) for index in range(len(jobs))]


def check_engine(_: Sequence[Job], execution: Execution) -> None:
    """Refuse an address at which no scheduler answers, or a cluster of our own without the means for TLS.

    What answers is asked here what it is: a client would stay behind, trying again, at anything else.
    """
    address = execution.engine_options.get("scheduler")
    if address is None:
        if find_spec("cryptography") is None:
            remedy = "pip install 'anchorflow[sweep]', or take the engine local"
            raise InputError("engine", "dask", "needs cryptography, to keep other users out", remedy)
        return
    try:
        resolve_address(address)
        with ThreadPoolExecutor(1) as thread:  # A notebook has a loop of its own in this one.
            kind = thread.submit(asyncio.run, _kind(address)).result()
    except Exception as error:  # Whatever Dask makes of an address or of bytes that are not its own.
        why = " ".join(str(error).split()) or f"in {_ANSWER:g} s"
        raise _no_scheduler(address, f"no Dask scheduler answers ({type(error).__name__}: {why})") from None
    if kind != "Scheduler":
        raise _no_scheduler(address, f"what answers there is no Dask scheduler but a {kind}")


async def _kind(address: str) -> str:
    """Return what answers at an address, by Dask's name."""
    secrets = Security().get_connection_args("client")
    async with rpc(address, timeout=_ANSWER, connection_args=secrets) as server:
        return str((await asyncio.wait_for(server.identity(), _ANSWER + 1))["type"])


def _no_scheduler(address: str, problem: str) -> InputError:
    return InputError("scheduler", address, problem, "start one: dask scheduler")


@contextmanager
def _scheduler(address: str | None, n_workers: int) -> Iterator[tuple[str, Security | None]]:
    """Yield the given scheduler, or that of a cluster of processes made here, with the secrets that it asks.

    Any account of this machine can reach the cluster's ports: it takes clients with the certificate of this
    process alone, and its HTTP servers, which Dask starts in any case, have nothing to show.
    """
    if address is not None:
        yield address, None
        return
    security = Security.temporary()
    no_pages: Any = {"distributed.scheduler.http.routes": [], "distributed.worker.http.routes": []}
    # The cluster's thread is started here, and the workers by that thread: they inherit what is blocked.
    resource_tracker.ensure_running()  # Before signals are blocked, since it unblocks them.
    before = signal.pthread_sigmask(signal.SIG_BLOCK, _TERMINAL)
    try:
        with dask.config.set(no_pages):
            cluster = LocalCluster(
                n_workers=n_workers,
                threads_per_worker=1,
                security=security,
                scheduler_kwargs={"dashboard": False, "dashboard_address": "127.0.0.1:0"},
                silence_logs=logging.ERROR,
            )
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
    with cluster:
        yield cluster.scheduler_address, security


@contextmanager
def _client(address: str, security: Security | None, session: _Session) -> Iterator[Client]:
    """Yield a client of the scheduler, which may just be starting again."""
    patience = _PATIENCE if session.begun else _ANSWER
    try:
        client = Client(address, timeout=patience, security=security, set_as_default=False)
    except (OSError, TimeoutError, ValueError) as error:
        raise session.unreachable(address, error) from None
    session.begun = True
    try:
        with client.as_current():
            yield client
    finally:
        with suppress(Exception):  # Of a scheduler that is gone.
            client.close(timeout=5)


class _Session:
    """Jobs on their way, over all schedulers that they are sent to."""

    def __init__(self, jobs: Sequence[Job], execution: Execution) -> None:
        self.jobs, self.execution, self.token = jobs, execution, uuid.uuid4().hex
        self.ended: dict[int, Ended] = {}
        self.begun = self.stopped = False

    @property
    def left(self) -> list[int]:
        """The jobs that have not ended."""
        return [index for index in range(len(self.jobs)) if index not in self.ended]

    def run(self, client: Client, stop: Stop) -> None:
        """Send the jobs that are left, and collect them until all have ended or the scheduler is gone."""
        with suppress(*_GONE):
            futures = {self._send(client, index): index for index in self.left}
            while futures:
                if stop():
                    futures = self._stop(client, futures)
                with suppress(TimeoutError):
                    wait(list(futures), timeout=0.3, return_when="FIRST_COMPLETED")
                done = [future for future in futures if future.status != "pending"]
                is_gone = any(future.status in ("lost", "cancelled") for future in done)
                if is_gone or client.status != "running":
                    return
                for future in done:
                    index = futures.pop(future)
                    if self._is_to_be_sent_again(client, index, future) and not self.stopped:
                        futures[self._send(client, index)] = index

    def _send(self, client: Client, index: int) -> Future[Any]:
        job = self.jobs[index]
        names = "+".join(path.name for _, path in job[:3])
        key = f"{names}-{uuid.uuid4().hex[:8]}"
        return client.submit(_train, job, self.execution, self.token, key=key, pure=False)

    def _is_to_be_sent_again(self, client: Client, index: int, future: Future[Any]) -> bool:
        """Note how a job ended, unless its worker cannot write and another one takes its place."""
        if future.status == "error":
            error = future.exception()
            if error is None:  # It was cancelled after its status was read: the scheduler is gone.
                raise CancelledError
            if isinstance(error, KilledWorker):
                self.ended[index] = Ended("died", WorkerDiedError(f"Dask gave it up: {error}"))
            else:
                self.ended[index] = Ended("failed", error)
            return False
        ended, worker = future.result()
        if isinstance(ended.error, UnwritableError):
            workers = set(client.scheduler_info(n_workers=-1)["workers"])
            if workers - {worker}:
                client.retire_workers(list(workers & {worker}))
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
        client.cancel([future for future in futures if future.key not in begun])
        return {future: index for future, index in futures.items() if future.key in begun}

    def unreachable(self, address: str, error: Exception) -> Exception:
        """Return the error to raise: a wrong address, or a scheduler that was there before."""
        if not self.begun:
            return _no_scheduler(address, f"no Dask scheduler answers ({error})")
        lost = f"the scheduler at {address} is gone"
        left = [str(path) for index in self.left for _, path in self.jobs[index]]
        return UnfinishedRunsError(dict.fromkeys(left, lost), sum(map(len, self.jobs)))


def _train(job: Job, execution: Execution, token: str) -> tuple[Ended, str]:
    """Train a job in a worker; return how it ended and the worker's address."""
    ended = train_job(job, execution, lambda _: None, lambda: token in _stopped)
    return ended, str(get_worker().address)


def _stop_session(token: str) -> None:
    _stopped.add(token)
