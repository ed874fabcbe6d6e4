"""One writer for each run folder or list of kept files: a lock that the kernel releases with its holder."""

from __future__ import annotations

import errno
import fcntl
import os
import re
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from sim.errors import BusyError
from sim.runs.files import writing
from theory import InputError


@contextmanager
def only_writer(path: Path, *, trains: bool = True) -> Iterator[None]:
    """Hold the lock of a run folder, or of a file, inside the block.

    The lock file is beside it, because what it stands for may be replaced; it is removed at the
    end, and one that was left by a killed process is reused.

    Parameters
    ----------
    path : Path
    trains : bool, optional
        Whether what is written there is a run, as for ``sim.runs.files.writing``.

    Raises
    ------
    BusyError
        If another process holds the lock.
    """
    file = path.with_name(f".{path.name}.lock")
    with writing(path, trains=trains):
        file.parent.mkdir(parents=True, exist_ok=True)
        descriptor = _acquire(file, path)
    try:
        yield
    finally:
        # Removed while still held: who opened it meanwhile will see that its name is gone.
        file.unlink(missing_ok=True)
        os.close(descriptor)


def is_being_written(path: Path) -> bool:
    """Return whether another process holds the lock of a run folder."""
    file = path.with_name(f".{path.name}.lock")
    if not file.exists():
        return False
    try:
        with only_writer(path):
            return False
    except BusyError:
        return True


def _acquire(file: Path, path: Path) -> int:
    while True:
        descriptor = _open(file)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            holder = _holder(descriptor) or "another"
            os.close(descriptor)
            raise BusyError(
                "out",
                str(path),
                f"process {holder} is writing it",
                "wait until it has finished, or choose another folder",
            ) from None
        if _is_still(file, descriptor):
            os.ftruncate(descriptor, 0)
            os.pwrite(descriptor, str(os.getpid()).encode(), 0)
            return descriptor
        os.close(descriptor)


def _open(file: Path) -> int:
    """Open a lock; refuse a link, and a file of that name which is something else."""
    flags = os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK
    try:
        descriptor = os.open(file, flags, 0o666)
    except OSError as error:
        if error.errno not in (errno.ELOOP, errno.EISDIR, errno.ENXIO):
            raise
        raise _not_ours(file) from None
    if not stat.S_ISREG(os.fstat(descriptor).st_mode) or _holder(descriptor) is None:
        os.close(descriptor)
        raise _not_ours(file)
    return descriptor


def _holder(descriptor: int) -> str | None:
    """Return the process number in a lock, nothing if it is still empty; None if it is not a lock."""
    content = os.pread(descriptor, 21, 0)
    return content.decode("ascii") if re.fullmatch(rb"[0-9]{0,20}", content) else None


def _not_ours(file: Path) -> InputError:
    return InputError("out", str(file), "is not a lock of this program", "move it away")


def _is_still(file: Path, descriptor: int) -> bool:
    """Return whether the name still belongs to the opened file."""
    try:
        return os.path.samestat(file.stat(), os.fstat(descriptor))
    except FileNotFoundError:
        return False
