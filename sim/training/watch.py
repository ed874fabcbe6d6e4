"""How far runs are that other processes train, maybe on other machines: read from their folders."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from sim.runs.ending import has_ended
from sim.training.jobs import Pending
from sim.training.session import Progress, Report

_EVERY = 1.0  # Seconds.


@contextmanager
def watching(runs: Sequence[Pending], report: Report, every: float = _EVERY) -> Iterator[None]:
    """Report the epochs that runs' folders show inside the block, one call for each epoch.

    A run shows an epoch when it has been evaluated after it.
    """
    ended = threading.Event()
    before = {path: epoch_of(path) for _, path in runs}

    def look() -> None:
        for member, path in runs:
            lines = _lines(path)
            epoch = _epoch(lines)
            if epoch > before[path]:
                is_over = has_ended(member.training, [json.loads(line) for line in lines])
                for done in range(before[path] + 1, epoch + 1):
                    report(Progress(member.name, done, member.training.epochs, is_over and done == epoch))
                before[path] = epoch

    def watch() -> None:
        while not ended.wait(every):
            look()

    watcher = threading.Thread(target=watch, daemon=True)
    watcher.start()
    try:
        yield
    finally:
        ended.set()
        watcher.join()
        look()


def epoch_of(path: Path) -> int:
    """Return the whole epochs of a run's last evaluation, 0 if it shows none."""
    return _epoch(_lines(path))


def _epoch(lines: Sequence[str]) -> int:
    try:
        return int(json.loads(lines[-1])["epoch"])
    except (IndexError, ValueError):
        return 0


def _lines(path: Path) -> list[str]:
    """Return a run's evaluations as they are written, none if it shows none yet."""
    try:
        return (path / "metrics.jsonl").read_text().splitlines()
    except (OSError, ValueError):
        return []
