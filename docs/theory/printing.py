"""What the scripts that print a page's numbers share: sections by name, and observations that are kept."""

from __future__ import annotations

import json
import signal
import sys
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any


def end_with_reader() -> None:
    """Let a reader that goes away, as head does, end the script without a traceback."""
    signal.signal(signal.SIGPIPE, signal.SIG_DFL)


def print_sections(sections: Mapping[str, Callable[[], None]], *, headings: bool = False) -> None:
    """Run the sections that the command line names, or all of them; an unknown name ends the script.

    With ``headings`` the name and docstring of each come first.
    """
    end_with_reader()
    unknown = [name for name in sys.argv[1:] if name not in sections]
    if unknown:
        sys.exit(f"unknown section {unknown[0]!r}; choose from {', '.join(sections)}")
    for name in sys.argv[1:] or sections:
        if headings:
            print(f"== {name}: {sections[name].__doc__}")
        sections[name]()


def observations(file: Path, names: Iterable[str], observe: Callable[[str], Any]) -> dict[str, Any]:
    """Return what is kept in a file; with ``--train`` on the command line, observe it anew and keep that."""
    if "--train" in sys.argv:
        found = {}
        for name in names:
            found[name] = observe(name)
            print(f"{name}: {found[name]}", flush=True)
        file.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")
    kept: dict[str, Any] = json.loads(file.read_text(encoding="utf-8"))
    return kept
