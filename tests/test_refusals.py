"""Every refusal names an argument, an option or a file first, and its value second."""

from __future__ import annotations

import ast
import re

from tests.test_imports import PACKAGES, ROOT

ERRORS = {
    "InputError",
    "UnwritableError",
    "BusyError",
    "NoRunsError",
    "NotObservedError",
    "TooManyEntriesError",
}
NO_ARGUMENTS = {
    "standard",
    "output",
    "working",
    "directory",
    "configuration",
    "manifest",
    "FILE",
    "import",
    "observable",
}


def test_the_argument_comes_first() -> None:
    names, calls = set(NO_ARGUMENTS), []
    for file in (file for package in PACKAGES for file in sorted((ROOT / package).rglob("*.py"))):
        for node in ast.walk(ast.parse(file.read_text())):
            if isinstance(node, ast.arg):
                names.add(node.arg)
            elif isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
                names.add(node.target.id)
            elif isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in ERRORS:
                calls.append((f"{file.relative_to(ROOT)}:{node.lineno}", node.args[:2]))
    wrong = []
    for where, (first, second) in calls:
        if isinstance(first, ast.Constant):
            parts = {part.replace("-", "_") for part in re.split(r"[., ]+|^--", first.value) if part}
            wrong += [where] * (not parts <= names | {"sha256", "print_completion"})
        elif not isinstance(first, ast.JoinedStr):
            # A name is passed on; its value is no text that is written here.
            wrong += [where] * (
                isinstance(second, ast.JoinedStr) or isinstance(getattr(second, "value", 0), str)
            )
    assert len(calls) > 300
    assert wrong == []
