"""What the pages show is accepted as printed: command lines with their options, and TOML."""

from __future__ import annotations

import re
import shlex
import sys
from pathlib import Path

import pytest

from sim.config.run import make_run_config
from sim.config.task_files import read_description
from tests.docs.pages import PAGES, ROOT, blocks
from theory import InputError, Task
from validate.commands import find_command
from validate.commands.parsing import import_first, parse
from validate.judge.ledger import read_claims
from validate.studies.study import load_study

INLINE = re.compile(r"`anchorflow ([a-z][^`]*)`")


def lines_of(page: str) -> list[list[str]]:
    """Return the words behind ``anchorflow``, of blocks and of the text."""
    console = "".join(blocks(page, "console")).replace("\\\n", " ").splitlines()
    shown = [line.removeprefix("$ anchorflow ") for line in console if line.startswith("$ anchorflow ")]
    told = [" ".join(text.split()) for text in INLINE.findall((ROOT / page).read_text(encoding="utf-8"))]
    lines = [re.split(" [|>] ", line)[0] for line in dict.fromkeys([*shown, *told])]
    return [shlex.split(line, comments=True) for line in lines]


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


TOML = [(f"{page}:{i}", text) for page in PAGES for i, text in enumerate(blocks(page, "toml"))]


@pytest.mark.parametrize(("where", "text"), TOML, ids=[where for where, _ in TOML])
def test_every_toml_example_is_accepted_as_printed(where: str, text: str, tmp_path: Path) -> None:
    file = tmp_path / "example.toml"
    file.write_text(text)
    if where.startswith("docs/sweeps.md"):
        assert load_study(file).variants
        return
    if "[[claim]]" in text:
        assert [claim.number for claim in read_claims(file)] == [90]
        return
    described = read_description(file)
    assert make_run_config(described).members()
    if set(described) == {"task"}:
        assert Task.from_toml(Task.from_toml(file).to_toml()) == Task.from_toml(file)
