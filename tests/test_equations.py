"""The table of equations points at things that exist, and covers the paper from (4) to (47)."""

from __future__ import annotations

import importlib
import re
from pathlib import Path
from typing import Any

import pytest

from tests.docs_script import load_script
from tests.equation_errors import recorded_patterns
from theory.symbolic import derivations

ROOT = Path(__file__).resolve().parent.parent
NAMED = {4, 5, 7, 8, 10, 11, 12, 13, 14, 19, *range(21, 30), *range(35, 39), *range(44, 48)}
"""The equations between (4) and (47) that the theory's description names by number."""


MODULE = load_script("make_equations")


@pytest.mark.parametrize("row", MODULE.rows(), ids=lambda row: row["equation"])
def test_every_row_points_at_what_exists(row: dict[str, Any]) -> None:
    for name in row["functions"]:
        package, attribute = name.split(".")
        assert getattr(importlib.import_module(package), attribute) is not None
    if "derivation" in row:
        assert row["derivation"] in derivations()
    assert set(row) <= {"equation", "says", "functions", "derivation", "errors", "standing"}


@pytest.mark.parametrize("file", sorted({file for of_files in MODULE.errors().values() for file in of_files}))
def test_every_error_is_one_that_its_test_file_records(file: str) -> None:
    """A file that is gone, or that no longer records an equation, leaves a stale error behind."""
    patterns = recorded_patterns((ROOT / file).read_text(encoding="utf-8"))
    named = [equation for equation, files in MODULE.errors().items() if file in files]
    assert [e for e in named if not any(re.fullmatch(p, e) for p in patterns)] == []


def test_every_file_that_records_errors_has_some() -> None:
    recording = {
        path.relative_to(ROOT).as_posix()
        for path in (ROOT / "tests").rglob("test_*.py")
        if recorded_patterns(path.read_text(encoding="utf-8"))
    }
    assert recording == {file for files in MODULE.errors().values() for file in files}


def test_every_recorded_error_is_in_a_row_and_every_row_has_one_or_says_why_not() -> None:
    listed = [key for row in MODULE.rows() for key in row["errors"]]
    assert sorted(listed) == sorted(MODULE.errors())
    for row in MODULE.rows():
        assert row["errors"] or "no error recorded" in row["standing"]


def test_a_rows_tests_are_those_that_recorded_its_errors() -> None:
    recorded = {"a": {"x.py": 1e-3, "y.py": 2e-3}, "b": {"y.py": 5e-3}, "c": {"z.py": 1.0}}
    assert MODULE.recorded_by({"errors": ["a", "b"]}, recorded) == {"x.py": 1e-3, "y.py": 5e-3}
    assert MODULE.recorded_by({"errors": []}, recorded) == {}
    with pytest.raises(KeyError):
        MODULE.recorded_by({"errors": ["recorded by nobody"]}, recorded)


def test_the_table_covers_the_paper() -> None:
    listed = {int(n) for row in MODULE.rows() for n in re.findall(r"\b\d+\b", row["equation"].split(";")[0])}
    assert listed >= NAMED


def test_page_and_packaged_rows_are_up_to_date() -> None:
    assert MODULE.PAGE.read_text() == MODULE.page(), "regenerate: python docs/make_equations.py"
    assert MODULE.PACKAGED.read_text() == MODULE.packaged(), "regenerate: python docs/make_equations.py"
