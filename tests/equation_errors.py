"""The errors that tests record for an equation, by test file: ``pytest --equation-errors=FILE``."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

Errors = dict[str, dict[str, float]]


def add(errors: Errors, equation: str, file: str, error: float) -> None:
    """Keep the largest error of a test file for an equation; a maximum would hide NaN, which is refused."""
    value = float(error)
    if not math.isfinite(value):
        raise ValueError(f"{file} records {value} for {equation}: an error must be a finite number")
    of_file = errors.setdefault(equation, {})
    of_file[file] = max(value, of_file.get(file, 0.0))


def write(path: Path, errors: Errors) -> None:
    """Write what a run recorded, whole or not at all."""
    temporary = path.with_name(path.name + ".part")
    temporary.write_text(json.dumps(errors, indent=2, sort_keys=True) + "\n", encoding="utf-8")
    temporary.replace(path)


def why_refused(options: Any) -> str | None:
    """Return why a run with these pytest options cannot record, or None if it can."""
    if getattr(options, "numprocesses", None):
        return "errors are recorded in one process: leave out -n (--numprocesses)"
    if options.keyword or options.markexpr or options.deselect or options.file_or_dir:
        return "all tests record: leave out -k, -m, --deselect and names of files"
    return None
