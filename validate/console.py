"""What the commands print: tables for people, JSON for machines, progress on standard error."""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from rich.console import Console
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    ProgressColumn,
    Task,
    TextColumn,
    TimeRemainingColumn,
)
from rich.table import Table
from rich.text import Text

from sim.training.session import Progress as RunProgress
from sim.training.session import Report

_PLAIN_EVERY_SECONDS = 15.0


def print_json(value: Any) -> None:
    """Print one JSON document on standard output."""
    print(json.dumps(value, indent=2, allow_nan=False))


def print_table(title: str, header: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    """Print a table on standard output, as wide as it needs to be where that is not a terminal."""
    console = Console()
    if not console.is_terminal:
        console = Console(width=200)
    table = Table(title=title, title_justify="left", show_lines=False)
    for name in header:
        table.add_column(name, overflow="fold")
    for row in rows:
        table.add_row(*row)
    console.print(table)


def say(text: str) -> None:
    """Print a line on standard error."""
    print(text, file=sys.stderr, flush=True)


class _RateColumn(ProgressColumn):
    """Epochs per second, once there are two reports to measure a rate from."""

    def render(self, task: Task) -> Text:
        """Return the rate."""
        return Text("epochs," if task.speed is None else f"epochs, {task.speed:.1f}/s,")


@contextmanager
def training_progress(total: int) -> Iterator[Report]:
    """Show how many of all epochs are done, the rate and the time left; plain lines where no terminal is."""
    console = Console(stderr=True)
    if not console.is_terminal:
        yield _plain_progress(total)
        return
    columns = (
        TextColumn("training"),
        BarColumn(),
        MofNCompleteColumn(),
        _RateColumn(),
        TimeRemainingColumn(),
        TextColumn("left"),
    )
    with Progress(*columns, console=console) as bar:
        task = bar.add_task("training", total=total)
        yield lambda progress: bar.advance(task)


def _plain_progress(total: int) -> Report:
    start = last = time.monotonic()
    done = 0

    def report(_: RunProgress) -> None:
        nonlocal done, last
        done += 1
        now = time.monotonic()
        if now - last >= _PLAIN_EVERY_SECONDS or done == total:
            last = now
            rate = done / (now - start)
            pace = f"{rate:.1f} per second" if rate >= 1 else f"{1 / rate:.1f} s each"
            say(f"  {done}/{total} epochs, {pace}, {(total - done) / rate:.0f} s left")

    return report
