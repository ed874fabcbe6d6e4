"""What the pages tell a reader to write and to run, how it is done here; docs' scripts as modules."""

import importlib
import re
import runpy
import shlex
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from validate.cli import main

ROOT = Path(__file__).resolve().parents[2]
DOCS = ROOT / "docs"
PAGES = [
    str(page.relative_to(ROOT))
    for page in (ROOT / "README.md", *sorted(DOCS.rglob("*.md")))
    if not {"node_modules", "_build"} & set(page.parts)
]
_BLOCK = re.compile(r"^```(\w+)\n(.*?)^```", re.MULTILINE | re.DOTALL)


def all_blocks(page: str) -> list[tuple[str, str]]:
    """Return the language and the text of every block of a page."""
    return _BLOCK.findall((ROOT / page).read_text(encoding="utf-8"))


def blocks(page: str, language: str) -> list[str]:
    return [text for kind, text in all_blocks(page) if kind == language]


def follow(
    page: str, capsys: pytest.CaptureFixture[str], changed: Callable[[list[str]], list[str]] = list
) -> dict[str, tuple[int, str]]:
    """Write a page's files into the current folder and run its commands; return exit code and output of each.

    In this process, which spares each command the start of Python and torch. ``changed`` may alter the
    arguments of ``anchorflow``.
    """
    said = {}
    for kind, block in all_blocks(page):
        if kind in ("toml", "python") and block.startswith("# "):
            Path(block.split()[1]).write_text(block)
        for line in block.splitlines() if kind == "console" else []:
            program, *arguments = shlex.split(line.removeprefix("$ "))
            if program == "anchorflow":
                code = main(changed(arguments))
            else:
                assert (program, len(arguments)) == ("python", 1), line
                code = 0
                runpy.run_path(arguments[0], run_name="__main__")
            said[line.removeprefix("$ ")] = code, capsys.readouterr().out
    return said


def load_script(name: str) -> Any:
    """Import docs/NAME.py, which belongs to no package; as when it runs, it finds the scripts beside it."""
    if str(DOCS) not in sys.path:
        sys.path.append(str(DOCS))
    return importlib.import_module(name)
