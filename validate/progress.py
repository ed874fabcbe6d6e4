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
from dataclasses import dataclass, field
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
        The work, as "judging claims".
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
    work = _Work(what, total, loads_first)
    if not _shown.get():
        yield lambda dropped=0: None
    elif Console().is_jupyter:
        yield _lines(work, _notebook_line(), _NOTEBOOK_EVERY)
    elif is_live(sys.stderr):
        with _running_bar() as bar:
            task = bar.add_task(what, total=total, work=work)

            def advance(dropped: int = 0) -> None:
                work.advance(dropped)
                bar.update(task, advance=1, total=work.total)

            yield advance
            bar.remove_task(task)
    else:
        yield _lines(work, say, _PLAIN_EVERY)


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
    left = (total - done) / rate
    return f"{text}, {pace}, {f'{left:.0f} s' if left < 120 else f'{left / 60:.0f} min'} left"


@dataclass
class _Work:
    """A piece of work, its parts counted and timed: from the start, or from the end of the first one."""

    what: str
    total: int
    loads_first: bool
    done: int = 0
    uncounted: int = 0
    started: float = field(default_factory=lambda: time.monotonic())

    def advance(self, dropped: int) -> None:
        self.done += 1
        self.total -= dropped
        if self.loads_first and self.done == 1:
            self.uncounted, self.started = 1, time.monotonic()

    def __str__(self) -> str:
        return state_of(self.what, self.done, self.total, time.monotonic() - self.started, self.uncounted)


def _lines(work: _Work, show: Callable[[str], None], every: float) -> Advance:
    """Show progress in lines: the first after two seconds, then at a modest rate, and the last."""
    due, silent = work.started + min(_FIRST_AFTER, every), True

    def advance(dropped: int = 0) -> None:
        nonlocal due, silent
        work.advance(dropped)
        now = time.monotonic()
        if now >= due or (work.done == work.total and not silent):
            due, silent = now + every, False
            show(f"  {work}")

    return advance


class _StateColumn(ProgressColumn):
    """The same words behind a bar."""

    def render(self, task: Task) -> Text:
        """Return the state of a task."""
        return Text(str(task.fields["work"]), no_wrap=True)


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
