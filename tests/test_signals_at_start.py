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


def _loading(*arguments: str, path: Path = ROOT) -> subprocess.Popen[str]:
    """Start a command and wait until Python itself is up; by itself it leaves SIGTERM to the system."""
    process = command(*arguments, path=path)
    while not catches(process.pid, signal.SIGTERM):
        assert process.poll() is None
        time.sleep(0.002)
    return process


def _assert_stopped(process: subprocess.Popen[str], number: int, delay: float) -> None:
    time.sleep(delay)
    process.send_signal(number)
    said = end_of(process, 20)
    assert said == ("", "anchorflow: stopped\n")
    assert process.returncode == 128 + number
    assert is_empty(process.pid, 5)


def _python(code: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", code],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
        preexec_fn=with_no_signal_ignored,
    )


@pytest.mark.parametrize("delay", [0.0, 0.05, 0.15])
@pytest.mark.parametrize("number", SIGNALS)
def test_a_signal_while_the_command_is_loaded(number: signal.Signals, delay: float, tmp_path: Path) -> None:
    (tmp_path / "sitecustomize.py").write_text(SLOWLY)
    _assert_stopped(_loading("claims", "2", path=tmp_path), number, delay)


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


@pytest.mark.long
@pytest.mark.parametrize("arguments", [["train"], ["figures"], ["demo"]])
def test_ctrl_c_in_the_first_seconds(arguments: list[str], tmp_path: Path) -> None:
    """While torch or matplotlib is loaded, too, or the time is estimated."""
    for step in range(16):
        process = _loading(*arguments, "--out", str(tmp_path / str(step)))
        time.sleep(step / 8)
        process.send_signal(signal.SIGINT)
        said = end_of(process)[1]
        assert "Traceback" not in said
        assert process.returncode in (130, -signal.SIGINT), said
        assert is_empty(process.pid, 5)


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


def test_next_to_nothing_is_loaded_before_signals_are_looked_after() -> None:
    code = """
import sys
bare = set(sys.modules)
import anchorflow.__main__
print(*sorted(name for name in set(sys.modules) - bare if "." not in name and name[0] != "_"))
"""
    done = _python(code)
    loaded = set(done.stdout.split())
    assert "anchorflow" in loaded
    assert not {"pathlib", "typing", "theory", "sim", "validate"} & loaded
