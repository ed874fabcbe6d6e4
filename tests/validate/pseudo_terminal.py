"""A pseudo-terminal with a screen, for commands as a person sees them."""

from __future__ import annotations

import os
import sys
from dataclasses import dataclass
from pathlib import Path

import pexpect
import pyte

REPOSITORY = Path(__file__).parents[2]
COMMAND = [sys.executable, "-m", "anchorflow"]
ENVIRONMENT = {k: v for k, v in os.environ.items() if k not in ("COLUMNS", "NO_COLOR", "FORCE_COLOR")} | {
    "PYTHONPATH": str(REPOSITORY),
    "OMP_NUM_THREADS": "1",
    "TERM": "xterm-256color",
    "LANG": "C.UTF-8",
}


@dataclass
class Shown:
    """What a command left behind: its exit code, all that it wrote, and the lines of the screen."""

    code: int | None
    raw: str
    lines: list[str]

    @property
    def text(self) -> str:
        """The screen as one text, its words in order."""
        return " ".join(" ".join(self.lines).split())


def in_terminal(
    arguments: list[str],
    folder: Path,
    columns: int = 80,
    *,
    command: list[str] = COMMAND,
    interrupt_at: str = "",
    timeout: int = 120,
    **environment: str,
) -> Shown:
    """Run a command in a terminal of so many columns; with Ctrl-C once it has written ``interrupt_at``."""
    child = pexpect.spawn(
        command[0],
        [*command[1:], *arguments],
        cwd=str(folder),
        env=ENVIRONMENT | environment,
        dimensions=(400, columns),
        timeout=timeout,
        encoding="utf-8",
    )
    raw = ""
    if interrupt_at:
        child.expect(interrupt_at)
        raw = child.before + child.after
        child.sendintr()
    child.expect(pexpect.EOF)
    raw += child.before
    child.close()
    screen = pyte.Screen(columns, 400)
    pyte.Stream(screen).feed(raw)
    return Shown(child.exitstatus, raw, [line.rstrip() for line in screen.display if line.strip()])
