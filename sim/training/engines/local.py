"""The engine of this machine: this process, or several of ``concurrent.futures``.

Each worker is a pool of one process, so that one that is killed takes a single job with it, and has a pipe
from the process that started it: a message asks it to stop after a checkpoint, and so does the pipe's end,
when that process was killed. Neither side depends on the other to clean up.
"""

from __future__ import annotations

import multiprocessing
import os
import signal
import threading
from collections.abc import Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager, suppress
from multiprocessing import connection, resource_tracker
from typing import Any

from sim.errors import BusyError
from sim.training.execution import Execution
from sim.training.jobs import Ended, Job, Stop, WorkerDiedError, one_thread
from sim.training.session import Progress, Report, train_together

SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT)
"""The signals that ask a process to stop."""
_CONTEXT: Any = multiprocessing.get_context("spawn")


def train_jobs(jobs: Sequence[Job], execution: Execution, stop: Stop, report: Report) -> list[Ended]:
    """Train jobs in processes of this machine; on a GPU, or with one worker, in this process."""
    n_workers = min(execution.workers, len(jobs)) if execution.device == "cpu" else 1
    if n_workers < 2:
        results = []
        for job in jobs:
            members, paths = zip(*job, strict=True)
            try:
                with one_thread(execution.device):
                    status = "interrupted"
                    if not stop():
                        status = train_together(members, paths, execution, report=report, stop=stop)
                results.append(Ended(status))
            except Exception as error:
                results.append(Ended("busy" if isinstance(error, BusyError) else "failed", error))
        return results
    ended: dict[int, Ended] = {}
    left = list(reversed(range(len(jobs))))
    workers = [_Worker() for _ in range(n_workers)]
    try:
        while left or any(worker.job is not None for worker in workers):
            if stop():
                left.clear()
                for worker in workers:
                    worker.ask_to_stop()
            for worker in workers:
                if worker.job is None and left:
                    worker.submit(left.pop(), jobs, execution)
            wait([worker.future for worker in workers if worker.job is not None], 0.2, FIRST_COMPLETED)
            for number, worker in enumerate(workers):
                worker.pass_on(report)
                if worker.job is not None and worker.future.done():
                    ended[worker.job] = worker.result()
                    worker.job = None
                    if worker.is_spent:
                        worker.close()
                        workers[number] = _Worker()
    finally:
        for worker in workers:
            worker.ask_to_stop()
        for worker in workers:
            worker.close()
    return [ended.get(index, Ended("interrupted")) for index in range(len(jobs))]


class _Worker:
    """A process, started with its first job, and the job that it has."""

    def __init__(self) -> None:
        self.pipe, self._theirs = _CONTEXT.Pipe()
        self._pool = ProcessPoolExecutor(1, _CONTEXT, _begin, (self._theirs,))
        self.job: int | None = None
        self.future: Future[Ended] = Future()
        self.is_spent = self._asked = self._begun = False
        self._process: Any = None

    def submit(self, index: int, jobs: Sequence[Job], execution: Execution) -> None:
        """Give the process a job, with signals blocked until it handles them, if it is only now started."""
        with signals_blocked():
            before = set(multiprocessing.active_children())
            self.future = self._pool.submit(_train, jobs[index], execution.in_worker())
            started = set(multiprocessing.active_children()) - before
        self._process = next(iter(started), self._process)
        self.job = index

    def pass_on(self, report: Report) -> None:
        """Report the epochs that the process has done."""
        with suppress(EOFError, OSError):
            while self.pipe.poll():
                message = self.pipe.recv()
                self._begun = True
                if isinstance(message, Progress):
                    report(message)

    def ask_to_stop(self) -> None:
        """Ask the process to end its job after a checkpoint; one that has not begun has nothing to lose."""
        if not self._asked:
            self._asked = True
            if self._process is not None and not self._begun:
                self._process.kill()
            with suppress(OSError):  # It is gone.
                self.pipe.send(None)

    def result(self) -> Ended:
        """Return how the job ended, which may have been with the process."""
        try:
            ended, how = self.future.result(), "was asked to stop (SIGTERM)"
        except BrokenProcessPool:
            self._pool.shutdown()
            code = self._process.exitcode
            how = f"was killed ({signal.Signals(-code).name})" if code < 0 else f"ended with exit code {code}"
            ended = Ended("interrupted")
        except Exception as error:  # What was raised there could not travel.
            return Ended("failed", error)
        if ended.status != "interrupted" or self._asked:
            return ended
        self.is_spent = True
        return Ended("died", WorkerDiedError(f"its process, {self._process.pid}, {how}"))

    def close(self) -> None:
        """Wait for the process to end."""
        self._pool.shutdown(cancel_futures=True)
        self.pipe.close()
        self._theirs.close()


@contextmanager
def signals_blocked(numbers: Sequence[signal.Signals] = SIGNALS) -> Iterator[None]:
    """Block signals inside the block, for processes that are started there as well."""
    resource_tracker.ensure_running()  # Before signals are blocked, since it unblocks them.
    before = signal.pthread_sigmask(signal.SIG_BLOCK, numbers)
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


_stop = threading.Event()
"""In a worker: whether it is to end its job."""
_at_work = threading.Lock()
_pipe: connection.Connection


def _begin(pipe: connection.Connection) -> None:
    """Prepare a worker."""
    global _pipe
    _pipe = pipe
    # A terminal sends these to all its processes; the parent handles them and tells the workers.
    for number in (signal.SIGINT, signal.SIGHUP, signal.SIGQUIT):
        signal.signal(number, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, lambda *_: _stop.set())
    signal.pthread_sigmask(signal.SIG_UNBLOCK, SIGNALS)
    pipe.send("begun")
    threading.Thread(target=_listen, daemon=True).start()


def _listen() -> None:
    """Ask training to stop when the parent says so; end the process once the parent is gone."""
    with suppress(EOFError, OSError):
        _pipe.recv()
        _stop.set()
        _pipe.recv()
    _stop.set()
    with _at_work:
        os._exit(0)


def _train(job: Job, execution: Execution) -> Ended:
    def report(progress: Progress) -> None:
        with suppress(OSError):
            _pipe.send(progress)

    with _at_work:
        return train_jobs([job], execution, _stop.is_set, report)[0]
