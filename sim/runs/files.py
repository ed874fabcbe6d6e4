"""Files that are either whole or not there."""

from __future__ import annotations

import errno
import json
import math
import os
import re
import stat
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from sim.errors import UnwritableError

_LEFTOVER = re.compile(r"\..+\.(json|jsonl|safetensors)\.\w{8}")
"""How the temporary names of ``write_atomically`` look."""


_WRONG_PATH = (
    errno.EISDIR,
    errno.ENOTDIR,
    errno.EEXIST,
    errno.ENOENT,
    errno.ENAMETOOLONG,
    errno.ELOOP,
)
_REMEDIES = (
    dict.fromkeys((errno.ENOSPC, errno.EDQUOT), "make room for it, or choose another place")
    | dict.fromkeys((errno.EACCES, errno.EPERM, errno.EROFS), "choose a place that you may write to")
    | dict.fromkeys(_WRONG_PATH, "name another path")
    | {errno.EFBIG: "raise the limit on the size of files (ulimit -f), or choose another place"}
)
"""What to do about the system's errors; about any other, choose another place."""


@contextmanager
def writing(path: Path, argument: str = "out", *, trains: bool = False) -> Iterator[None]:
    """Turn what the system says of a full disk or a read-only folder into one clear sentence.

    Parameters
    ----------
    path : Path
    argument : str, optional
        Which argument named the path.
    trains : bool, optional
        Whether training writes there, so that --resume continues.
    """
    try:
        yield
    except OSError as error:
        problem = f"cannot be written ({error.strerror or error})"
        raise UnwritableError(argument, str(path), problem, _remedy(error.errno, trains=trains)) from error


def _remedy(number: int | None, *, trains: bool) -> str:
    remedy = _REMEDIES.get(number or 0, "choose another place")
    # Where the path itself is wrong, no run is there.
    resumes = trains and number not in _WRONG_PATH
    return f"{remedy}; --resume continues the runs that are there" if resumes else remedy


def write_atomically(path: Path, data: bytes | str) -> None:
    """Write to a temporary name beside ``path``, sync, and rename: readers never see half a file."""
    content = data.encode() if isinstance(data, str) else data
    descriptor, temporary = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        # mkstemp makes files private; a result is as readable as any other file of the user's.
        umask = os.umask(0)
        os.umask(umask)
        Path(temporary).chmod(0o666 & ~umask)
        Path(temporary).replace(path)
    except BaseException:
        Path(temporary).unlink(missing_ok=True)
        raise


def read_regular(path: Path) -> bytes:
    """Return the content of a regular file; anything else, such as a pipe, is an OSError."""
    descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    with os.fdopen(descriptor, "rb") as file:
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            raise OSError(errno.EINVAL, "not a regular file", str(path))
        return file.read()


def is_leftover(path: Path) -> bool:
    """Return whether a file was left by a process that was killed while writing."""
    return _LEFTOVER.fullmatch(path.name) is not None and path.is_file() and not path.is_symlink()


def finite(value: float) -> float | None:
    """Return the value for JSON, which knows neither NaN nor infinity."""
    return value if math.isfinite(value) else None


def write_json(path: Path, value: Any) -> None:
    """Write a value as JSON, atomically; NaN is refused because JSON has none."""
    write_atomically(path, json.dumps(value, indent=2, allow_nan=False) + "\n")
