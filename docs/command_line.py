"""The command line of the scripts in docs/: --help is the docstring, a mistake one line and exit code 2."""

from __future__ import annotations

import argparse
import signal
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NoReturn

CORPORA = ("prontoqa.jsonl", "tinystories_lower.jsonl", "gpt2_tokenizer.json")
"""What the folder of both corpora holds."""


class CommandLine(argparse.ArgumentParser):
    """A parser whose help is a script's docstring; a reader that goes away, as head does, ends the script."""

    def __init__(self, docstring: str | None) -> None:
        signal.signal(signal.SIGPIPE, signal.SIG_DFL)
        as_it_stands = argparse.RawDescriptionHelpFormatter
        super().__init__(description=docstring, formatter_class=as_it_stands, allow_abbrev=False)

    def error(self, message: str) -> NoReturn:
        """End the script with one line."""
        self.exit(2, f"{self.prog}: {message}; see --help\n")


def without_arguments(docstring: str | None) -> None:
    """Refuse any argument but --help."""
    CommandLine(docstring).parse_args()


def names_among(docstring: str | None, what: str, known: Sequence[str]) -> list[str]:
    """Return the names that the command line gives, all that are known without any; refuse another."""
    line = CommandLine(docstring)
    line.add_argument(what, nargs="*", help=", ".join(known))
    found: list[str] = vars(line.parse_args())[what]
    for name in found:
        if name not in known:
            line.error(f"unknown {what} {name!r}: choose from {', '.join(known)}")
    return found or list(known)


def folder_with(*names: str) -> Callable[[str], Path]:
    """Return what an argument is read with that names a folder which holds these files."""

    def read(text: str) -> Path:
        missing = [name for name in names if not (Path(text) / name).exists()]
        if missing or not Path(text).is_dir():
            lack = f"has no {missing[0]}" if Path(text).is_dir() else "is no folder"
            raise argparse.ArgumentTypeError(f"{text} {lack}")
        return Path(text)

    return read
