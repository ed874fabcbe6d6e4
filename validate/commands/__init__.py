"""The commands: a module or package here is one if its first line says "anchorflow NAME: purpose".

Its class ``Options`` says what it takes, and its function ``run`` does the work. Its ``ACTIONS``, if any, are
second words, each with the module that has a class and a function of that name.
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
"""Every command, a module of this package, and what it is for; those that one needs first come first."""
OPTIONS = ("--help", "--version", "--print-completion")
"""What can be asked for without a command."""


def commands_of(name: str) -> dict[str, tuple[Any, Callable[[Any], int]]]:
    """Return the options and the function of a command, then those of its actions, by all their words."""
    module = importlib.import_module(f"{__name__}.{name}")
    found = {name: (module.Options, module.run)}
    for action, home in getattr(module, "ACTIONS", {}).items():
        its_module = importlib.import_module(home)
        found[f"{name} {action}"] = (getattr(its_module, action.title()), getattr(its_module, action))
    return found


def find_command(words: Sequence[str]) -> tuple[str, Any, Callable[[Any], int], list[str]]:
    """Return the command or action that a line begins with, its options, its function, and what is left."""
    known, name = commands_of(words[0]), " ".join(words[:2])
    name = name if name in known else words[0]
    return name, *known[name], list(words[len(name.split()) :])
