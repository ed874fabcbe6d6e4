"""Runs while worker processes train them, and what happens to those beside what a test waits for."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

_LOCK = ".anchorflow-lock"


def holders(out: Path) -> list[tuple[str, int]]:
    """Return the runs below a folder that are being trained, and the process that trains each."""
    found = []
    for lock in out.rglob(f".*{_LOCK}"):
        run = lock.with_name(lock.name[1 : -len(_LOCK)])
        if (run / "checkpoints").is_dir():
            found += [(run.name, process) for process in _locked_by(lock)]
    return found


def _locked_by(file: Path) -> list[int]:
    """Return the processes that hold a lock; the kernel lists number, FLOCK, ..., process, device:inode."""
    try:
        inode = str(file.stat().st_ino)
    except FileNotFoundError:
        return []
    lines = [line.split() for line in Path("/proc/locks").read_text().splitlines()]
    held = [line for line in lines if line[1] == "FLOCK" and line[5].rpartition(":")[2] == inode]
    return [int(line[4]) for line in held]


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
