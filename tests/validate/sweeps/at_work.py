"""Runs while worker processes train them, and what happens to those beside what a test waits for."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path


def holders(out: Path) -> list[tuple[str, int]]:
    """Return the runs below a folder that are being trained, and the process that trains each."""
    found = []
    for lock in out.rglob(".*.lock"):
        text = lock.read_text() if lock.exists() else ""
        name = lock.name[1 : -len(".lock")]
        if text and (lock.with_name(name) / "checkpoints").is_dir():
            found.append((name, int(text)))
    return found


def wait_for(condition: Callable[[], object], seconds: float = 900) -> None:
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, "nothing happened"
        time.sleep(0.02)


@contextmanager
def meanwhile(act: Callable[[], None]) -> Iterator[None]:
    """Act beside what the block does, and raise what goes wrong there."""
    wrong: list[BaseException] = []

    def acted() -> None:
        try:
            act()
        except BaseException as error:
            wrong.append(error)

    thread = threading.Thread(target=acted)
    thread.start()
    try:
        yield
    finally:
        thread.join(60)
        if wrong:
            raise wrong[0]
