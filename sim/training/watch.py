"""How far runs are that other processes train, maybe on other machines: read from their folders."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

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
            epoch = epoch_of(path)
            for done in range(before[path] + 1, epoch + 1):
                report(Progress(member.name, done, member.training.epochs))
            before[path] = max(epoch, before[path])

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
    try:
        last = (path / "metrics.jsonl").read_text().splitlines()[-1]
        return int(json.loads(last)["epoch"])
    except (OSError, IndexError, ValueError):
        return 0
