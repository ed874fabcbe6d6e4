"""Every command line of the pages is understood: the command is there, and so is each of its options."""

from __future__ import annotations

import re
import shlex
import sys

import pytest

from tests.docs.pages import PAGES, ROOT, blocks
from theory import InputError
from validate.commands import find_command
from validate.commands.parsing import import_first, parse

INLINE = re.compile(r"`anchorflow ([a-z][^`]*)`")


def lines_of(page: str) -> list[list[str]]:
    """Return the words behind ``anchorflow``, of blocks and of the text."""
    console = "".join(blocks(page, "console")).replace("\\\n", " ").splitlines()
    shown = [line.removeprefix("$ anchorflow ") for line in console if line.startswith("$ anchorflow ")]
    told = [" ".join(text.split()) for text in INLINE.findall((ROOT / page).read_text(encoding="utf-8"))]
    return [
        shlex.split(re.split(" [|>] ", line)[0], comments=True) for line in dict.fromkeys([*shown, *told])
    ]


def check(words: list[str]) -> None:
    """Read the words as the command does, and do nothing."""
    command, options, _, arguments = find_command(words)
    try:
        import_first(arguments)
        parse(command, options, arguments)
    except SystemExit:  # Of --help.
        return
    except InputError as error:
        if not error.problem.startswith("needs "):  # A text may name a command and leave out its files.
            raise


@pytest.mark.parametrize("page", [page for page in PAGES if lines_of(page)])
def test_command_lines_are_understood(page: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)
    monkeypatch.setattr("sys.path", [*sys.path])
    for words in lines_of(page):
        try:
            check(words)
        except (InputError, ImportError) as error:
            pytest.fail(f"anchorflow {' '.join(words)}: {error}")
