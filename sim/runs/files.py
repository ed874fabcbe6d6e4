"""Files that are either whole or absent, with one writer at a time; tensors in safetensors files."""

from __future__ import annotations

import errno
import json
import math
import os
import re
import stat
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any
from uuid import uuid4

import numpy as np
import numpy.typing as npt
import safetensors.numpy
from filelock import FileLock, Timeout
from safetensors import SafetensorError

from sim.errors import BusyError, DamagedError, UnwritableError
from sim.runs.records import LARGEST_RECORD, Arrays
from theory.edge.errors import machine_memory

_NO_LOCKS = {errno.ENOLCK, errno.ENOSYS, errno.EOPNOTSUPP, errno.EINTR, errno.EINVAL}
"""What file systems without locks answer."""
_TEMPORARY = re.compile(r"\.anchorflow-tmp-[0-9a-f]{32}")


@contextmanager
def writing(
    path: Path, argument: str = "out", remedy: str = "free space, or name a place that you may write to"
) -> Iterator[None]:
    """Raise UnwritableError for the system's errors inside the block."""
    try:
        yield
    except OSError as error:
        problem = f"cannot be written ({error.strerror or error})"
        if isinstance(error, (FileExistsError, NotADirectoryError)):
            remedy = "a file has the name of a folder: give another, or move the file away"
        raise UnwritableError(argument, str(path), problem, remedy) from error


@contextmanager
def only_writer(path: Path, *, wait: float = 0.0, kind: str = "lock") -> Iterator[None]:
    """Hold the lock of a run folder, or of a file, inside the block; raise BusyError if another has it.

    The lock is a file beside the folder or file, which itself may be replaced; the kernel releases the lock
    when its holder dies. ``wait`` is in seconds. Locks of another ``kind`` are others.
    """
    file = lock_file(path, kind)
    lock = FileLock(file, timeout=wait, fallback_to_soft=False)
    with writing(path):
        is_new = not file.parent.exists()
        file.parent.mkdir(parents=True, exist_ok=True)
        try:
            lock.acquire()
        except Timeout:
            _check_locks(path)
            remedy = "wait until it has finished, or choose another folder"
            raise BusyError("out", str(path), "another process is writing it", remedy) from None
        except OSError as error:
            if error.errno in _NO_LOCKS:
                raise _no_locks(path, error) from None
            raise
    try:
        yield
    finally:
        # Removed while held: a process that has opened it sees that it no longer has a name, and tries again.
        file.unlink(missing_ok=True)
        lock.release()
        if is_new:
            with suppress(OSError):  # Something was written into it.
                file.parent.rmdir()


def _check_locks(path: Path) -> None:
    """Refuse a file system that says of every lock that another process has it, also of a new one."""
    new = path.with_name(f".anchorflow-tmp-{uuid4().hex}")
    try:
        with FileLock(new, timeout=0, fallback_to_soft=False):
            pass
    except Timeout as error:
        raise _no_locks(path, error) from None
    finally:
        new.unlink(missing_ok=True)


def _no_locks(path: Path, error: OSError) -> UnwritableError:
    problem = f"its file system has no locks ({error.strerror or error})"
    remedy = "two processes could write at a time: name a folder elsewhere, such as on a local disk"
    return UnwritableError("out", str(path), problem, remedy)


def is_being_written(path: Path) -> bool:
    """Return whether another process holds the lock of a run folder."""
    try:
        if lock_file(path).exists():
            with only_writer(path):
                pass
    except BusyError:
        return True
    return False


def lock_file(path: Path, kind: str = "lock") -> Path:
    """Return the file whose lock a folder's or file's writer holds."""
    return path.with_name(f".{path.name}.anchorflow-{kind}")


def write_atomically(path: Path, data: bytes | str) -> None:
    """Write to a temporary name beside ``path``, sync, and rename: readers never see half a file."""
    temporary = path.with_name(f".anchorflow-tmp-{uuid4().hex}")
    try:
        with temporary.open("xb") as file:
            file.write(encoded(data))
            file.flush()
            os.fsync(file.fileno())
        temporary.replace(path)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise


def encoded(content: bytes | str) -> bytes:
    """Return text in UTF-8; bytes that Python could not decode, as in a file's name, are escaped."""
    return content.encode(errors="backslashreplace") if isinstance(content, str) else content


def is_leftover(path: Path) -> bool:
    """Return whether a file was left by a process that was killed in ``write_atomically``."""
    return _TEMPORARY.fullmatch(path.name) is not None and path.is_file() and not path.is_symlink()


def read_regular(path: Path) -> bytes:
    """Return the content of a regular file; anything else, or one that is too large, is an OSError.

    Arrays may fill this machine's memory, records ``LARGEST_RECORD`` bytes.
    """
    most = machine_memory() if path.suffix == ".safetensors" else LARGEST_RECORD
    descriptor = os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0))
    with os.fdopen(descriptor, "rb") as file:
        status = os.fstat(descriptor)
        if not stat.S_ISREG(status.st_mode):
            raise OSError(errno.EINVAL, "not a regular file", str(path))
        if status.st_size > most:
            raise OSError(errno.EFBIG, f"{status.st_size} bytes, and at most {most} are read", str(path))
        return file.read()


def entries(folder: Path) -> list[Path]:
    """Return everything in a folder except folders, recursively, without following links."""
    return [entry for entry in sorted(folder.rglob("*")) if entry.is_symlink() or not entry.is_dir()]


def finite(value: float) -> float | None:
    """Return the value, or None for NaN and infinity, which JSON lacks."""
    return value if math.isfinite(value) else None


def json_text(value: Any) -> str:
    """Return a value as the text of a JSON file; NaN is refused because JSON has none."""
    return json.dumps(value, indent=2, allow_nan=False) + "\n"


def write_json(path: Path, value: Any) -> None:
    """Write a value as JSON, atomically."""
    write_atomically(path, json_text(value))


def write_tensors(arrays: Mapping[str, npt.NDArray[Any]], metadata: dict[str, str]) -> bytes:
    """Return the bytes of a safetensors file; equal arguments give equal bytes."""
    content = safetensors.numpy.save({name: np.ascontiguousarray(array) for name, array in arrays.items()})
    size = int.from_bytes(content[:8], "little")
    header = json.loads(content[8 : 8 + size])
    if metadata:  # The library would write it in an order that differs between processes.
        header["__metadata__"] = dict(sorted(metadata.items()))
    text = json.dumps(header, separators=(",", ":"), ensure_ascii=False).encode()
    text += b" " * (-len(text) % 8)
    return len(text).to_bytes(8, "little") + text + content[8 + size :]


def read_tensors(content: bytes) -> tuple[Arrays, dict[str, str]]:
    """Return a safetensors file's arrays and its metadata; raise DamagedError if it is not one."""
    try:
        arrays = safetensors.numpy.load(content)
    except KeyError as error:
        raise DamagedError(f"has a tensor of dtype {error.args[0]}") from None
    except (SafetensorError, ValueError, TypeError) as error:
        raise DamagedError(f"cannot be read ({error})") from None
    size = int.from_bytes(content[:8], "little")
    return arrays, json.loads(content[8 : 8 + size]).get("__metadata__", {})
