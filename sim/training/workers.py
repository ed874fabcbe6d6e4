"""Processes that train one run after another, and what becomes of the runs if one of them dies.

Each worker has a pipe to the process that started it. A worker whose pipe closes, because that process was
killed, writes a checkpoint and ends; a pipe that closes at this end tells that the worker was killed. So
nothing here depends on who is left to clean up.
"""

from __future__ import annotations

import multiprocessing
import queue
import signal
import threading
import traceback
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from multiprocessing import connection, resource_tracker
from pathlib import Path
from typing import Any

import torch

from sim.config.run import MemberConfig
from sim.fast.memory import keep_freed_memory
from sim.training.session import Progress, Report, train_together

SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT)
"""What asks a process to stop."""
_CONTEXT = multiprocessing.get_context("spawn")
Task = tuple[MemberConfig, Path, dict[str, Any]]
"""A run, its folder and the options of ``train_together``."""


@dataclass(frozen=True)
class Ended:
    """How a run ended: its status, or what went wrong."""

    status: str
    error: BaseException | None = None


@dataclass
class _Worker:
    """A process and the run that it was given; ``begun`` once it has taken that up."""

    process: Any
    pipe: connection.Connection
    task: int | None = None
    begun: bool = False


class WorkerDiedError(RuntimeError):
    """A process was killed, or failed to start, with a run in its hands."""


def train_in_processes(
    tasks: Sequence[Task], count: int, stop: Callable[[], bool], report: Report
) -> list[Ended]:
    """Train every run in one of ``count`` processes; return how each ended, in their order.

    A process that dies takes one run with it; another process is started for those that are left.
    """
    pool = _Pool(tasks, report)
    try:
        for _ in range(min(count, len(tasks))):
            pool.start()
        while pool.workers:
            if stop():
                pool.stop()
            pool.wait()
    finally:
        pool.close()
    return [pool.ended.get(index, Ended("interrupted")) for index in range(len(tasks))]


class _Pool:
    def __init__(self, tasks: Sequence[Task], report: Report) -> None:
        self.tasks, self.report = tasks, report
        self.left = list(reversed(range(len(tasks))))
        self.stopping = False
        self.workers: dict[connection.Connection, _Worker] = {}
        self.ended: dict[int, Ended] = {}

    def start(self) -> None:
        """Start a worker and give it a run."""
        pipe, theirs = _CONTEXT.Pipe()
        # Before signals are held back, since it lets them through again.
        resource_tracker.ensure_running()
        process = _CONTEXT.Process(target=_work, args=(theirs,))
        with signals_held_back():
            process.start()
        theirs.close()
        self.workers[pipe] = _Worker(process, pipe)
        self._give(self.workers[pipe])

    def wait(self, seconds: float = 0.2) -> None:
        """Hear what the workers have to say."""
        for pipe in connection.wait(list(self.workers), seconds):
            assert isinstance(pipe, connection.Connection)
            worker = self.workers[pipe]
            try:
                message = pipe.recv()
            except (EOFError, OSError):
                self._bury(worker)
                continue
            self._hear(worker, message)

    def stop(self) -> None:
        """Give out no more runs and end those that have begun; with the others nothing is lost."""
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

    def _hear(self, worker: _Worker, message: Any) -> None:
        if isinstance(message, Progress):
            self.report(message)
        elif not isinstance(message, Ended):
            worker.begun = True
        elif message.status == "interrupted":
            self._note(worker, "was asked to stop (SIGTERM)")
            _tell(worker, None)
        else:
            assert worker.task is not None
            self.ended[worker.task] = message
            self._give(worker)

    def _give(self, worker: _Worker) -> None:
        """Give a worker the next run, or leave to go."""
        worker.task = self.left.pop() if self.left else None
        _tell(worker, None if worker.task is None else self.tasks[worker.task])

    def _bury(self, worker: _Worker) -> None:
        """Note the run that a worker died with, and replace the worker if runs are left."""
        del self.workers[worker.pipe]
        worker.pipe.close()
        worker.process.join()
        self._note(worker, _death(worker.process.exitcode))
        if self.left:
            self.start()

    def _note(self, worker: _Worker, what: str) -> None:
        """Note that a worker's process ended before its run did, unless it was told to."""
        if worker.task is not None and not self.stopping:
            error = WorkerDiedError(f"its process, {worker.process.pid}, {what}")
            self.ended[worker.task] = Ended("died", error)
        worker.task = None


def _tell(worker: _Worker, message: Task | None) -> None:
    with suppress(OSError):  # One that is gone is noticed when its pipe is read.
        worker.pipe.send(message)


def _death(code: int) -> str:
    return f"was killed ({signal.Signals(-code).name})" if code < 0 else f"ended with exit code {code}"


@contextmanager
def signals_held_back() -> Iterator[None]:
    """Let no signal in inside the block; a process that is started there holds them back as well."""
    before = signal.pthread_sigmask(signal.SIG_BLOCK, SIGNALS)
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _work(pipe: connection.Connection) -> None:
    """Train what comes through the pipe, until nothing comes or the pipe closes."""
    stop = threading.Event()
    # What a terminal sends to all is the parent's business; it tells the workers.
    for number in (signal.SIGINT, signal.SIGHUP, signal.SIGQUIT):
        signal.signal(number, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, lambda *_: stop.set())
    signal.pthread_sigmask(signal.SIG_UNBLOCK, SIGNALS)
    keep_freed_memory()
    torch.set_num_threads(1)
    tasks: queue.SimpleQueue[Task | None] = queue.SimpleQueue()
    threading.Thread(target=_listen, args=(pipe, tasks, stop), daemon=True).start()
    with suppress(OSError):  # The parent is gone: so are its questions.
        while (task := tasks.get()) is not None and not stop.is_set():
            pipe.send("begun")
            pipe.send(_train(task, pipe, stop))


def _listen(
    pipe: connection.Connection, tasks: queue.SimpleQueue[Task | None], stop: threading.Event
) -> None:
    """Pass tasks on; when none is to come or the pipe has closed, ask the training to stop."""
    with suppress(EOFError, OSError):
        while (task := pipe.recv()) is not None:
            tasks.put(task)
    stop.set()
    tasks.put(None)


def _train(task: Task, pipe: connection.Connection, stop: threading.Event) -> Ended:
    member, path, options = task

    def report(progress: Progress) -> None:
        with suppress(OSError):
            pipe.send(progress)

    try:
        return Ended(train_together([member], [path], **options, report=report, stop=stop.is_set))
    except Exception as error:
        error.add_note(traceback.format_exc())
        return Ended("failed", error)
