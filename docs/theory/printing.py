"""What the scripts that print a page's numbers share: sections by name, and observations that are kept."""

from __future__ import annotations

import json
import signal
import sys
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

# The folder above has what these scripts share with the others in docs/.
sys.path.append(str(Path(__file__).resolve().parents[1]))
from command_line import CommandLine as CommandLine
from command_line import has_flag as has_flag
from command_line import names_among as names_among
from command_line import without_arguments as without_arguments
from pictures import redraw as redraw


def end_with_reader() -> None:
    """Let a reader that goes away, as head does, end the script without a traceback."""
    signal.signal(signal.SIGPIPE, signal.SIG_DFL)


def print_sections(
    sections: Mapping[str, Callable[[], None]], docstring: str | None, *, headings: bool = False
) -> None:
    """Run the sections that the command line names, or all of them; an unknown name ends the script.

    With ``headings`` the name and docstring of each come first.
    """
    end_with_reader()
    for name in names_among(docstring, "section", list(sections)):
        if headings:
            print(f"== {name}: {sections[name].__doc__}")
        sections[name]()


def observations(
    file: Path, names: Iterable[str], observe: Callable[[str], Any], docstring: str | None
) -> dict[str, Any]:
    """Return what is kept in a file; with ``--train`` on the command line, observe it anew and keep that."""
    if has_flag(docstring, "--train", "observe anew, and keep that"):
        found = {}
        for name in names:
            found[name] = observe(name)
            print(f"{name}: {found[name]}", flush=True)
        file.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")
    kept: dict[str, Any] = json.loads(file.read_text(encoding="utf-8"))
    return kept
