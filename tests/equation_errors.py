"""The errors that tests record for an equation, kept by equation and test file."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

Errors = dict[str, dict[str, float]]
"""The largest error for each equation and each test file that recorded one."""


def add(errors: Errors, equation: str, file: str, error: float) -> None:
    """Keep the largest error of a test file for an equation.

    Raises
    ------
    ValueError
        If the error is not a finite number: a maximum would hide NaN.
    """
    value = float(error)
    if not math.isfinite(value):
        raise ValueError(f"{file} records {value} for {equation}: an error must be a finite number")
    of_file = errors.setdefault(equation, {})
    of_file[file] = max(value, of_file.get(file, 0.0))


def merged(kept: Errors, found: Errors, ran: set[str]) -> Errors:
    """Return the kept errors with those of the files that ran replaced by what they recorded now."""
    result: Errors = {}
    for errors, wanted in ((kept, lambda file: file not in ran), (found, lambda file: file in ran)):
        for equation, of_file in errors.items():
            for file, error in of_file.items():
                if wanted(file):
                    add(result, equation, file, error)
    return result


def update(path: Path, found: Errors, ran: set[str]) -> None:
    """Merge what a run recorded into a file; what other test files recorded stays."""
    kept: Errors = json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}
    temporary = path.with_name(path.name + ".part")
    text = json.dumps(merged(kept, found, ran), indent=2, sort_keys=True) + "\n"
    temporary.write_text(text, encoding="utf-8")
    temporary.replace(path)


def why_refused(options: Any) -> str | None:
    """Return why a run with these pytest options cannot record, or None if it can."""
    if getattr(options, "numprocesses", None):
        return "errors are recorded in one process: leave out -n (--numprocesses)"
    if options.keyword or options.markexpr or options.deselect:
        return "a file's largest error needs all its tests: leave out -k, -m and --deselect"
    if any("::" in argument for argument in options.file_or_dir):
        return "a file's largest error needs all its tests: name files or folders, no single test"
    return None
