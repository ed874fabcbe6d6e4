"""The commands: a module or package here is one if its first line says "anchorflow NAME: purpose".

Its class ``Options`` says what it takes, and its function ``run`` does the work. Its ``ACTIONS``, if any, map
second words to the modules that have a class and a function of that name.
"""

from __future__ import annotations

import importlib
import re
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

_FIRST = ("demo", "predict", "train", "compare", "figures", "claims")
_HEAD = re.compile(r'"""anchorflow (\w+): (.+?)\.?(?:"""|$)')


def _purposes() -> dict[str, str]:
    """Read the purposes from the files: importing them all would take a second."""
    purposes = dict.fromkeys(_FIRST, "")
    for source in sorted(Path(__file__).parent.rglob("*.py")):
        with source.open(encoding="utf-8") as file:
            if head := _HEAD.match(file.readline()):
                purposes[head[1]] = head[2]
    return purposes


COMMANDS = _purposes()
"""Every command, a module of this package, and its purpose; those that are needed first come first."""
OPTIONS = ("--help", "--version", "--print-completion")
"""The options that need no command."""


def commands_of(name: str) -> dict[str, tuple[Any, Callable[[Any], int]]]:
    """Return the options and the function of a command and of each of its actions, by their full names."""
    module = importlib.import_module(f"{__name__}.{name}")
    found = {name: (module.Options, module.run)}
    for action, home in getattr(module, "ACTIONS", {}).items():
        its_module = importlib.import_module(home)
        found[f"{name} {action}"] = (getattr(its_module, action.title()), getattr(its_module, action))
    return found


def find_command(words: Sequence[str]) -> tuple[str, Any, Callable[[Any], int], list[str]]:
    """Return the command or action that a line begins with, its options, its function, and the rest."""
    known, name = commands_of(words[0]), " ".join(words[:2])
    name = name if name in known else words[0]
    return name, *known[name], list(words[len(name.split()) :])
