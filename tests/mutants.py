"""``make mutants``: plant random faults one by one and print the share that the tests see, with its interval.

A fault changes one operator, number, argument or branch on a line drawn at random, by ``--seed``, of those of
the three packages that can have one; the wording of refusals is left alone. A first run of ``make test`` and
``make test-slow`` under coverage says which tests reach which line; a fault is seen if one of those tests
fails that passed before. Tests are tried until one fails, the recorded numbers first, then those that reach
the fewest lines; ``--most-tests`` ends that early. Some faults change nothing that anyone could see: the
share is a lower bound. Faults that went unseen are printed, to be read. A fault costs some 10 s of processor
time, an unseen one a minute or two, the first run three times that of the tests; ``--coverage FILE`` keeps it
for further draws, ``--tests`` tries only some tests.
"""

import argparse
import ast
import hashlib
import json
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from queue import SimpleQueue
from typing import Any

import pytest
from coverage import CoverageData
from scipy.stats import binomtest

ROOT = Path(__file__).resolve().parents[1]
PACKAGES = ("theory", "sim", "validate")
BATCH, SECONDS = 100, 300
"""Tests that run together; a fault that keeps them running for longer is seen."""
READERS = ("tests/test_imports.py",)
"""Tests of the packages' text, which see a fault without reaching its line."""
OTHER: dict[type[Any], type[Any]] = {
    **{ast.Add: ast.Sub, ast.Sub: ast.Add, ast.Mult: ast.Div, ast.Div: ast.Mult, ast.FloorDiv: ast.Mult},
    **{ast.Pow: ast.Mult, ast.MatMult: ast.Mult, ast.Mod: ast.Mult},
    **{ast.Lt: ast.LtE, ast.LtE: ast.Lt, ast.Gt: ast.GtE, ast.GtE: ast.Gt, ast.Eq: ast.NotEq},
    **{ast.NotEq: ast.Eq, ast.In: ast.NotIn, ast.NotIn: ast.In, ast.Is: ast.IsNot, ast.IsNot: ast.Is},
    **{ast.And: ast.Or, ast.Or: ast.And},
}


@dataclass(frozen=True)
class Fault:
    """An expression of a file, another in its place, and the lines that run when it does."""

    file: str
    node: ast.expr
    other: ast.expr
    lines: range

    def __str__(self) -> str:
        change = f"{ast.unparse(self.node)} → {ast.unparse(self.other)}"
        return f"{self.file}:{self.node.lineno}: {change}"

    def planted(self, text: bytes) -> bytes:
        """Return a file's content with the fault in it."""
        lines, node = text.splitlines(keepends=True), self.node
        assert node.end_lineno is not None
        before = b"".join(lines[: node.lineno - 1]) + lines[node.lineno - 1][: node.col_offset]
        after = lines[node.end_lineno - 1][node.end_col_offset :] + b"".join(lines[node.end_lineno :])
        return before + b"(" + ast.unparse(ast.fix_missing_locations(self.other)).encode() + b")" + after


def faults(file: str, text: str) -> Iterator[Fault]:
    """Yield every fault that a file can have."""
    tree = ast.parse(text)
    # Annotations, decorators, f-strings, whose parts have no places of their own, what an error says, and the
    # ``strict`` of zip, which changes nothing where nothing is wrong.
    quiet: set[int] = set()
    for node in ast.walk(tree):
        parts = [getattr(node, "annotation", None), getattr(node, "returns", None)]
        parts += getattr(node, "decorator_list", []) + [node] * isinstance(node, ast.JoinedStr)
        if isinstance(node, ast.Call) and ast.unparse(node.func).endswith("Error"):
            parts += node.args[1:]
        if isinstance(node, ast.Call) and ast.unparse(node.func) == "zip":
            parts += [keyword.value for keyword in node.keywords]
        quiet |= {id(child) for part in parts if part is not None for child in ast.walk(part)}
    for statement in ast.walk(tree):
        if isinstance(statement, ast.stmt):
            # A constant has no line of its own in the bytecode. Defaults serve the body.
            children = ast.iter_child_nodes(statement)
            inner = [c for c in children if not isinstance(c, (ast.stmt, ast.excepthandler))]
            nodes = [n for child in inner for n in ast.walk(child) if isinstance(n, ast.expr)]
            end = statement.end_lineno or 0
            if hasattr(statement, "body") and not isinstance(statement, (ast.FunctionDef, ast.ClassDef)):
                end = max((node.end_lineno or 0 for node in nodes), default=0)
            branch = getattr(statement, "test", None) if isinstance(statement, (ast.If, ast.While)) else None
            for node in nodes:
                if id(node) not in quiet:
                    for other in _others(node, is_branch=node is branch):
                        yield Fault(file, node, other, range(statement.lineno, end + 1))


def _others(node: ast.expr, *, is_branch: bool) -> Iterator[ast.expr]:
    """Yield what may stand wrongly in an expression's place."""
    match node:
        case ast.BinOp(op=op) if type(op) in OTHER:
            yield ast.BinOp(node.left, OTHER[type(op)](), node.right)
        case ast.Compare(ops=[op]) if type(op) in OTHER:
            yield ast.Compare(node.left, [OTHER[type(op)]()], node.comparators)
        case ast.BoolOp(op=op):
            yield ast.BoolOp(OTHER[type(op)](), node.values)
        case ast.UnaryOp(op=ast.USub() | ast.Not()):
            yield node.operand
        case ast.IfExp():
            yield ast.IfExp(node.test, node.orelse, node.body)
        case ast.Constant(value=bool()):
            yield ast.Constant(not node.value)
        case ast.Constant(value=int() | float()):
            yield ast.Constant(node.value + 1)
        case ast.Call(func=ast.Name(id="min" | "max") | ast.Attribute(attr="minimum" | "maximum")):
            pass  # Their order says nothing.
        case ast.Call(args=[ast.expr() as first, ast.expr() as second, *rest]) if not (
            isinstance(first, ast.Starred) or isinstance(second, ast.Starred)
        ):
            yield ast.Call(node.func, [second, first, *rest], node.keywords)
        case ast.Call(keywords=[*others, ast.keyword(arg=str())]):
            yield ast.Call(node.func, node.args, others)
        case ast.Name() | ast.Attribute() | ast.Call() if is_branch:
            yield ast.UnaryOp(ast.Not(), node)


def copy_of_project(folder: Path) -> Path:
    """Copy what git knows of the project, as it is now."""
    command = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    listed = subprocess.check_output(command, cwd=ROOT, text=True)
    for name in filter(None, listed.split("\0")):
        if (ROOT / name).is_file():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / name, folder / name)
    return folder


def code_of(copy: Path) -> str:
    """Return a digest of the code in a copy."""
    files = sorted(path for part in (*PACKAGES, "tests") for path in (copy / part).rglob("*.py"))
    return hashlib.sha256(b"\0".join(path.read_bytes() for path in files)).hexdigest()


def run_tests(copy: Path, arguments: list[str], file: Path | None = None) -> int | None:
    """Run pytest in a copy and return its exit code; None if it took too long. ``file`` is for coverage."""
    own = {"PYTHONPATH": str(copy), "PYTHONDONTWRITEBYTECODE": "1", "OMP_NUM_THREADS": "1"}
    process = subprocess.Popen(
        [sys.executable, "-m", "pytest", "-q", "--slow", "--rootdir", str(copy), *arguments],
        cwd=copy,
        env=os.environ | own | ({"COVERAGE_FILE": str(file)} if file else {}),
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )
    try:
        return process.wait(None if file else SECONDS)
    except subprocess.TimeoutExpired:
        return None
    finally:
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()


def record_coverage(copy: Path, file: Path, tests: list[str]) -> None:
    """Run the tests once and record which of them pass, and which lines each reaches."""
    code = code_of(copy)  # Of these lines and tests, not of those after an edit.
    options = ["--cov-context=test", "--cov-report=", *(f"--cov={package}" for package in PACKAGES)]
    run_tests(copy, ["--numprocesses", "auto", *options, *tests], file)
    failed = copy / ".pytest_cache" / "v" / "cache" / "lastfailed"
    names = list(json.loads(failed.read_text())) if failed.exists() else []
    file.with_suffix(".failed").write_text(json.dumps({"copy": str(copy), "failed": names, "code": code}))
    print(f"{len(names)} tests fail without a fault, and see none:", *names, sep="\n  ")


class Reach:
    """Which tests reach which lines, read from a file of ``record_coverage``."""

    def __init__(self, file: Path) -> None:
        self.data = CoverageData(str(file))
        self.data.read()
        noted = json.loads(file.with_suffix(".failed").read_text())
        self.copy, self.failed, self.code = Path(noted["copy"]), set(noted["failed"]), noted.get("code")

    def contexts(self, file: str) -> dict[int, list[str]]:
        """Return the tests at each line of a file, each with its phase behind a bar."""
        return self.data.contexts_by_lineno(str(self.copy / file))

    @cached_property
    def breadth(self) -> Counter[str]:
        """How many lines each test reaches."""
        files = [str(Path(name).relative_to(self.copy)) for name in self.data.measured_files()]
        lines = (found for file in files for found in self.contexts(file).values())
        return Counter(context.rpartition("|")[0] for found in lines for context in found)

    def tests_of(self, fault: Fault) -> list[str]:
        """Return the tests that a fault can concern, those first that are likeliest to see it.

        Of a line that runs at import, those that reach the file; of one that runs for a fixture, which
        others may share, all tests of the file that asked for it first.
        """
        reached = self.contexts(fault.file)
        found = {context for line in fault.lines for context in reached.get(line, [])}
        if found == {""}:
            found = {context for contexts in reached.values() for context in contexts}
        tests = {context.rpartition("|")[0] for context in found} - {""}
        shared = {c.partition("::")[0] for c in found if c.endswith("|setup")}
        tests |= {test for test in self.breadth if test.partition("::")[0] in shared}
        recorded = "tests/golden/test_golden.py"
        return sorted(tests - self.failed - {""}, key=lambda t: (recorded not in t, self.breadth[t], t))


def fate_of(fault: Fault, tests: list[str], copies: SimpleQueue[Path]) -> str:
    """Plant a fault in a copy that is free, run tests there, and say whether one fails or hangs."""
    copy = copies.get()
    file = copy / fault.file
    before = file.read_bytes()
    try:
        file.write_bytes(fault.planted(before))
        for first in range(0, max(len(tests), 1), BATCH):
            batch = [*(READERS if first == 0 else ()), *tests[first : first + BATCH]]
            code = run_tests(copy, ["-x", "-p", "no:cacheprovider", *batch])
            # As when a fault stops the import of conftest.py; or a test is named anew in every run.
            if code == pytest.ExitCode.USAGE_ERROR:
                file.write_bytes(before)
                assert run_tests(copy, ["--collect-only", *batch]) == pytest.ExitCode.OK, batch
            if code != pytest.ExitCode.OK:
                return "seen"
    finally:
        file.write_bytes(before)
        copies.put(copy)
    return "NOT SEEN" if tests else "NOT REACHED"


def main() -> int:
    """Draw faults, plant each in a copy of the project, and print the share seen."""
    parser = argparse.ArgumentParser(prog="python -m tests.mutants", description=__doc__)
    parser.add_argument("--count", type=int, default=200, help="how many faults to draw")
    parser.add_argument("--seed", type=int, default=int(time.time()), help="of the draw; printed")
    parser.add_argument("--package", choices=PACKAGES, action="append", help="only in this package")
    parser.add_argument("--tests", nargs="*", default=[], metavar="PATH", help="run only these tests")
    parser.add_argument("--coverage", type=Path, help="a file that keeps the first run for further draws")
    parser.add_argument("--most-tests", type=int, help="at most so many tests for one fault")
    parser.add_argument("--jobs", type=int, default=os.cpu_count(), help="how many faults at a time")
    options = parser.parse_args()
    rng, began = random.Random(options.seed), time.monotonic()
    possible: dict[tuple[str, int], list[Fault]] = {}
    for path in sorted(p for name in options.package or PACKAGES for p in (ROOT / name).rglob("*.py")):
        for fault in faults(str(path.relative_to(ROOT)), path.read_text()):
            possible.setdefault((fault.file, fault.node.lineno), []).append(fault)
    chosen = [rng.choice(possible[line]) for line in rng.sample(sorted(possible), options.count)]
    with tempfile.TemporaryDirectory() as folder:
        copies: SimpleQueue[Path] = SimpleQueue()
        for number in range(options.jobs):
            copies.put(copy_of_project(Path(folder) / str(number)))
        recorded = options.coverage or Path(folder) / "coverage"
        if not recorded.exists():
            record_coverage(Path(folder) / "0", recorded, options.tests)
            print(f"first run: {time.monotonic() - began:.0f} s")
        reach, began = Reach(recorded), time.monotonic()
        if reach.code != code_of(Path(folder) / "0"):
            parser.error(f"the code has changed since {recorded} was made: delete it, or name another file")
        near = [reach.tests_of(fault)[: options.most_tests] for fault in chosen]
        with ThreadPoolExecutor(options.jobs) as pool:
            fates = pool.map(fate_of, chosen, near, [copies] * len(chosen))
            seen = 0
            for number, (fault, fate) in enumerate(zip(chosen, fates, strict=True), 1):
                seen += fate == "seen"
                print(f"{number:4} {fate:11} {fault}", flush=True)
    share = binomtest(seen, len(chosen)).proportion_ci(method="wilson")
    print(
        f"seed {options.seed}: {seen} of {len(chosen)} lines' faults seen, {seen / len(chosen):.2f} "
        f"[{share.low:.2f}, {share.high:.2f}]; {(time.monotonic() - began) / len(chosen):.0f} s a fault"
    )
    return 0


if __name__ == "__main__":
    sys.exit(main())
