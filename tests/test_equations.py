"""The table of equations points at things that exist, covers (4) to (47), and is up to date."""

from __future__ import annotations

import importlib
import re
from pathlib import Path

from tests.docs_script import load_script
from theory.derive import derivations

ROOT = Path(__file__).resolve().parent.parent
NAMED = {4, 5, 7, 8, 10, 11, 12, 13, 14, 19, *range(21, 30), *range(35, 39), *range(44, 48)}
"""The equations between (4) and (47) that the theory's description names by number."""
MODULE = load_script("make_equations")


def test_every_row_points_at_what_exists() -> None:
    for row in MODULE.rows():
        for name in row["functions"]:
            package, attribute = name.split(".")
            assert getattr(importlib.import_module(package), attribute) is not None
        assert row.get("derivation") in (None, *derivations())
        assert set(row) <= {"equation", "says", "functions", "derivation", "errors", "standing"}
        assert row["errors"] or "no error recorded" in row["standing"]


def test_every_recorded_error_is_in_a_row_and_of_a_test_that_exists() -> None:
    assert sorted(key for row in MODULE.rows() for key in row["errors"]) == sorted(MODULE.errors())
    files = {file for of_files in MODULE.errors().values() for file in of_files}
    assert {file for file in files if not (ROOT / file).exists()} == set()


def test_the_table_covers_the_paper() -> None:
    listed = {int(n) for row in MODULE.rows() for n in re.findall(r"\b\d+\b", row["equation"].split(";")[0])}
    assert listed >= NAMED


def test_the_packaged_rows_are_up_to_date() -> None:
    assert MODULE.PACKAGED.read_text() == MODULE.packaged(), "regenerate: python docs/make_equations.py"
    assert MODULE.page().count("\n| ") == len(MODULE.rows()) + 2
