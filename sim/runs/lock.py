"""One writer for each run folder: a lock that the kernel releases when its holder dies."""

from __future__ import annotations

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from sim.runs.files import writing
from theory import InputError


@contextmanager
def only_writer(path: Path) -> Iterator[None]:
    """Hold the lock of a run folder inside the block.

    The lock file lies beside the folder, because the folder itself may be replaced; it is removed at the
    end, and one that a killed process left behind is taken over.

    Raises
    ------
    InputError
        If another process holds the lock.
    """
    file = path.with_name(f".{path.name}.lock")
    with writing(path):
        file.parent.mkdir(parents=True, exist_ok=True)
        descriptor = _acquire(file, path)
    try:
        yield
    finally:
        # Removed while still held: who opened it meanwhile will see that its name is gone.
        file.unlink(missing_ok=True)
        os.close(descriptor)


def _acquire(file: Path, path: Path) -> int:
    while True:
        descriptor = os.open(file, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o666)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            holder = os.read(descriptor, 20).decode() or "another"
            os.close(descriptor)
            raise InputError(
                "out",
                str(path),
                f"process {holder} is writing this run",
                "wait until it has finished, or choose another folder",
            ) from None
        if _is_still(file, descriptor):
            os.ftruncate(descriptor, 0)
            os.pwrite(descriptor, str(os.getpid()).encode(), 0)
            return descriptor
        os.close(descriptor)


def _is_still(file: Path, descriptor: int) -> bool:
    """Return whether the name still belongs to the opened file."""
    try:
        return os.path.samestat(file.stat(), os.fstat(descriptor))
    except FileNotFoundError:
        return False
