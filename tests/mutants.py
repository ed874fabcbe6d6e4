"""``make mutants``: plant random faults one by one and print the share that the tests see, with its interval.

A fault changes one operator, number, argument or branch of the three packages, drawn at random by
``--seed``. A first run under coverage records which tests reach which line; a fault is seen if one of those
tests fails. Nothing is excluded: some faults change nothing that anyone could see, so the share is a lower
bound. Those that went unseen are printed, to be read.
"""

from __future__ import annotations

import argparse
import ast
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from coverage import CoverageData
from scipy.stats import binomtest

ROOT = Path(__file__).resolve().parents[1]
PACKAGES = ("theory", "sim", "validate")
SECONDS = 300
OTHER: dict[type[Any], type[Any]] = {
    ast.Add: ast.Sub,
    ast.Sub: ast.Add,
    ast.Mult: ast.Div,
    ast.Div: ast.Mult,
    ast.FloorDiv: ast.Mult,
    ast.Pow: ast.Mult,
    ast.MatMult: ast.Mult,
    ast.Lt: ast.LtE,
    ast.LtE: ast.Lt,
    ast.Gt: ast.GtE,
    ast.GtE: ast.Gt,
    ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq,
    ast.In: ast.NotIn,
    ast.NotIn: ast.In,
    ast.Is: ast.IsNot,
    ast.IsNot: ast.Is,
    ast.And: ast.Or,
    ast.Or: ast.And,
    ast.USub: ast.UAdd,
}


def faults(path: Path) -> Iterator[tuple[int, int, ast.expr, ast.expr]]:
    """Yield (line, column, node, the same node with a fault) for every fault that a file can have."""
    tree = ast.parse(path.read_text())
    quiet: set[int] = set()  # Annotations, and f-strings, whose parts have no places of their own.
    for node in ast.walk(tree):
        annotations = [getattr(node, "annotation", None), getattr(node, "returns", None)]
        for part in [node] if isinstance(node, ast.JoinedStr) else annotations:
            quiet |= {id(child) for child in ast.walk(part)} if part is not None else set()
    for node in ast.walk(tree):
        if not isinstance(node, ast.expr) or id(node) in quiet:
            continue
        for fault in _faults_of(node):
            yield node.lineno, node.col_offset, node, fault


def _faults_of(node: ast.expr) -> Iterator[ast.expr]:
    match node:
        case ast.BinOp(op=op) if type(op) in OTHER and not isinstance(node.left, ast.JoinedStr):
            yield ast.BinOp(node.left, OTHER[type(op)](), node.right)
        case ast.Compare(ops=[op]) if type(op) in OTHER:
            yield ast.Compare(node.left, [OTHER[type(op)]()], node.comparators)
        case ast.BoolOp(op=op):
            yield ast.BoolOp(OTHER[type(op)](), node.values)
        case ast.UnaryOp(op=ast.USub()):
            yield node.operand
        case ast.UnaryOp(op=ast.Not()):
            yield node.operand
        case ast.IfExp():
            yield ast.IfExp(node.test, node.orelse, node.body)
        case ast.Constant(value=bool()):
            yield ast.Constant(not node.value)
        case ast.Constant(value=int() | float()):
            yield ast.Constant(node.value + 1)
        case ast.Call(args=[first, second, *rest]) if not any(
            isinstance(a, ast.Starred) for a in (first, second)
        ):
            yield ast.Call(node.func, [second, first, *rest], node.keywords)
        case ast.Call(keywords=[*keywords]) if [k for k in keywords if k.arg]:
            yield ast.Call(node.func, node.args, keywords[:-1])


def planted(path: Path, node: ast.expr, fault: ast.expr) -> str:
    """Return the text of a file with a node replaced."""
    lines = path.read_bytes().splitlines(keepends=True)
    assert node.end_lineno is not None
    assert node.end_col_offset is not None
    before = b"".join(lines[: node.lineno - 1]) + lines[node.lineno - 1][: node.col_offset]
    after = lines[node.end_lineno - 1][node.end_col_offset :] + b"".join(lines[node.end_lineno :])
    return (before + b"(" + ast.unparse(ast.fix_missing_locations(fault)).encode() + b")" + after).decode()


def record_coverage(file: Path) -> None:
    """Run the default tests once and record which of them reach which line."""
    options = ["--cov-context=test", "--cov-report=", *(f"--cov={package}" for package in PACKAGES)]
    command = [sys.executable, "-m", "pytest", "-q", "--numprocesses", "auto", *options]
    subprocess.run(command, cwd=ROOT, env=os.environ | {"COVERAGE_FILE": str(file)}, check=True)


def tests_of(data: CoverageData, path: Path, node: ast.expr) -> list[str]:
    """Return the tests that reach a line; of a line that imports run, those that reach the file."""
    reached = data.contexts_by_lineno(str(path))
    lines = range(node.lineno, (node.end_lineno or node.lineno) + 1)
    contexts = {c for line in lines for c in reached.get(line, [])}
    if contexts == {""}:
        contexts = {c for found in reached.values() for c in found}
    return sorted({c.partition("|")[0] for c in contexts if c})


def is_seen(copy: Path, name: str, text: str, tests: list[str]) -> bool:
    """Return whether a test fails, hangs or cannot be imported with a file's text replaced."""
    file = copy / name
    before = file.read_text()
    file.write_text(text)
    command = [sys.executable, "-m", "pytest", "-x", "-q", "-p", "no:cacheprovider", "--rootdir", str(copy)]
    environment = os.environ | {
        "PYTHONPATH": str(copy),
        "PYTHONDONTWRITEBYTECODE": "1",
        "OMP_NUM_THREADS": "1",
    }
    try:
        process = subprocess.Popen(
            [*command, *tests],
            cwd=copy,
            env=environment,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )
        try:
            return process.wait(SECONDS) != pytest.ExitCode.OK
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()
            return True
    finally:
        file.write_text(before)


def main() -> int:
    """Draw faults, plant each in a copy of the project, and print the share seen."""
    parser = argparse.ArgumentParser(prog="python -m tests.mutants", description=__doc__)
    parser.add_argument("--count", type=int, default=200, help="how many faults to draw")
    parser.add_argument("--seed", type=int, default=int(time.time()), help="of the draw; printed")
    parser.add_argument("--package", choices=PACKAGES, action="append", help="only in this package")
    parser.add_argument("--coverage", type=Path, help="a file of an earlier run under coverage")
    parser.add_argument("--most-tests", type=int, default=80, help="at most so many tests for one fault")
    options = parser.parse_args()
    rng = random.Random(options.seed)
    files = [p for name in options.package or PACKAGES for p in sorted((ROOT / name).rglob("*.py"))]
    possible = [(path, *fault) for path in files for fault in faults(path)]
    with tempfile.TemporaryDirectory() as folder:
        recorded = options.coverage or Path(folder) / "coverage"
        if not recorded.exists():
            record_coverage(recorded)
        data = CoverageData(str(recorded))
        data.read()
        copy = Path(folder) / "copy"
        shutil.copytree(ROOT, copy, ignore=shutil.ignore_patterns(".*", "_build", "runs"))
        seen = 0
        chosen = rng.sample(possible, min(options.count, len(possible)))
        for number, (path, line, _, node, fault) in enumerate(chosen, 1):
            name = str(path.relative_to(ROOT))
            tests = tests_of(data, path, node)
            near = rng.sample(tests, min(options.most_tests, len(tests)))
            caught = bool(near) and is_seen(copy, name, planted(path, node, fault), near)
            seen += caught
            fate = "seen" if caught else "NOT SEEN" if near else "NOT REACHED"
            print(
                f"{number:4} {fate:11} {name}:{line}: {ast.unparse(node)} → {ast.unparse(fault)}", flush=True
            )
    share = binomtest(seen, len(chosen)).proportion_ci(method="wilson")
    interval = f"{seen / len(chosen):.2f} [{share.low:.2f}, {share.high:.2f}]"
    print(f"seed {options.seed}: {seen} of {len(chosen)} seen, {interval}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
