"""Plant every fault in a copy of the project, one at a time, and count those that a test sees.

A fault is planted in a process forked from one that has loaded the libraries but none of the project, so
that a test of milliseconds takes no seconds. It runs the tests named for the fault; with ``--all``, where
these pass, every test of the package's folder too.
"""

from __future__ import annotations

import argparse
import contextlib
import importlib
import os
import shutil
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

import pytest

import tests
from tests.mutants import PACKAGES, ROOT, Fault, faults

LIBRARIES = ("scipy.integrate", "scipy.stats", "sympy", "hypothesis.strategies", "jinja2")
HEAVY = ("torch", "pydantic", "matplotlib.pyplot", "safetensors.numpy")
"""What theory's tests do without."""
SECONDS = 600


def main(arguments: Sequence[str]) -> int:
    """Print each fault with its fate and a score for each package; return 1 if a fault went unseen."""
    parser = argparse.ArgumentParser(prog="python -m tests.mutants", description=__doc__)
    parser.add_argument("--package", choices=PACKAGES, action="append", help="only its faults")
    parser.add_argument("--file", default="", help="only faults in files whose name holds this")
    parser.add_argument("--all", action="store_true", help="where the named tests pass, run the package's")
    parser.add_argument("--unchecked", action="store_true", help="trust that the tests pass without a fault")
    options = parser.parse_args(arguments)
    chosen = [f for f in faults() if f.package in (options.package or PACKAGES) and options.file in f.file]
    os.environ["MPLBACKEND"] = "agg"
    for name in (*LIBRARIES, *(HEAVY if {f.package for f in chosen} != {"theory"} else ())):
        importlib.import_module(name)
    with tempfile.TemporaryDirectory() as folder:
        copy = Path(folder) / "copy"
        shutil.copytree(ROOT, copy, ignore=shutil.ignore_patterns(".git", ".venv", "_build", "__pycache__"))
        named = sorted({path for fault in chosen for path in fault.tests})
        if not options.unchecked and _tests_fail(copy, named):
            sys.exit("a test fails without any fault: make test says which")
        unseen = [fault for fault in chosen if not _report(fault, copy, options.all)]
    return int(any(not fault.equivalent for fault in unseen)) if _score(chosen, unseen) else 1


def _report(fault: Fault, copy: Path, every: bool) -> bool:
    began = time.monotonic()
    seen = _is_seen(fault, copy, fault.tests)
    if not seen and every and not fault.equivalent:
        seen = _is_seen(fault, copy, (f"tests/{fault.package}",))
    fate = "seen" if seen else "equivalent" if fault.equivalent else "NOT SEEN"
    print(f"{fate:10} {time.monotonic() - began:4.0f} s  {fault}", flush=True)
    return seen


def _score(chosen: Sequence[Fault], unseen: Sequence[Fault]) -> bool:
    """Print the scores and return whether every equivalent fault stayed unseen."""
    for package in PACKAGES:
        real = [f for f in chosen if f.package == package and not f.equivalent]
        missed = [f for f in real if f in unseen]
        if real:
            print(f"{package}: {len(real) - len(missed)} of {len(real)} seen")
    wrong = [f for f in chosen if f.equivalent and f not in unseen]
    for fault in wrong:
        print(f"not equivalent, a test sees it: {fault}")
    return not wrong


def _is_seen(fault: Fault, copy: Path, paths: Sequence[str]) -> bool:
    """Return whether some test fails with the fault planted."""
    file = copy / fault.file
    before = file.read_text()
    file.write_text(fault.planted(before))
    try:
        return _tests_fail(copy, paths)
    finally:
        file.write_text(before)


def _tests_fail(copy: Path, paths: Sequence[str]) -> bool:
    """Return whether a test fails, takes too long or cannot be imported, in a process of its own."""
    child = os.fork()
    if child == 0:
        code = int(pytest.ExitCode.INTERNAL_ERROR)
        try:
            code = _run_tests(copy, paths)
        finally:
            os._exit(code)
    code = _exit_code(child)
    if code in (pytest.ExitCode.USAGE_ERROR, pytest.ExitCode.NO_TESTS_COLLECTED):
        raise ValueError(f"these are no tests: {', '.join(paths)}")
    return code != 0


def _run_tests(copy: Path, paths: Sequence[str]) -> int:
    """Run tests of the copy, in this process, and return pytest's exit code."""
    os.setsid()
    os.chdir(copy)
    for name in [name for name in sys.modules if name.partition(".")[0] in ("tests", *PACKAGES)]:
        del sys.modules[name]
    sys.path[:] = [str(copy), *(entry for entry in sys.path if Path(entry or ".").resolve() != ROOT)]
    os.environ["PYTHONPATH"] = str(copy)
    sys.dont_write_bytecode = True
    options = ["-x", "-q", "--slow", "--assert=plain", "-p", "no:cacheprovider", "--rootdir", str(copy)]
    with Path(os.devnull).open("w") as nowhere, contextlib.redirect_stdout(nowhere):
        return int(pytest.main([*options, *paths]))


def _exit_code(child: int) -> int:
    """Wait for a child; one that hangs is ended with all that it started, and counts as failed."""
    end = time.monotonic() + SECONDS
    while time.monotonic() < end:
        done, status = os.waitpid(child, os.WNOHANG)
        if done:
            return os.waitstatus_to_exitcode(status)
        time.sleep(0.02)
    os.killpg(child, 9)
    os.waitpid(child, 0)
    return -9


if __name__ == "__main__":
    assert tests.__file__  # One BLAS thread, set where the tests are imported.
    sys.exit(main(sys.argv[1:]))
