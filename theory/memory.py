"""Whether what is asked for fits into this machine's memory: estimated before anything is allocated."""

from __future__ import annotations

import functools
import os
from pathlib import Path

from theory.errors import InputError


@functools.cache
def machine_memory() -> int:
    """Return the bytes of memory that this machine has, or this container may use."""
    try:
        found = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (AttributeError, OSError, ValueError):
        return 16 * 2**30
    for file in ("/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes"):
        try:
            found = min(found, int(Path(file).read_text(encoding="utf-8")))
        except (OSError, ValueError):
            continue
    return found


def check_memory(argument: str, value: object, n_bytes: int, what: str, remedy: str) -> None:
    """Refuse ``what``, the subject of the sentence, if it needs more memory than this machine has."""
    there = machine_memory()
    if n_bytes > there:
        # An estimate of hundreds of digits is not a float.
        needed = f"{n_bytes / 2**30:.3g} GiB" if n_bytes < 2**80 else "more than a billion GiB"
        problem = f"{what} needs about {needed} of memory and this machine has {there / 2**30:.3g} GiB"
        raise InputError(argument, value, problem, remedy)
