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
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

from rich.console import Console
from rich.progress import BarColumn, Progress, ProgressColumn, Task
from rich.text import Text

from validate.terminal.streams import is_live, say, terminal_width

if TYPE_CHECKING:
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
        What is done with what, as "judging claims".
    """
    with progress(what, len(items)) as advance:
        for item in items:
            yield item
            advance()


@contextmanager
def progress(what: str, total: int, *, loads_first: bool = False) -> Iterator[Advance]:
    """Show how far a piece of work is that says itself when a part is done.

    With ``loads_first`` the time until the first part is done is not counted: it says nothing of the others.
    """
    pace = _Pace(loads_first)
    if not _shown.get():
        yield lambda dropped=0: None
    elif Console().is_jupyter:
        yield _Lines(what, total, _notebook_line(), _NOTEBOOK_EVERY, pace).advance
    elif is_live(sys.stderr):
        with _running_bar() as bar:
            task = bar.add_task(what, total=total, pace=pace)

            def advance(dropped: int = 0) -> None:
                nonlocal total
                total -= dropped
                pace.advance()
                bar.update(task, advance=1, total=total)

            yield advance
            bar.remove_task(task)
    else:
        yield _Lines(what, total, say, _PLAIN_EVERY, pace).advance


@contextmanager
def training_progress(total: int) -> Iterator[Callable[[RunProgress], None]]:
    """Show how many of all epochs are done, whoever trains."""
    with show_progress(), progress("training epochs", total, loads_first=True) as advance:
        yield lambda run: advance(run.epochs - run.epoch if run.has_ended else 0)


def state_of(what: str, done: int, total: int, seconds: float, uncounted: int = 0) -> str:
    """Return how far a piece of work is: what is done, how fast, and the time left.

    ``seconds`` is the time that all but the ``uncounted`` parts of what is done took.
    """
    text = f"{what}: {done}/{total}"
    if done <= uncounted or seconds <= 0:
        return text
    rate = (done - uncounted) / seconds
    pace = f"{rate:.1f} per second" if rate >= 1 else f"{1 / rate:.1f} s each"
    return f"{text}, {pace}, {_time((total - done) / rate)} left"


def _time(seconds: float) -> str:
    return f"{seconds:.0f} s" if seconds < 120 else f"{seconds / 60:.0f} min"


class _Pace:
    """Since when parts are timed: from the start, or from the end of the first one."""

    def __init__(self, loads_first: bool) -> None:
        self.loads_first, self.uncounted = loads_first, 0
        self.started = time.monotonic()

    def advance(self) -> None:
        """Count one part as done."""
        if self.loads_first and not self.uncounted:
            self.uncounted, self.started = 1, time.monotonic()


class _Lines:
    """Progress in lines: the first after two seconds, then at a modest rate, and the last."""

    def __init__(self, what: str, total: int, show: Callable[[str], None], every: float, pace: _Pace) -> None:
        self.what, self.total, self.show, self.every, self.pace = what, total, show, every, pace
        self.done = 0
        self.due = pace.started + min(_FIRST_AFTER, every)
        self.silent = True

    def advance(self, dropped: int = 0) -> None:
        """Count one part as done, and so many others as dropped."""
        self.done += 1
        self.total -= dropped
        self.pace.advance()
        now = time.monotonic()
        if now >= self.due or (self.done == self.total and not self.silent):
            self.due, self.silent = now + self.every, False
            seconds = now - self.pace.started
            self.show("  " + state_of(self.what, self.done, self.total, seconds, self.pace.uncounted))


class _StateColumn(ProgressColumn):
    """The same words behind a bar."""

    def render(self, task: Task) -> Text:
        """Return the state of a task."""
        done, total = int(task.completed), int(task.total or 0)
        pace: _Pace = task.fields["pace"]
        seconds = time.monotonic() - pace.started
        return Text(state_of(task.description, done, total, seconds, pace.uncounted), no_wrap=True)


@contextmanager
def _running_bar() -> Iterator[Progress]:
    """Yield the bars that are on the screen, or put them there; they vanish when the work is done."""
    running = _bar.get()
    if running is not None:
        yield running
        return
    width = terminal_width(sys.stderr)
    bar = BarColumn(bar_width=max(width // 8, 4))
    console = Console(stderr=True, width=width)
    with Progress(bar, _StateColumn(), console=console, transient=True) as shown:
        token = _bar.set(shown)
        try:
            yield shown
        finally:
            _bar.reset(token)


def _notebook_line() -> Callable[[str], None]:
    """Return what rewrites one line below a notebook's cell."""
    from IPython.display import display

    handle: Any = None

    def show(text: str) -> None:
        nonlocal handle
        data = {"text/plain": text.strip()}
        if handle is None:
            handle = display(data, raw=True, display_id=True)  # type: ignore[no-untyped-call]
        else:
            handle.update(data, raw=True)

    return show
