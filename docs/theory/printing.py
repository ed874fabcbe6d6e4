"""What the scripts that print a page's numbers share: sections by name, and tables."""

from __future__ import annotations

import signal
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path

# The folder above has what these scripts share with the others in docs/.
sys.path.append(str(Path(__file__).resolve().parents[1]))
from command_line import CommandLine as CommandLine
from command_line import names_among as names_among
from command_line import without_arguments as without_arguments


def end_with_reader() -> None:
    """Let a reader that goes away, as head does, end the script without a traceback."""
    signal.signal(signal.SIGPIPE, signal.SIG_DFL)


def print_markdown(header: Sequence[str], rows: Iterable[Sequence[str]]) -> None:
    """Print a table as a page has it."""
    for cells in (header, ["---"] * len(header), *rows):
        print(f"| {' | '.join(cells)} |")
    print()


def print_sections(sections: Mapping[str, Callable[[], None]], docstring: str | None) -> None:
    """Run the sections that the command line names, or all of them; an unknown name ends the script."""
    end_with_reader()
    for name in names_among(docstring, "section", list(sections)):
        sections[name]()
