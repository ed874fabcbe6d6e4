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


SLOWLY = """
import sys, time

class Finder:
    def find_spec(self, name, *_):
        if name == "validate.progress":
            time.sleep(2)

sys.meta_path.insert(0, Finder())
"""
"""The last module that a command needs is long in coming, however fast the machine."""


def _python(code: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", code],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
        preexec_fn=with_no_signal_ignored,
    )


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
    assert end_of(process, 20) == ("", "anchorflow: stopped\n")
    assert process.returncode == 128 + number
    assert is_empty(process.pid, 5)


@pytest.mark.parametrize("module", ["pydantic", "validate.commands.claims", "validate.progress"])
def test_ctrl_c_while_a_module_is_imported(module: str) -> None:
    """Some modules swallow an exception that comes up while they are imported, or make another of it."""
    code = f"""
import os, signal, sys
from anchorflow.__main__ import main

class Finder:
    def find_spec(self, name, *_):
        try:
            if name == "{module}":
                os.kill(os.getpid(), signal.SIGINT)
        except KeyboardInterrupt:
            pass

sys.meta_path.insert(0, Finder())
sys.argv = ["anchorflow", "claims"]
sys.exit(main())
"""
    done = _python(code)
    assert (done.returncode, done.stdout, done.stderr) == (130, "", "anchorflow: stopped\n")


@pytest.mark.slow
@pytest.mark.parametrize("number", SIGNALS)
def test_a_signal_while_the_command_runs(number: signal.Signals) -> None:
    """What it has to clean up, it cleans up."""
    code = f"""
import os, sys, time, validate.commands.claims
from anchorflow.__main__ import main

def work(arguments):
    try:
        os.kill(os.getpid(), {int(number)})
        time.sleep(20)
    finally:
        print("cleaned up")

validate.commands.claims.run = work
sys.argv = ["anchorflow", "claims"]
sys.exit(main())
"""
    done = _python(code)
    assert (done.returncode, done.stdout, done.stderr) == (
        128 + number,
        "cleaned up\n",
        "anchorflow: stopped\n",
    )


def test_ctrl_c_again_while_the_first_is_answered() -> None:
    """The first is an exception that the command may clean up after, the second falls into its last words."""
    code = """
import os, signal, sys, validate.cli, validate.commands.claims
from anchorflow.__main__ import main

def interrupt(*_):
    try:
        os.kill(os.getpid(), signal.SIGINT)
    finally:
        print("cleaned up")

validate.commands.claims.run = validate.cli.say = interrupt
sys.argv = ["anchorflow", "claims"]
sys.exit(main())
"""
    done = _python(code)
    assert (done.returncode, done.stderr) == (130, "anchorflow: stopped\n")
    assert done.stdout == "cleaned up\n" * 2


def test_ctrl_c_when_all_is_done() -> None:
    """What Python does at exit would answer it with a traceback."""
    code = """
import atexit, os, signal, sys
atexit.register(lambda: os.kill(os.getpid(), signal.SIGINT))
from anchorflow.__main__ import main
sys.argv = ["anchorflow", "--version"]
sys.exit(main())
"""
    done = _python(code)
    assert (done.returncode, done.stderr) == (-signal.SIGINT, "")
    assert done.stdout.startswith("anchorflow ")


def test_signals_that_are_ignored_stay_ignored() -> None:
    """As under nohup, which is to outlive its terminal."""
    code = """
import signal
signal.signal(signal.SIGHUP, signal.SIG_IGN)
from anchorflow import _signals
for handle in (_signals.stop_at_once, _signals.stop_with_clean_up, _signals.as_the_system_does):
    handle()
    print(signal.getsignal(signal.SIGHUP).name, signal.getsignal(signal.SIGTERM))
"""
    done = _python(code)
    assert [line.split()[0] for line in done.stdout.splitlines()] == ["SIG_IGN"] * 3
