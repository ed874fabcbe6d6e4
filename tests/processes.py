"""The program as a process with a group of its own, as a shell starts it, and what is left of the group."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent


def command(*arguments: str, path: Path = ROOT) -> subprocess.Popen[str]:
    """Start the program; modules in ``path`` come first."""
    return subprocess.Popen(
        [sys.executable, "-m", "anchorflow", *arguments],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=os.environ | {"PYTHONPATH": f"{path}{os.pathsep}{ROOT}"},
        start_new_session=True,
        preexec_fn=with_no_signal_ignored,
    )


def python(*arguments: str, cwd: Path = ROOT) -> subprocess.CompletedProcess[str]:
    """Run Python as a user does who has the project installed: behind the current folder in the search."""
    return subprocess.run(
        [sys.executable, *arguments],
        cwd=cwd,
        env=os.environ | {"PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        check=False,
        preexec_fn=with_no_signal_ignored,
    )


def end_of(process: subprocess.Popen[str], seconds: float = 60) -> tuple[str, str]:
    """Return what a process said by its end; if it takes too long, kill its group and fail."""
    try:
        return process.communicate(timeout=seconds)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        process.communicate()
        raise


def with_no_signal_ignored() -> None:
    """Undo what ``nohup`` and the background of a shell leave to their children: the program respects it."""
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT):
        signal.signal(number, signal.SIG_DFL)


def group(leader: int) -> list[int]:
    """Return the processes of a group that are alive: more than an exit code that nobody has read."""
    found = []
    for file in Path("/proc").glob("[0-9]*/stat"):
        with suppress(OSError):
            state, _, its_leader, *_ = file.read_text().rpartition(")")[2].split()
            found += [int(file.parent.name)] if state != "Z" and int(its_leader) == leader else []
    return found


def is_empty(leader: int, seconds: float) -> bool:
    """Return whether nothing is left of a group, after waiting for so long at most."""
    end = time.monotonic() + seconds
    while group(leader) and time.monotonic() < end:
        time.sleep(0.05)
    return not group(leader)


def catches(process: int, number: int) -> bool:
    """Return whether a process has a handler of its own for a signal."""
    status = Path(f"/proc/{process}/status").read_text()
    caught = next(line.split()[1] for line in status.splitlines() if line.startswith("SigCgt"))
    return bool(int(caught, 16) >> (number - 1) & 1)


def wait_for(condition: Callable[[], object], seconds: float = 900) -> None:
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, "nothing happened"
        time.sleep(0.02)
