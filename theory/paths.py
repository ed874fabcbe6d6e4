"""Paths as people give them: a string, with ``~`` for the home folder, or a ``Path``."""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path

from theory.errors import InputError

PathLike = str | os.PathLike[str]


def as_path(argument: str, value: PathLike) -> Path:
    """Return a path; every public function that takes one reads it here."""
    if not isinstance(value, (str, os.PathLike)) or not os.fspath(value):
        raise InputError(argument, value, "not a path", "give a string or a pathlib.Path")
    return Path(value).expanduser()


def is_folder(path: PathLike) -> bool:
    """Return whether there is a folder of that name; a name that no system allows names none."""
    try:
        return Path(path).is_dir()
    except (OSError, ValueError):
        return False


def is_file(path: PathLike) -> bool:
    """Return whether there is a file of that name; a name that no system allows names none."""
    try:
        return Path(path).is_file()
    except (OSError, ValueError):
        return False


def paths_of(values: PathLike | Iterable[PathLike]) -> list[Path]:
    """Return one path or several as a list."""
    several = [values] if isinstance(values, (str, os.PathLike)) else values
    return [as_path("paths", value) for value in several]
