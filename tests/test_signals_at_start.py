"""Ctrl-C and similar signals while a command is loading, or runs: one line, an exit code, no process left."""

from __future__ import annotations

import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.processes import ROOT, catches, command, end_of, is_empty, with_no_signal_ignored

SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT)
STOPPED = "anchorflow: stopped\n"
SLOWLY = """
import sys, time

class Finder:
    def find_spec(self, name, *_):
        if name == "validate.terminal.progress":
            time.sleep(2)

sys.meta_path.insert(0, Finder())
"""
"""The last module that a command needs is long in coming, however fast the machine."""


@pytest.mark.parametrize(("number", "delay"), [*zip(SIGNALS, (0.0, 0.05, 0.1, 0.15), strict=True)])
def test_a_signal_while_the_command_is_loaded(number: signal.Signals, delay: float, tmp_path: Path) -> None:
    (tmp_path / "sitecustomize.py").write_text(SLOWLY)
    process = command("claims", "2", path=tmp_path)
    # By itself Python leaves SIGTERM to the system.
    while not catches(process.pid, signal.SIGTERM):
        assert process.poll() is None
        time.sleep(0.002)
    time.sleep(delay)
    process.send_signal(number)
    assert end_of(process, 20) == ("", STOPPED)
    assert process.returncode == 128 + number
    assert is_empty(process.pid, 5)


IMPORTED = """
class Finder:
    def find_spec(self, name, *_):
        try:
            if name == "MODULE":
                os.kill(os.getpid(), signal.SIGINT)
        except KeyboardInterrupt:
            pass

sys.meta_path.insert(0, Finder())
"""
"""Some modules swallow an exception that comes up while they are imported, or make another of it."""
RUNNING = """
import validate.cli, validate.commands.claims

def work(*_):
    try:
        os.kill(os.getpid(), NUMBER)
        time.sleep(20)
    finally:
        print("cleaned up")

"""
HERE = "validate.commands.claims.run = "
BY_NUMBER = {n.name: (f"{RUNNING}{HERE}work".replace("NUMBER", str(int(n))), 128 + n) for n in SIGNALS}
ENDINGS = {
    **{
        f"import of {module}": (IMPORTED.replace("MODULE", module), 130, "")
        for module in ("pydantic", "validate.commands.claims", "validate.terminal.progress")
    },
    **{name: (*ended, "cleaned up\n") for name, ended in BY_NUMBER.items()},
    # The first is an exception that the command cleans up after, the second falls into its last words.
    "twice": (f"{RUNNING}{HERE}validate.cli.say = work".replace("NUMBER", "2"), 130, "cleaned up\n" * 2),
}


@pytest.mark.parametrize(
    "when", [pytest.param(w, marks=[pytest.mark.slow] * (w in BY_NUMBER)) for w in ENDINGS]
)
def test_a_signal_ends_the_command_in_one_line_after_its_clean_up(when: str) -> None:
    code, status, printed = ENDINGS[when]
    found = ended(f"{code}\nsys.argv = ['anchorflow', 'claims']\nsys.exit(main())")
    assert found == (status, printed, STOPPED)


def ended(code: str) -> tuple[int, str, str]:
    """Return how a program ended in a process of its own, and what it printed on both streams."""
    done = subprocess.run(
        [sys.executable, "-c", f"import os, signal, sys, time\nfrom anchorflow.__main__ import main\n{code}"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
        preexec_fn=with_no_signal_ignored,
    )
    return done.returncode, done.stdout, done.stderr


def test_ctrl_c_when_all_is_done() -> None:
    """What Python does at exit would answer it with a traceback."""
    code = "import atexit; atexit.register(lambda: os.kill(os.getpid(), signal.SIGINT))"
    status, printed, error = ended(f"{code}\nsys.argv = ['anchorflow', '--version']\nsys.exit(main())")
    assert (status, error) == (-signal.SIGINT, "")
    assert printed.startswith("anchorflow ")


def test_signals_that_are_ignored_stay_ignored() -> None:
    """As under nohup, which is to outlive its terminal."""
    code = """
signal.signal(signal.SIGHUP, signal.SIG_IGN)
from anchorflow import _signals
for handle in (_signals.stop_at_once, _signals.stop_with_clean_up, _signals.as_the_system_does):
    handle()
    print(signal.getsignal(signal.SIGHUP).name)
"""
    assert ended(code)[1].split() == ["SIG_IGN"] * 3
