"""The commands: a module or package here is one if its first line says "anchorflow NAME: purpose"."""

from __future__ import annotations

import re
from pathlib import Path

_FIRST = ("demo", "predict", "train", "compare", "figures", "claims")
_HEAD = re.compile(r'"""anchorflow (\w+): (.+?)\.?(?:"""|$)')


def _purposes() -> dict[str, str]:
    """Read the purposes from the files: importing them all would take a second."""
    purposes = {}
    for path in sorted(Path(__file__).parent.glob("*")):
        source = path / "__init__.py" if path.is_dir() else path
        if source.suffix != ".py" or not source.is_file():
            continue
        with source.open(encoding="utf-8") as file:
            head = _HEAD.match(file.readline())
        if head and head[1] == path.stem:
            purposes[head[1]] = head[2]
    return {name: purposes[name] for name in [*_FIRST, *(n for n in purposes if n not in _FIRST)]}


COMMANDS = _purposes()
"""Every command, a module of this package, and what it is for; those that one needs first come first."""
OPTIONS = ("--help", "--version", "--print-completion")
"""What can be asked for without a command."""
