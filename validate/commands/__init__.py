"""The commands: a module or package here is one if its first line says "anchorflow NAME: purpose".

Its class ``Options`` says what it takes, and its function ``run`` does the work. A package may have modules
for further words, its ``ACTIONS``.
"""

from __future__ import annotations

import importlib
import re
from pathlib import Path
from typing import Any

_FIRST = ("demo", "predict", "train", "compare", "figures", "claims")
_HEAD = re.compile(r'"""anchorflow (\w+): (.+?)\.?(?:"""|$)')


def _purposes() -> dict[str, str]:
    """Read the purposes from the files: importing them all would take a second."""
    purposes, folder = {}, Path(__file__).parent
    for source in sorted([*folder.glob("*.py"), *folder.glob("*/__init__.py")]):
        with source.open(encoding="utf-8") as file:
            head = _HEAD.match(file.readline())
        if head and head[1] in (source.stem, source.parent.name):
            purposes[head[1]] = head[2]
    return {name: purposes[name] for name in [*_FIRST, *(n for n in purposes if n not in _FIRST)]}


COMMANDS = _purposes()
"""Every command, a module of this package, and what it is for; those that one needs first come first."""
OPTIONS = ("--help", "--version", "--print-completion")
"""What can be asked for without a command."""


def modules_of(name: str) -> list[Any]:
    """Return the module of a command, then those of its actions."""
    module = importlib.import_module(f"{__name__}.{name}")
    actions = getattr(module, "ACTIONS", ())
    return [module, *(importlib.import_module(f"{module.__name__}.{action}") for action in actions)]


def find_command(name: str, *arguments: str) -> tuple[Any, list[str]]:
    """Return the module of a command, or of the action that its first argument names, and what is left."""
    module = importlib.import_module(f"{__name__}.{name}")
    if arguments and arguments[0] in getattr(module, "ACTIONS", ()):
        return importlib.import_module(f"{module.__name__}.{arguments[0]}"), list(arguments[1:])
    return module, list(arguments)
