"""Run the cases of the long suite: ``python -m tests.fuzz``."""

from __future__ import annotations

import contextlib
import importlib
import tempfile
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path

from sim.runs.provenance import peak_memory_mib
from tests.fuzz.command_lines import cases
from tests.fuzz.command_runner import Sandbox
from tests.fuzz.walk import Ending, endings

CALLS = {"theory": "calls", "sim": "calls_sim", "validate": "calls_validate"}


def walk(package: str, every: int = 1) -> Iterator[Ending]:
    """Return how bad calls of a package's public functions end; of them, one in ``every``."""
    calls = importlib.import_module(f"tests.fuzz.{CALLS[package]}").calls()
    for name, (function, arguments) in calls.items():
        # A bad text may be a good name for a folder, and is then one in the current folder.
        with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder):
            found = list(endings(name, function, arguments, every))
        yield from found


def command_lines(folder: Path, every: int = 1) -> Iterator[Ending]:
    """Return how bad command lines end, run in an empty folder; of them, one in ``every``."""
    with contextlib.chdir(folder):
        sandbox = Sandbox(folder)
        for case in cases()[::every]:
            yield sandbox.ending(case)


def summary(found: Sequence[Ending]) -> str:
    """Return what became of the cases, in one line."""
    kinds = Counter(ending.how for ending in found if ending.failed)
    hangs, deletions = kinds.pop("hang", 0), kinds.pop("deletion", 0)
    memory = f"peak memory {peak_memory_mib():.0f} MiB"
    others = sum(kinds.values())
    return f"{len(found)} cases: {others} tracebacks, {hangs} hangs, {deletions} deletions, {memory}"


def run(every: int = 1) -> list[Ending]:
    """Run every case, or one in ``every``, and print the summary and what failed."""
    found = [ending for package in CALLS for ending in walk(package, every)]
    with tempfile.TemporaryDirectory(prefix="anchorflow-fuzz-") as folder:
        found += command_lines(Path(folder), every)
    for ending in found:
        if ending.failed:
            print(ending)
    print(summary(found))
    return found
