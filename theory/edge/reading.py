"""Paths as users give them, and files of plain data: a pipe or a huge file is refused, never waited for."""

from __future__ import annotations

import json
import os
import re
import stat
import tomllib
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO, cast

from theory.edge.errors import InputError

PathLike = str | os.PathLike[str]


def as_path(argument: str, value: PathLike) -> Path:
    """Return a path; every public function that takes one reads it here."""
    if not isinstance(value, (str, os.PathLike)) or not os.fspath(value) or "\0" in str(value):
        raise InputError(argument, value, "not a path", "give a name, as a string or a pathlib.Path")
    try:
        return Path(value).expanduser()
    except RuntimeError:
        raise InputError(argument, value, "no home folder of that name", "write the whole path") from None


def normalized(path: Path) -> Path:
    """Return the absolute path, without . and .. in it."""
    return Path(os.path.normpath(path.absolute()))


is_folder, is_file = os.path.isdir, os.path.isfile
"""Whether there is a folder, or a file, of that name; False if no system allows the name."""


def paths_of(values: PathLike | Iterable[PathLike]) -> list[Path]:
    """Return one path or several as a list."""
    several = [values] if isinstance(values, (str, os.PathLike)) else values
    return [as_path("paths", value) for value in several]


LARGEST_FILE = 16 * 2**20
"""The most bytes in a file of plain data: thousands of times as many as in the longest of ours."""
DEEPEST = 50
"""The most levels of tables within tables, or lists within lists."""


def load_toml(path: Path) -> dict[str, Any]:
    """Read a TOML file.

    Raises
    ------
    InputError
        With the file's name, and for wrong syntax the line and column: if there is no such file, or it is not
        a regular file, too large, not UTF-8, not TOML, or nested too deeply.
    """
    return cast("dict[str, Any]", _parsed("file", str(path), read_text(path), _toml, "TOML"))


def load_json(path: Path) -> Any:
    """Read a JSON file; errors are as in ``load_toml``."""
    return _parsed("file", str(path), read_text(path), json.loads, "JSON")


_MOST_KEYS = 100_000
_CHAIN = re.compile(rf"(?<![\w\"'-])(?:[\w\"'-]++[ \t]*+\.[ \t]*+){{{DEEPEST}}}")
"""A key of as many parts as tables may be deep, looked for from where a part begins, without going back."""


def parse_toml(text: str) -> dict[str, Any]:
    """Read TOML text; errors are as in ``load_toml``."""
    return cast("dict[str, Any]", _parsed("TOML", text, text, _toml, "TOML"))


def _toml(text: str) -> dict[str, Any]:
    """Read TOML; what would take the library seconds, or gigabytes, is counted first."""
    if (n := sum(map(text.count, "=[."))) > _MOST_KEYS:
        raise ValueError(f"{n} keys or lists, and at most {_MOST_KEYS} are read")
    if _CHAIN.search(text):
        raise RecursionError
    return tomllib.loads(text)


def read_text(path: Path) -> str:
    """Return the text of a regular file of at most ``LARGEST_FILE`` bytes."""
    with open_regular(path) as file:
        content = file.read(LARGEST_FILE + 1)
    if len(content) > LARGEST_FILE:
        raise _refused(path, f"larger than {LARGEST_FILE // 2**20} MiB", "give a file of settings")
    check_is_text(path, content)
    try:
        return content.decode("utf-8-sig")  # Some editors write a byte order mark.
    except UnicodeDecodeError as error:
        raise _refused(
            path, f"not text in UTF-8 ({error.reason} at byte {error.start})", "save it as UTF-8"
        ) from None


_OTHER_FORMATS = {
    b"%PDF-": "a PDF",
    b"PK\x03\x04": "a ZIP archive or an office document",
    b"\x1f\x8b": "gzip",
}
"""What files that are taken for text begin with, and what they are."""


def check_is_text(path: Path, start: bytes) -> None:
    """Refuse a file that begins as another format does."""
    for mark, kind in _OTHER_FORMATS.items():
        if start.startswith(mark):
            raise _refused(path, f"{kind}, not text", "save its text in a file of its own, in UTF-8")


@contextmanager
def open_regular(path: Path) -> Iterator[BinaryIO]:
    """Open a regular file for reading; errors inside the block become an ``InputError`` that names it."""
    try:
        # Without O_NONBLOCK, opening a pipe waits for a writer before the file can be examined.
        descriptor = os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0))
        with os.fdopen(descriptor, "rb") as file:
            if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
                raise _refused(path, "not a regular file", "give the path of a file")
            yield file
    except InputError:
        raise
    except FileNotFoundError:
        raise _refused(path, "no such file", "check the path") from None
    except IsADirectoryError:
        raise _refused(path, "a folder", "give the path of a file") from None
    except (OSError, ValueError) as error:
        raise _refused(path, f"cannot be read ({error})", "check the path") from None


def _parsed(argument: str, value: str, text: str, parse: Callable[[str], Any], language: str) -> Any:
    """Return the data that a text holds, or refuse it."""
    too_deep = InputError(argument, value, f"nested more than {DEEPEST} levels deep", "nest less deeply")
    try:
        data = parse(text)
    except RecursionError:
        raise too_deep from None
    except ValueError as error:
        # Syntax errors in either language, and integers of more digits than Python reads.
        remedy = _remedy(text, str(error), language)
        raise InputError(argument, value, f"not valid {language}: {error}", remedy) from None
    level, depth = [data], 0
    while level:
        if depth > DEEPEST:
            raise too_deep
        tables = [list(each.values()) if isinstance(each, dict) else each for each in level]
        level, depth = [item for items in tables if isinstance(items, list) for item in items], depth + 1
    return data


def _remedy(text: str, problem: str, language: str) -> str:
    """Return the remedy, by name for the commonest errors in a task file: single brackets, no quotes."""
    if language == "TOML" and text.lstrip().startswith("{"):
        return 'this looks like JSON: write key = value on lines of their own, as in keys = "30..59"'
    if "('mappings',) twice" in problem:
        return "write [[mappings]] before each of them"
    place = re.search(r"line (\d+)", problem)
    lines = text.splitlines()
    line = lines[int(place[1]) - 1] if place and int(place[1]) <= len(lines) else ""
    return (
        "put the expression in quotes"
        if re.match(r" *label *= *[^ \"']", line)
        else f"correct the {language}"
    )


def _refused(path: Path, problem: str, remedy: str) -> InputError:
    return InputError("file", str(path), problem, remedy)
