"""One writer for each run folder or list of kept files: a lock that the kernel releases with its holder."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from filelock import FileLock, Timeout

from sim.errors import BusyError
from sim.runs.files import writing


@contextmanager
def only_writer(path: Path, *, wait: float = 0.0) -> Iterator[None]:
    """Hold the lock of a run folder, or of a file, inside the block; raise BusyError if another has it.

    The lock is a file beside it, because what it stands for may be replaced. ``wait`` is in seconds.
    """
    file = _lock_file(path)
    lock = FileLock(file, timeout=wait, fallback_to_soft=False)
    with writing(path):
        file.parent.mkdir(parents=True, exist_ok=True)
        try:
            lock.acquire()
        except Timeout:
            remedy = "wait until it has finished, or choose another folder"
            raise BusyError("out", str(path), "another process is writing it", remedy) from None
    try:
        yield
    finally:
        # Removed while held: who opened it meanwhile sees that it has no name any more, and tries again.
        file.unlink(missing_ok=True)
        lock.release()


def is_being_written(path: Path) -> bool:
    """Return whether another process holds the lock of a run folder."""
    if not _lock_file(path).exists():
        return False
    try:
        with only_writer(path):
            return False
    except BusyError:
        return True


def _lock_file(path: Path) -> Path:
    return path.with_name(f".{path.name}.anchorflow-lock")
