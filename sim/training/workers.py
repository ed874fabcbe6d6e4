"""Processes that train one job after another, and what happens to the runs if one of them dies.

Each worker has a pipe to the process that started it. A worker whose pipe closes, because that process was
killed, writes a checkpoint and ends; the parent learns from a closed pipe that the worker was killed. Neither
side depends on the other to clean up.
"""

from __future__ import annotations

import multiprocessing
import queue
import signal
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from multiprocessing import connection, resource_tracker
from typing import Any

import torch

from sim.fast.memory import keep_freed_memory
from sim.training.execution import Execution
from sim.training.jobs import Ended, Job, WorkerDiedError, train_job
from sim.training.session import Progress, Report

SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT)
"""The signals that ask a process to stop."""
_CONTEXT = multiprocessing.get_context("spawn")
Work = tuple[Job, Execution]
"""What a worker is sent: runs that train together, and how to train them."""


@dataclass
class _Worker:
    """A process and the job that it was sent; ``begun`` once it trains that."""

    process: Any
    pipe: connection.Connection
    job: int | None = None
    begun: bool = False


def train_in_processes(
    jobs: Sequence[Job], execution: Execution, stop: Callable[[], bool], report: Report
) -> list[Ended]:
    """Train every job in one of several processes; return how each ended, in their order.

    A process that dies takes one job with it; another process is started for those that are left.
    """
    pool = _Pool(jobs, execution, report)
    try:
        for _ in range(min(execution.workers, len(jobs))):
            pool.start()
        while pool.workers:
            if stop():
                pool.stop()
            pool.wait()
    finally:
        pool.close()
    return [pool.ended.get(index, Ended("interrupted")) for index in range(len(jobs))]


class _Pool:
    def __init__(self, jobs: Sequence[Job], execution: Execution, report: Report) -> None:
        self.jobs, self.execution, self.report = jobs, execution, report
        self.left = list(reversed(range(len(jobs))))
        self.stopping = False
        self.workers: dict[connection.Connection, _Worker] = {}
        self.ended: dict[int, Ended] = {}

    def start(self) -> None:
        """Start a worker and give it a job."""
        pipe, theirs = _CONTEXT.Pipe()
        # Before signals are blocked, since it unblocks them.
        resource_tracker.ensure_running()
        process = _CONTEXT.Process(target=_work, args=(theirs,))
        with signals_blocked():
            process.start()
        theirs.close()
        self.workers[pipe] = _Worker(process, pipe)
        self._send_next(self.workers[pipe])

    def wait(self, seconds: float = 0.2) -> None:
        """Read the messages of the workers."""
        for pipe in connection.wait(list(self.workers), seconds):
            assert isinstance(pipe, connection.Connection)
            worker = self.workers[pipe]
            try:
                message = pipe.recv()
            except (EOFError, OSError):
                self._replace(worker)
                continue
            self._handle(worker, message)

    def stop(self) -> None:
        """Send out no more jobs and end those that have begun; the others have nothing to lose."""
        if self.stopping:
            return
        self.stopping, self.left = True, []
        for worker in self.workers.values():
            if worker.begun:
                _tell(worker, None)
            else:
                worker.process.kill()

    def close(self) -> None:
        """Leave no process behind."""
        self.stop()
        for worker in self.workers.values():
            worker.pipe.close()
            worker.process.join()

    def _handle(self, worker: _Worker, message: Any) -> None:
        if isinstance(message, Progress):
            self.report(message)
        elif not isinstance(message, Ended):
            worker.begun = True
        elif message.status == "interrupted":
            self._note(worker, "was asked to stop (SIGTERM)")
            _tell(worker, None)
        else:
            assert worker.job is not None
            self.ended[worker.job] = message
            self._send_next(worker)

    def _send_next(self, worker: _Worker) -> None:
        """Send a worker the next job, or tell it to end."""
        worker.job = self.left.pop() if self.left else None
        _tell(worker, None if worker.job is None else (self.jobs[worker.job], self.execution))

    def _replace(self, worker: _Worker) -> None:
        """Note the job that a worker died with, and replace the worker if jobs are left."""
        del self.workers[worker.pipe]
        worker.pipe.close()
        worker.process.join()
        self._note(worker, _death(worker.process.exitcode))
        if self.left:
            self.start()

    def _note(self, worker: _Worker, what: str) -> None:
        """Note that a worker's process ended before its job did, unless it was told to."""
        if worker.job is not None and not self.stopping:
            error = WorkerDiedError(f"its process, {worker.process.pid}, {what}")
            self.ended[worker.job] = Ended("died", error)
        worker.job = None


def _tell(worker: _Worker, message: Work | None) -> None:
    with suppress(OSError):  # One that is gone is noticed when its pipe is read.
        worker.pipe.send(message)


def _death(code: int) -> str:
    return f"was killed ({signal.Signals(-code).name})" if code < 0 else f"ended with exit code {code}"


@contextmanager
def signals_blocked() -> Iterator[None]:
    """Block signals inside the block, for processes that are started there as well."""
    before = signal.pthread_sigmask(signal.SIG_BLOCK, SIGNALS)
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _work(pipe: connection.Connection) -> None:
    """Train the jobs received through the pipe, until told to end or the pipe closes."""
    stop = threading.Event()
    # A terminal sends these to all its processes; the parent handles them and tells the workers.
    for number in (signal.SIGINT, signal.SIGHUP, signal.SIGQUIT):
        signal.signal(number, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, lambda *_: stop.set())
    signal.pthread_sigmask(signal.SIG_UNBLOCK, SIGNALS)
    keep_freed_memory()
    torch.set_num_threads(1)
    queued: queue.SimpleQueue[Work | None] = queue.SimpleQueue()
    threading.Thread(target=_listen, args=(pipe, queued, stop), daemon=True).start()
    with suppress(OSError):  # The parent is gone.
        while (work := queued.get()) is not None and not stop.is_set():
            pipe.send("begun")
            pipe.send(_train(work, pipe, stop))


def _listen(
    pipe: connection.Connection, queued: queue.SimpleQueue[Work | None], stop: threading.Event
) -> None:
    """Queue the jobs received through the pipe; when that ends or closes, ask training to stop."""
    with suppress(EOFError, OSError):
        while (work := pipe.recv()) is not None:
            queued.put(work)
    stop.set()
    queued.put(None)


def _train(work: Work, pipe: connection.Connection, stop: threading.Event) -> Ended:
    def report(progress: Progress) -> None:
        with suppress(OSError):
            pipe.send(progress)

    return train_job(*work, report, stop.is_set)
