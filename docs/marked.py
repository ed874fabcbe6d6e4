"""What the scripts that write pages share: their argument, text between markers, rows, counted nouns."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from pathlib import Path

from command_line import CommandLine

from sim.runs.files import write_atomically


def folder_of(description: str | None, default: Path, arguments: list[str] | None = None) -> Path:
    """Return the folder of kept runs that the command line names; refuse one that holds none."""
    parser = CommandLine(description)
    parser.add_argument("kept", nargs="?", type=Path, default=default, help="the folder of kept runs")
    folder: Path = parser.parse_args(arguments).kept
    if not any(folder.glob("*/*.safetensors")):
        parser.error(f"{folder} holds no kept runs: nothing was written")
    return folder


def replaced(text: str, name: str, new: str) -> str:
    """Return a text with what stands between two markers replaced."""
    begin, end = f"<!-- {name}: begin -->", f"<!-- {name}: end -->"
    pattern = re.compile(f"{re.escape(begin)}.*?{re.escape(end)}", re.DOTALL)
    if not pattern.search(text):
        raise SystemExit(f"no place for the {name}: put {begin} and {end} where it shall stand")
    return pattern.sub(lambda _: f"{begin}\n{new.rstrip()}\n{end}", text)


def renew(page: Path, name: str, new: str) -> None:
    """Replace what stands between two markers of a page."""
    write_atomically(page, replaced(page.read_text(encoding="utf-8"), name, new).encode())


def markdown_table(header: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Return a Markdown table."""
    lines = [header, ["---"] * len(header), *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def counted(n: int, noun: str) -> str:
    """Return a number and its noun: "1 run", "2 runs"."""
    return f"{n} {noun}{'s' * (n != 1)}"


def are(n: int) -> str:
    """Return the verb behind a number: "is" or "are"."""
    return "is" if n == 1 else "are"


def have(n: int) -> str:
    """Return the verb behind a number: "has" or "have"."""
    return "has" if n == 1 else "have"
