"""A pseudo-terminal with a screen, for commands as a person sees them."""

from __future__ import annotations

import os
import sys
import termios
from dataclasses import dataclass
from multiprocessing.connection import wait
from pathlib import Path
from typing import Any

import pexpect
import pyte

from anchorflow.__main__ import main

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
    return _shown(child.exitstatus, raw, columns)


def in_forked_terminal(forked: Any, arguments: list[str], folder: Path, columns: int = 80) -> Shown:
    """Do as ``in_terminal`` does, in a process forked from one that has loaded what the command needs."""
    ours, theirs = os.openpty()
    termios.tcsetwinsize(theirs, (400, columns))
    process = forked.Process(target=_run, args=(os.ttyname(theirs), arguments, str(folder)))
    process.start()
    raw = b""
    while ours in (ready := wait([ours, process.sentinel], timeout=120)):
        raw += os.read(ours, 65536)
    assert ready, "not over after two minutes"
    process.join()
    os.close(ours)
    os.close(theirs)
    return _shown(process.exitcode, raw.decode(), columns)


def _run(terminal: str, arguments: list[str], folder: str) -> None:
    """Be the command: with this terminal, this folder and nothing of the tests' environment."""
    os.setsid()  # What is opened next becomes the session's terminal.
    opened = os.open(terminal, os.O_RDWR)
    for stream, mode in enumerate("rww"):
        os.dup2(opened, stream)
        name = ("stdin", "stdout", "stderr")[stream]
        setattr(sys, name, os.fdopen(stream, mode, encoding="utf-8", closefd=False))
    os.chdir(folder)
    os.environ.clear()
    os.environ.update(ENVIRONMENT)
    sys.argv = ["anchorflow", *arguments]
    sys.exit(main())


def _shown(code: int | None, raw: str, columns: int) -> Shown:
    screen = pyte.Screen(columns, 400)
    pyte.Stream(screen).feed(raw)
    return Shown(code, raw, [line.rstrip() for line in screen.display if line.strip()])
