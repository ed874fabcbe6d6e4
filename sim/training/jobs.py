"""Jobs: what one worker trains at a time, and how that ended."""

from __future__ import annotations

import traceback
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from sim.config.run import MemberConfig
from sim.errors import BusyError
from sim.runs.folder import RunFolder
from sim.training.execution import Execution
from sim.training.session import Report, train_together
from sim.training.together import groups_of_members

Pending = tuple[MemberConfig, Path]
"""A run that is left to train, and its folder."""
Job = Sequence[Pending]
"""Runs that one worker trains together: on a CPU a single one."""
Stop = Callable[[], bool]


@dataclass
class Ended:
    """How a job ended: its status, or what went wrong.

    The status is one of ``train_together``, or "busy" if another process has a run of the job, "died" if the
    job's process did, "failed" for any other error.
    """

    status: str
    error: BaseException | None = None


class WorkerDiedError(RuntimeError):
    """A process was killed, or failed to start, while it had a job."""


def jobs_of(pending: Sequence[Pending], device: str, parts: int = 1) -> list[Job]:
    """Return the jobs for runs: on a GPU those that may share a trainer, on a CPU each run by itself.

    Parameters
    ----------
    pending : sequence of (MemberConfig, Path)
    device : str
    parts : int, optional
        How many GPUs there are: runs that may share a trainer are dealt out to so many jobs.
    """
    if device == "cpu":
        return [[run] for run in pending]
    groups = groups_of_members([member for member, _ in pending])
    alike = [runs for group in groups for runs in _of_one_step([pending[i] for i in group])]
    return [runs[part::parts] for runs in alike for part in range(parts) if runs[part:]]


def _of_one_step(runs: Sequence[Pending]) -> list[list[Pending]]:
    """Return the runs by their newest checkpoint: a trainer has one step for all its members."""
    found: dict[tuple[int, ...], list[Pending]] = {}
    for run in runs:
        found.setdefault(tuple(RunFolder(run[1]).checkpoint_steps()[:1]), []).append(run)
    return list(found.values())


def train_job(job: Job, execution: Execution, report: Report, stop: Stop) -> Ended:
    """Train the runs of a job for another process; return how they ended, whatever goes wrong."""
    members, paths = zip(*job, strict=True)
    with ending() as ended:
        ended.status = train_together(members, paths, execution, report=report, stop=stop)
    if ended.status == "failed" and ended.error:
        # No traceback travels between processes.
        ended.error.add_note("".join(traceback.format_exception(ended.error)))
    return ended


@contextmanager
def ending() -> Iterator[Ended]:
    """Yield how a job ended, to be given its status inside the block; what is raised there is noted in it."""
    ended = Ended("failed")
    try:
        yield ended
    except BusyError as error:
        ended.status, ended.error = "busy", error
    except Exception as error:
        ended.error = error
