"""The kinds of bad input, each a generator of cases, and one engine that runs them all."""

from __future__ import annotations

import contextlib
import importlib
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator
from functools import partial
from itertools import islice
from pathlib import Path

from sim.runs.provenance import peak_memory_mib
from tests.fuzz.command_lines import cases
from tests.fuzz.command_runner import Sandbox
from tests.fuzz.walk import Ending, endings

Case = Callable[[], Ending]
CALLS = {"theory": "calls", "sim": "calls_sim", "validate": "calls_validate"}


def _calls(package: str, folder: Path) -> Iterator[Case]:
    """Call a package's public functions with one bad argument after another."""
    for name, call in importlib.import_module(f"tests.fuzz.{CALLS[package]}").calls().items():
        yield from endings(name, *call)


def _command_lines(folder: Path) -> Iterator[Case]:
    """Run bad command lines beside a user's files."""
    sandbox = Sandbox(folder)
    return (partial(sandbox.ending, case) for case in cases())


def _disturbed(module: str, kind: str, folder: Path) -> Iterator[Case]:
    found: Iterator[Case] = getattr(importlib.import_module(f"tests.fuzz.{module}"), kind)(folder)
    return found


KINDS: dict[str, Callable[[Path], Iterator[Case]]] = {
    **{f"calls of {package}": partial(_calls, package) for package in CALLS},
    "command lines": _command_lines,
    **{
        kind: partial(_disturbed, module, kind)
        for module, kinds in {
            "disturbed": ("names_like_temporaries", "identity_files", "edited_outputs", "followed_remedies"),
            "tokens": ("unusual_tokenizers", "hostile_tokens"),
        }.items()
        for kind in kinds
    },
}


def ran_cases(kind: str, every: int = 1) -> list[Ending]:
    """Return how the cases of a kind end, of which one in ``every`` is run, in an empty folder.

    A bad text may be a good name for a folder, and is then one in there.
    """
    with tempfile.TemporaryDirectory(prefix="anchorflow-fuzz-") as folder, contextlib.chdir(folder):
        return [case() for case in islice(KINDS[kind](Path(folder)), 0, None, every)]


def run(every: int = 1) -> bool:
    """Run all cases, or one in ``every``; print what failed, and how many there were; return if none did."""
    bad = 0
    for kind in KINDS:
        found = ran_cases(kind, every)
        failed = [ending for ending in found if ending.failed]
        bad += len(failed)
        how = ", ".join(f"{how} {count}" for how, count in Counter(e.how for e in failed).items())
        print(*map(str, failed), f"{kind}: {len(found)} cases, {len(failed)} bad {how}", sep="\n")
    print(f"peak memory {peak_memory_mib():.0f} MiB")
    return not bad
