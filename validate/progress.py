"""How far a long piece of work is: a bar in a terminal, a changing line in a notebook, lines in a pipe.

Library code says what it goes through with ``track``. Nothing is shown unless a command, or a notebook,
asks for it with ``show_progress``.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TYPE_CHECKING, Protocol, TypeVar

from validate.terminal.streams import is_live, say, terminal_width

if TYPE_CHECKING:
    from rich.progress import Progress, Task

    from sim import Progress as RunProgress

Item = TypeVar("Item")
_FIRST_AFTER, _PLAIN_EVERY, _NOTEBOOK_EVERY = 2.0, 15.0, 0.5  # Seconds.
_shown: ContextVar[bool] = ContextVar("shown", default=False)
_bar: ContextVar[Progress | None] = ContextVar("bar", default=None)


class Advance(Protocol):
    """What a piece of work calls when a part of it is done."""

    def __call__(self, dropped: int = 0) -> None:
        """Count one part as done, and so many others as dropped: they will not be done at all."""


@contextmanager
def show_progress() -> Iterator[None]:
    """Show the progress of what is tracked within."""
    token = _shown.set(True)
    try:
        yield
    finally:
        _shown.reset(token)


def track(items: Collection[Item], what: str) -> Iterator[Item]:
    """Go through items and show how many are done, if progress is shown at all.

    Parameters
    ----------
    items : collection
    what : str
        The work, as "judging claims".
    """
    with progress(what, len(items)) as advance:
        for item in items:
            yield item
            advance()


@contextmanager
def progress(what: str, total: int) -> Iterator[Advance]:
    """Show how far a piece of work is that says itself when a part is done.

    The time until the first part is done is not counted: programs load in it, and it says little of the
    others.
    """
    if not _shown.get():
        yield lambda dropped=0: None
        return
    with _bars() as bars:
        number = bars.add_task(what, total=total, state=f"{what}: 0/{total}")
        task = bars.tasks[-1]
        show = None if bars.live.is_started else _lines(bars.console.is_jupyter)

        def advance(dropped: int = 0) -> None:
            task.total = (task.total or 0) - dropped  # By ``update`` the speed would be forgotten.
            bars.advance(number)
            bars.update(number, state=state_of(task))
            if show:
                show(task)

        yield advance
        bars.remove_task(number)


@contextmanager
def training_progress(total: int) -> Iterator[Callable[[RunProgress], None]]:
    """Show how many of all epochs are done, whoever trains."""
    with show_progress(), progress("training epochs", total) as advance:
        yield lambda run: advance(run.epochs - run.epoch if run.has_ended else 0)


@contextmanager
def _bars() -> Iterator[Progress]:
    """Yield the bars that are on the screen, or put them there; they vanish when the work is done.

    Where no line can be redrawn, they count and are not drawn.
    """
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn

    running = _bar.get()
    if running is not None:
        yield running
        return
    width = terminal_width()
    console = Console(stderr=True, width=width)
    bars = Progress(
        BarColumn(bar_width=max(width // 8, 4)),
        TextColumn("{task.fields[state]}", markup=False),
        console=console,
        transient=True,
        speed_estimate_period=1e9,
        get_time=lambda: time.monotonic(),
    )
    if console.is_jupyter or not is_live(sys.stderr):
        yield bars
        return
    with bars:
        token = _bar.set(bars)
        try:
            yield bars
        finally:
            _bar.reset(token)


def state_of(task: Task) -> str:
    """Return how far a piece of work is: what is done, how fast, and the time left."""
    text = f"{task.description}: {task.completed:.0f}/{task.total:.0f}"
    rate = task.speed
    if not rate or task.total is None:
        return text
    pace = f"{rate:.1f} per second" if rate >= 1 else f"{1 / rate:.1f} s each"
    left = (task.total - task.completed) / rate
    return f"{text}, {pace}, {f'{left:.0f} s' if left < 120 else f'{left / 60:.0f} min'} left"


def _lines(in_notebook: bool) -> Callable[[Task], None]:
    """Return what shows progress in lines: the first after two seconds, then at a modest rate, and the last.

    In a notebook one line below the cell is rewritten.
    """
    every = _NOTEBOOK_EVERY if in_notebook else _PLAIN_EVERY
    due, silent = time.monotonic() + min(_FIRST_AFTER, every), True
    handle = None

    def show(task: Task) -> None:
        nonlocal due, silent, handle
        now = time.monotonic()
        if now < due and (silent or task.completed < (task.total or 0)):
            return
        due, silent = now + every, False
        if not in_notebook:
            say(f"  {state_of(task)}")
            return
        from IPython.display import display

        data = {"text/plain": state_of(task)}
        if handle is None:
            handle = display(data, raw=True, display_id=True)  # type: ignore[no-untyped-call]
        else:
            handle.update(data, raw=True)

    return show
