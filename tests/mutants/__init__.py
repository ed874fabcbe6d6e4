"""Faults that the tests have to see, and the program that plants them: ``python -m tests.mutants``."""

from __future__ import annotations

import tomllib
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PACKAGES = ("theory", "sim", "validate")


@dataclass(frozen=True)
class Fault:
    """One text in place of another.

    Attributes
    ----------
    file : str
        Relative to the project.
    old, new : str
        What stands there once, and what is planted in its place.
    tests : tuple of str
        The test files that are about this code; one of their tests has to fail.
    equivalent : str
        Why the fault changes nothing that anyone could see; empty for all others.
    """

    file: str
    old: str
    new: str
    tests: tuple[str, ...]
    equivalent: str = ""

    @property
    def package(self) -> str:
        """The package that the fault is in."""
        return self.file.partition("/")[0]

    def planted(self, text: str) -> str:
        """Return the file's text with the fault in it."""
        if text.count(self.old) != 1:
            raise ValueError(f"{self.file} holds {text.count(self.old)} times, not once: {self.old!r}")
        return text.replace(self.old, self.new)

    def __str__(self) -> str:
        return f"{self.file}: {' '.join(self.old.split())} → {' '.join(self.new.split()) or 'nothing'}"


def faults() -> list[Fault]:
    """Return every fault of the lists beside this file."""
    found = []
    for package in PACKAGES:
        for entry in tomllib.loads(Path(__file__).with_name(f"{package}.toml").read_text())["fault"]:
            found.append(Fault(**entry | {"tests": tuple(entry["tests"])}))
    return found
