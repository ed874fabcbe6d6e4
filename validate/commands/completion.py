"""The completion of commands and options in a shell."""

from __future__ import annotations

import argparse
import importlib
from collections.abc import Sequence
from typing import Any

import shtab

from theory import InputError
from theory.errors import unknown_name
from validate.commands import COMMANDS, OPTIONS
from validate.commands.parsing import Command


def print_completion(arguments: Sequence[str]) -> None:
    """Print the script that a shell reads to complete our command lines.

    Raises
    ------
    InputError
        If no shell is named, or one that is not known.
    """
    if len(arguments) != 1:
        raise InputError("--print-completion", " ".join(arguments), "not one shell", _name_one())
    if arguments[0] not in shtab.SUPPORTED_SHELLS:
        raise unknown_name("shell", arguments[0], shtab.SUPPORTED_SHELLS)
    print(shtab.complete(_whole_parser(), shell=arguments[0]))


def _name_one() -> str:
    return f"name one of {', '.join(shtab.SUPPORTED_SHELLS)}"


def _whole_parser() -> argparse.ArgumentParser:
    """Return one parser of all commands; only completion needs them at once."""
    parser = argparse.ArgumentParser(prog="anchorflow", add_help=False)
    for option in OPTIONS:
        parser.add_argument(option, action="store_true")
    commands = parser.add_subparsers()
    for name, what in COMMANDS.items():
        command: Command[Any] = importlib.import_module(f"validate.commands.{name}").COMMAND
        options = [*command.own_options(), *command.keys()]
        parent = command.parser(options, complete=True)
        commands.add_parser(name, help=what, parents=[parent], add_help=False)
    return parser
