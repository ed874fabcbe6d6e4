"""The commands: a module here is one if its first line says "anchorflow NAME: purpose".

Its class ``Options`` says what it takes, and its function ``run`` does the work. Its ``ACTIONS``, if any, map
second words to the modules that have a class and a function of that name.
"""

from __future__ import annotations

import importlib
import re
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

COMMANDS = dict.fromkeys(("demo", "predict", "train", "compare", "figures", "claims"), "")
"""Every command, a module of this package, and its purpose; those that are needed first come first."""
for _source in sorted(Path(__file__).parent.glob("*.py")):
    with _source.open(encoding="utf-8") as _file:  # Importing them all would take a second.
        if _head := re.match(r'"""anchorflow (\w+): (.+?)\.?(?:"""|$)', _file.readline()):
            COMMANDS[_head[1]] = _head[2]
OPTIONS = ("--help", "--version", "--print-completion")
"""The options that need no command."""


def commands_of(name: str) -> dict[str, tuple[Any, Callable[[Any], int]]]:
    """Return the options and the function of a command and of each of its actions, by their full names."""
    module = importlib.import_module(f"{__name__}.{name}")
    commands = {name: (module.Options, module.run)}
    for action, home in getattr(module, "ACTIONS", {}).items():
        its_module = importlib.import_module(home)
        commands[f"{name} {action}"] = (getattr(its_module, action.title()), getattr(its_module, action))
    return commands


def find_command(words: Sequence[str]) -> tuple[str, Any, Callable[[Any], int], list[str]]:
    """Return the command or action that a line begins with, its options, its function, and the rest."""
    known, name = commands_of(words[0]), " ".join(words[:2])
    name = name if name in known else words[0]
    return name, *known[name], list(words[len(name.split()) :])
