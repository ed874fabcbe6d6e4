"""The errors that tests record for an equation, kept by equation and test file."""

from __future__ import annotations

import ast
import json
import math
import re
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


def recorded_patterns(source: str) -> set[str]:
    """Return a regular expression for every equation that a module's calls of ``record_error`` can name."""
    if "record_error" not in source:  # Most: reading them takes a hundred times as long.
        return set()
    tree = ast.parse(source)
    functions = [node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)]
    return {pattern for function in functions for pattern in _patterns_of(function)}


def _patterns_of(function: ast.FunctionDef) -> set[str]:
    """Read a function's calls; a name may hold any text written in the function or its decorators."""
    nodes = list(ast.walk(function))
    texts = {re.escape(n.value) for n in nodes if isinstance(n, ast.Constant) and isinstance(n.value, str)}
    calls = [n for n in nodes if isinstance(n, ast.Call) and getattr(n.func, "id", "") == "record_error"]
    found: set[str] = set()
    for call in calls:
        match call.args[0]:
            case ast.Constant(value=str() as text):
                found.add(re.escape(text))
            case ast.IfExp(body=ast.Constant(value=str() as a), orelse=ast.Constant(value=str() as b)):
                found |= {re.escape(a), re.escape(b)}
            case ast.JoinedStr(values=parts):
                found.add("".join(re.escape(p.value) if isinstance(p, ast.Constant) else ".+" for p in parts))  # type: ignore[misc, type-var]
            case _:
                found |= texts
    return found
