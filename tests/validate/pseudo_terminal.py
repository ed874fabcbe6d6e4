"""A pseudo-terminal with a screen, for commands as a person sees them."""

import os
import re
import signal
import sys
import termios
from dataclasses import dataclass
from multiprocessing.connection import wait
from pathlib import Path
from typing import Any

import pyte

from anchorflow.__main__ import main

COMMAND = [sys.executable, "-m", "anchorflow"]
ENVIRONMENT = {k: v for k, v in os.environ.items() if k not in ("COLUMNS", "NO_COLOR", "FORCE_COLOR")} | {
    "PYTHONPATH": str(Path(__file__).parents[2]),
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
    forked: Any, arguments: list[str], folder: Path, columns: int = 80, interrupt_at: str = ""
) -> Shown:
    """Run a command in a terminal of so many columns; with SIGINT once it has written ``interrupt_at``.

    It runs in a process forked from one that has loaded what the command needs.
    """
    ours, theirs = os.openpty()
    termios.tcsetwinsize(theirs, (400, columns))
    process = forked.Process(target=_run, args=(os.ttyname(theirs), arguments, str(folder)))
    process.start()
    raw = b""
    while ours in (ready := wait([ours, process.sentinel], timeout=120)):
        raw += os.read(ours, 65536)
        if interrupt_at and re.search(interrupt_at, raw.decode(errors="ignore")):
            os.kill(process.pid, signal.SIGINT)
            interrupt_at = ""
    assert ready, "not over after two minutes"
    process.join()
    os.close(ours)
    os.close(theirs)
    screen = pyte.Screen(columns, 400)
    pyte.Stream(screen).feed(raw.decode())
    return Shown(process.exitcode, raw.decode(), [line.rstrip() for line in screen.display if line.strip()])


def _run(terminal: str, arguments: list[str], folder: str) -> None:
    """Run as the command, with this terminal, this folder and nothing of the tests' environment."""
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
    signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGINT})  # ``forked`` blocks it.
    signal.signal(signal.SIGINT, signal.default_int_handler)  # Not ignored, as the tests' own may be.
    sys.exit(main())
