"""What stops a command before any of its runs is begun says so: there is nothing to continue."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from sim.errors import NOT_BEGUN, UnfinishedRunsError
from sim.runs.places import is_run_folder


@contextmanager
def noting_no_run(paths: Sequence[Path]) -> Iterator[None]:
    """Note on what stops the work inside the block that none of these runs is begun, if that is so."""
    try:
        yield
    except (KeyboardInterrupt, UnfinishedRunsError) as stop:
        if not any(map(is_run_folder, paths)):
            stop.add_note(NOT_BEGUN)
        raise
