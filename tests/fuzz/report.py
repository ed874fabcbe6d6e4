"""Run the cases of the long suite: ``python -m tests.fuzz``."""

from __future__ import annotations

import contextlib
import importlib
import tempfile
from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import islice
from pathlib import Path

from sim.runs.provenance import peak_memory_mib
from tests.fuzz.command_lines import cases
from tests.fuzz.command_runner import Sandbox
from tests.fuzz.walk import Ending, endings

CALLS = {"theory": "calls", "sim": "calls_sim", "validate": "calls_validate"}
KINDS = {
    **dict.fromkeys(("names_like_temporaries", "identity_files", "folders_that_move"), "disturbed"),
    **dict.fromkeys(("edited_outputs", "followed_remedies"), "disturbed"),
    **dict.fromkeys(("unusual_tokenizers", "hostile_tokens"), "tokens"),
    "other_accounts": "strangers",
}
"""Generators of cases, each with its module; they run in an empty folder."""


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


def disturbed(kind: str, folder: Path, every: int = 1) -> list[Ending]:
    """Return how commands end where something stands in their way; of the cases, one in ``every``."""
    module = importlib.import_module(f"tests.fuzz.{KINDS[kind]}")
    with contextlib.chdir(folder):
        return [case() for case in islice(getattr(module, kind)(folder), 0, None, every)]


def summary(kind: str, found: Sequence[Ending]) -> str:
    """Return what became of the cases of a kind, in one line."""
    bad = Counter(ending.how for ending in found if ending.failed)
    which = f": {', '.join(f'{how} {count}' for how, count in bad.items())}" if bad else ""
    return f"{kind}: {len(found)} cases, {bad.total()} bad{which}"


def run(every: int = 1) -> list[Ending]:
    """Run every case, or one in ``every``, print what failed, and of each kind how many there were."""
    found = {f"calls of {package}": list(walk(package, every)) for package in CALLS}
    for kind in ("command lines", *KINDS):
        with tempfile.TemporaryDirectory(prefix="anchorflow-fuzz-") as name:
            folder = Path(name)
            found[kind] = (
                disturbed(kind, folder, every) if kind in KINDS else list(command_lines(folder, every))
            )
    for of_kind in found.values():
        print(*(str(ending) for ending in of_kind if ending.failed), sep="\n")
    print(*(summary(*of_kind) for of_kind in found.items()), sep="\n")
    print(f"peak memory {peak_memory_mib():.0f} MiB")
    return [ending for of_kind in found.values() for ending in of_kind]
