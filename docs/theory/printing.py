"""What the scripts that print a page's numbers share: a command line, and tables."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Sequence
from pathlib import Path

# The folder above has what these scripts share with the others in docs/.
sys.path.append(str(Path(__file__).resolve().parents[1]))
from command_line import CommandLine as CommandLine
from command_line import names_among as names_among
from command_line import without_arguments as without_arguments


def print_markdown(header: Sequence[str], rows: Iterable[Sequence[str]]) -> None:
    """Print a table as a page has it."""
    for cells in (header, ["---"] * len(header), *rows):
        print(f"| {' | '.join(cells)} |")
    print()
