"""What tests record for the table of equations: by file, merged, and only from whole files."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from tests import conftest
from tests.equation_errors import Errors, add, merged, recorded_patterns, update, why_refused

ROOT = Path(__file__).resolve().parent.parent


def test_the_largest_error_of_each_file_is_kept() -> None:
    errors: Errors = {}
    for file, error in (("x.py", 2.0), ("y.py", 1.0), ("x.py", 1.0)):
        add(errors, "eq. 1", file, error)
    assert errors == {"eq. 1": {"x.py": 2.0, "y.py": 1.0}}


def test_an_error_that_is_no_number_is_refused() -> None:
    """A maximum would hide it."""
    with pytest.raises(ValueError, match=r"x\.py records nan for eq\. 1"):
        add({}, "eq. 1", "x.py", float("nan"))


def test_only_files_that_ran_change() -> None:
    kept = {"a": {"x.py": 3.0, "y.py": 1.0}, "b": {"x.py": 1.0}}
    found = {"a": {"x.py": 2.0}, "c": {"x.py": 5.0}}
    assert merged(kept, found, {"x.py"}) == {"a": {"x.py": 2.0, "y.py": 1.0}, "c": {"x.py": 5.0}}


def test_updating_a_file_leaves_nothing_else_behind(tmp_path: Path) -> None:
    path = tmp_path / "errors.json"
    update(path, {"a": {"x.py": 1.0}}, {"x.py"})
    update(path, {"a": {"y.py": 2.0}}, {"y.py"})
    assert json.loads(path.read_text()) == {"a": {"x.py": 1.0, "y.py": 2.0}}
    assert list(tmp_path.iterdir()) == [path]


def test_the_equations_that_a_call_can_name_are_read_from_the_source() -> None:
    patterns = recorded_patterns("""
def test_one(record_error):
    record_error("eq. 1", 0.0)
    record_error("eq. 2" if small else "eq. 3", 0.0)
    record_error(f"eq. 4{number}", 0.0)

def test_two(record_error):
    for name in ("Lemma 1", "Lemma 2"):
        record_error(name, 0.0)

def test_three():
    print("eq. 9")
""")
    named = [
        n for n in ("eq. 1", "eq. 2", "eq. 3", "eq. 47", "Lemma 2", "eq. 9", "eq. 5") if _in(n, patterns)
    ]
    assert named == ["eq. 1", "eq. 2", "eq. 3", "eq. 47", "Lemma 2"]


def _in(name: str, patterns: set[str]) -> bool:
    return any(re.fullmatch(pattern, name) for pattern in patterns)


MODULE = """
def test_recording(record_error):
    record_error("eq. 1", {error})
    assert {error} < 3

def test_not_recording():
    raise AssertionError("a run for the errors leaves this test out")
"""


def _record(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "pytest", "-p", "tests.conftest", "-p", "no:cacheprovider", "-q"]
    return subprocess.run(
        [*command, "--equation-errors=errors.json", "--rootdir=.", *arguments],
        cwd=folder,
        env=os.environ | {"PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.mark.slow
def test_a_run_records_by_file(tmp_path: Path) -> None:
    module, errors = tmp_path / "test_a.py", tmp_path / "errors.json"
    errors.write_text('{"eq. 0": {"test_b.py": 4.0}}')
    module.write_text(MODULE.format(error=1))
    ran = _record(tmp_path)
    assert ran.returncode == 0, ran.stdout + ran.stderr
    assert json.loads(errors.read_text()) == {"eq. 0": {"test_b.py": 4.0}, "eq. 1": {"test_a.py": 1}}


@pytest.mark.parametrize(
    ("arguments", "error", "code", "words"),
    [
        pytest.param([], 5, pytest.ExitCode.TESTS_FAILED, "assert 5 < 3", marks=pytest.mark.long),
        pytest.param(["-n", "2"], 1, pytest.ExitCode.USAGE_ERROR, "leave out -n", marks=pytest.mark.long),
    ],
)
def test_a_run_that_cannot_record_writes_nothing(
    tmp_path: Path, arguments: list[str], error: int, code: pytest.ExitCode, words: str
) -> None:
    """In processes of their own; the two tests below do it in this one."""
    (tmp_path / "test_a.py").write_text(MODULE.format(error=error))
    ran = _record(tmp_path, *arguments)
    assert ran.returncode == code
    assert words in ran.stdout + ran.stderr
    assert not (tmp_path / "errors.json").exists()


@pytest.mark.parametrize(("code", "written"), [(0, True), (1, False), (2, False)])
def test_errors_are_written_after_a_run_that_passed(tmp_path: Path, code: int, written: bool) -> None:
    path = tmp_path / "errors.json"
    config = SimpleNamespace(getoption=lambda name: path, stash={conftest._ERRORS: {"a": {"x.py": 1.0}}})
    conftest.pytest_sessionfinish(SimpleNamespace(config=config, items=[]), code)
    assert path.exists() is written


@pytest.mark.parametrize(
    ("changed", "words"),
    [
        ({"numprocesses": 2}, "leave out -n"),
        ({"keyword": "some"}, "leave out -k"),
        ({"markexpr": "not long"}, "leave out -k, -m"),
        ({"deselect": ["test_a.py::test_x"]}, "--deselect"),
        ({"file_or_dir": ["test_a.py::test_x"]}, "no single test"),
    ],
)
def test_a_run_of_a_part_of_a_file_is_refused(changed: dict[str, Any], words: str) -> None:
    whole = {
        "numprocesses": None,
        "keyword": "",
        "markexpr": "",
        "deselect": None,
        "file_or_dir": ["test_a.py"],
    }
    assert why_refused(SimpleNamespace(**whole)) is None
    option = SimpleNamespace(**(whole | changed))
    assert words in str(why_refused(option))
    config = SimpleNamespace(getoption=lambda name: Path("errors.json"), option=option, stash={})
    with pytest.raises(pytest.UsageError, match=f"--equation-errors: .*{words}"):
        conftest.pytest_configure(config)
