"""The table of equations points at things that exist, and covers the paper from (4) to (47)."""

from __future__ import annotations

import importlib
import re
from pathlib import Path
from typing import Any

import pytest

from tests.docs_script import load_script
from theory import find_derivation

ROOT = Path(__file__).resolve().parent.parent
NAMED = {4, 5, 7, 8, 10, 11, 12, 13, 14, 19, *range(21, 30), *range(35, 39), *range(44, 48)}
"""The equations between (4) and (47) that the theory's description names by number."""


MODULE = load_script("make_equations")


@pytest.mark.parametrize("row", MODULE.rows(), ids=lambda row: row["equation"])
def test_every_row_points_at_what_exists(row: dict[str, Any]) -> None:
    for name in row["functions"]:
        package, attribute = name.split(".")
        assert getattr(importlib.import_module(package), attribute) is not None
    for test in row["tests"]:
        assert (ROOT / test).is_file()
    if "derivation" in row:
        assert find_derivation(row["derivation"]).name == row["derivation"]
    recorded = MODULE.errors()
    assert all(key in recorded for key in row["errors"])


def test_the_table_covers_the_paper() -> None:
    listed = {int(n) for row in MODULE.rows() for n in re.findall(r"\b\d+\b", row["equation"].split(";")[0])}
    assert listed >= NAMED


def test_page_and_packaged_rows_are_up_to_date() -> None:
    assert MODULE.PAGE.read_text() == MODULE.page(), "regenerate: python docs/make_equations.py"
    assert MODULE.PACKAGED.read_text() == MODULE.packaged(), "regenerate: python docs/make_equations.py"
