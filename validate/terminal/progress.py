"""The progress of long work: a bar in a terminal, a changing line in a notebook, lines in a pipe."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from pathlib import Path
from typing import TypeVar

from rich.console import Console
from rich.progress import BarColumn, Progress, Task, TextColumn

import sim
from sim.config.run import MemberConfig
from sim.errors import NOT_BEGUN, UnfinishedRunsError
from sim.runs.folder import is_run_folder
from validate.terminal.output import is_live, say, terminal_width

Item = TypeVar("Item")
_FIRST_AFTER, _PLAIN_EVERY, _NOTEBOOK_EVERY = 2.0, 15.0, 0.5  # Seconds.
_bars: ContextVar[Progress | None] = ContextVar("bars", default=None)


@contextmanager
def show_progress() -> Iterator[None]:
    """Show the progress of long work inside the block; outside it none is shown."""
    width = terminal_width()
    bars = Progress(
        BarColumn(bar_width=max(width // 8, 4)),
        TextColumn("{task.fields[state]}", markup=False),
        console=Console(stderr=True, width=width),
        transient=True,
        redirect_stdout=is_live(sys.stdout),  # Else results in a pipe would go to the terminal.
        speed_estimate_period=1e9,
        get_time=time.monotonic,
    )
    from sim.training.execution import default_report

    token, reported = _bars.set(_bars.get() or bars), default_report.set(training_progress)
    try:
        yield
    finally:
        _bars.reset(token)
        default_report.reset(reported)


def track(items: Collection[Item], what: str) -> Iterator[Item]:
    """Go through items and show how many are done; ``what`` names the work, such as "judging claims"."""
    with progress(what, len(items)) as advance:
        for item in items:
            yield item
            advance()


@contextmanager
def progress(what: str, total: int) -> Iterator[Callable[..., None]]:
    """Yield a function that counts one part of the work as done, and ``dropped`` others as cancelled.

    The time until the first part is done is not counted: it includes loading, and says little about the
    others.
    """
    bars = _bars.get()
    if bars is None:
        yield lambda dropped=0: None
        return
    number = bars.add_task(what, total=total, state=f"{what}: 0/{total}")
    task, in_notebook = bars.tasks[-1], bars.console.is_jupyter
    is_drawn = is_live(sys.stderr) and not in_notebook
    if is_drawn:
        bars.start()
    every = _NOTEBOOK_EVERY if in_notebook else _PLAIN_EVERY
    due, has_said = time.monotonic() + min(_FIRST_AFTER, every), False

    def advance(dropped: int = 0) -> None:
        nonlocal due, has_said
        task.total = (task.total or 0) - dropped  # ``update`` would forget the speed.
        bars.advance(number)
        bars.update(number, state=state_of(task))
        now = time.monotonic()
        if is_drawn or (now < due and (not has_said or task.completed < task.total)):
            return
        if in_notebook:
            from IPython.display import display

            line = {"text/plain": state_of(task)}
            display(line, raw=True, display_id=f"anchorflow {id(task)}", update=has_said)  # type: ignore[no-untyped-call]
        else:
            say(f"  {state_of(task)}")
        due, has_said = now + every, True

    try:
        yield advance
    finally:
        bars.remove_task(number)
        if is_drawn and not bars.tasks:
            bars.stop()


@contextmanager
def training_progress(total: int) -> Iterator[Callable[[sim.Progress], None]]:
    """Show how many of all epochs are done, on any engine."""
    with show_progress(), progress("training epochs", total) as advance:
        yield lambda run: advance(run.epochs - run.epoch if run.has_ended else 0)


def train_with_progress(
    planned: Mapping[Path, MemberConfig],
    execution: sim.Execution,
    begin: Callable[[], None] | None = None,
    note: Callable[[sim.Progress], None] = lambda run: None,
) -> None:
    """Train runs into their folders: say what it will cost, then show progress.

    ``begin`` is called once every check has passed, ``note`` after every epoch of a run. An exception that
    stops the work before any run has a folder carries the note ``NOT_BEGUN``.
    """
    members, folders = list(planned.values()), list(planned)
    has_begun = not execution.overwrite  # Until then the runs to be replaced are untouched.
    try:
        if is_live(sys.stderr):
            say("loading torch, measuring speed ...")
        from sim.training.cost import cost_of_runs
        from sim.training.launch import check_machine, epochs_left, pending_runs, train_members

        # Both are checked here too, so that a device or folder is refused before the slow estimate.
        check_machine(execution)
        runs = [
            (member, epochs_left(member, path) if execution.resume else member.training.epochs)
            for member, path in pending_runs(members, folders, execution)
        ]
        total = sum(epochs for _, epochs in runs)
        if runs:
            at_most = "at most " * any(member.training.patience for member, _ in runs)
            # The speed of other machines cannot be measured here.
            where = f"engine: {execution.engine}, workers: {execution.workers}"
            cost = where if execution.is_remote else cost_text(cost_of_runs(runs, execution))
            say(f"runs: {len(runs)}, epochs in all: {at_most}{total}, {cost}")
        with training_progress(total) as report:

            def told(run: sim.Progress) -> None:
                report(run)
                note(run)

            if begin is not None:
                begin()
            has_begun = True
            train_members(members, folders, execution, report=told)
    except (KeyboardInterrupt, UnfinishedRunsError) as stop:
        if not has_begun or not any(map(is_run_folder, planned)):
            stop.add_note(NOT_BEGUN)
        raise


def cost_text(cost: sim.Cost) -> str:
    """Return the sentence that announces a cost before the work."""
    time, memory = duration(cost.seconds), f"{cost.memory_mib:.0f} MiB"
    return f"processes: {cost.processes}; about {time} if no other work shares the cores, {memory} a process"


def state_of(task: Task) -> str:
    """Return the progress of a task: how much is done, how fast, and the time left."""
    text = f"{task.description}: {task.completed:.0f}/{task.total:.0f}"
    rate = task.speed
    if not rate or task.total is None:
        return text
    pace = f"{rate:.1f} per second" if rate >= 1 else f"{1 / rate:.1f} s each"
    return f"{text}, {pace}, {duration((task.total - task.completed) / rate)} left"


def duration(seconds: float) -> str:
    """Return a time as text, in seconds or minutes."""
    return f"{seconds:.0f} s" if seconds < 120 else f"{seconds / 60:.0f} min"
