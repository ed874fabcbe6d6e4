"""The engine of this machine: this process, or a pool of ``concurrent.futures``.

A worker is told to stop by a flag in shared memory, which needs no lock that a killed process could hold. A
worker that is terminated, or whose parent is gone, writes a checkpoint and ends. A process that is killed
breaks the pool: the others write checkpoints, and the next pool continues from there.
"""

from __future__ import annotations

import multiprocessing
import os
import signal
import threading
import traceback
from collections.abc import Iterator, Sequence
from concurrent.futures import Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager, suppress
from multiprocessing import resource_tracker
from typing import Any

from sim.training.engines import Ended, Job, Stop, WorkerDiedError, one_thread, watching
from sim.training.execution import Execution
from sim.training.session import Report, train_together

SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT)
"""The signals that ask a process to stop."""
POOLS = 3
"""How often processes are started for a job: one that takes all memory would be killed every time."""
_CONTEXT: Any = multiprocessing.get_context("spawn")
_EVERY = 0.2  # Seconds.


def train_jobs(jobs: Sequence[Job], execution: Execution, stop: Stop, report: Report) -> list[Ended]:
    """Train jobs in processes of this machine; on a GPU, or with one worker, in this process."""
    n_workers = min(execution.workers, len(jobs)) if execution.device == "cpu" else 1
    if n_workers < 2:
        return [_train_here(job, execution, stop, report) for job in jobs]
    asked, ended = _CONTEXT.RawValue("b", 0), dict[int, Ended]()
    with watching(jobs, report, _EVERY):
        for _ in range(POOLS):
            left = [index for index in range(len(jobs)) if index not in ended]
            if not left or asked.value:
                break
            with ProcessPoolExecutor(min(n_workers, len(left)), _CONTEXT, _begin, (asked,)) as pool:
                futures = dict[Future[Ended], int]()
                try:
                    with signals_blocked(), suppress(BrokenProcessPool):
                        for index in left:
                            futures[pool.submit(_train, jobs[index], execution.in_worker())] = index
                    while wait(futures, _EVERY).not_done:
                        asked.value = asked.value or stop()
                except BaseException:
                    asked.value = 1
                    raise
            for future, index in futures.items():
                with suppress(BrokenProcessPool):
                    # A job interrupted in its own process alone continues in the next pool.
                    if (result := future.result()) != "interrupted" or asked.value:
                        ended[index] = result
    died = WorkerDiedError(f"its process was killed, in each of {POOLS} tries")
    killed = "interrupted" if asked.value else died
    return [ended.get(index, killed) for index in range(len(jobs))]


def _train_here(job: Job, execution: Execution, stop: Stop, report: Report) -> Ended:
    members, paths = zip(*job, strict=True)
    try:
        with one_thread(execution.device):
            if stop():
                return "interrupted"
            return train_together(members, paths, execution, report=report, stop=stop)
    except Exception as error:
        return error


def train_sent_job(job: Job, execution: Execution, stop: Stop) -> Ended:
    """Train a job that another process sent; an error is returned with its traceback as a note."""
    ended = _train_here(job, execution, stop, lambda _: None)
    if isinstance(ended, Exception):
        ended.add_note("".join(traceback.format_exception(ended)))
    return ended


@contextmanager
def signals_blocked(numbers: Sequence[signal.Signals] = SIGNALS) -> Iterator[None]:
    """Block signals inside the block, for processes that are started there as well."""
    resource_tracker.ensure_running()  # Before signals are blocked, since it unblocks them.
    before = signal.pthread_sigmask(signal.SIG_BLOCK, numbers)
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


_asked: Any
"""In a worker: the flag by which its parent asks it to stop."""
_terminated = threading.Event()
_at_work = threading.Lock()


def _begin(asked: Any) -> None:
    """Prepare a worker, which was started with signals blocked."""
    global _asked
    _asked = asked
    # A terminal sends these to all its processes; the parent handles them and tells the workers.
    for number in (signal.SIGINT, signal.SIGHUP, signal.SIGQUIT):
        signal.signal(number, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, lambda *_: _terminated.set())
    signal.pthread_sigmask(signal.SIG_UNBLOCK, SIGNALS)
    threading.Thread(target=_end_with_parent, daemon=True).start()


def _end_with_parent() -> None:
    """End a worker, after its current job, once it is terminated or its parent is gone."""
    parent: Any = multiprocessing.parent_process()
    while not _terminated.wait(_EVERY) and parent.is_alive():
        pass
    _terminated.set()
    with _at_work:
        os._exit(1)


def _train(job: Job, execution: Execution) -> Ended:
    with _at_work:
        return train_sent_job(job, execution, lambda: _terminated.is_set() or bool(_asked.value))
