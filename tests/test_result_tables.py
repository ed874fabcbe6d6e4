"""Tables of docs/results/ that a script writes from kept runs: quarter.md and frozen.md."""

from __future__ import annotations

import math
from typing import Any

import pytest

from tests.docs_script import DOCS, load_script
from validate.judge.bounds import Bound
from validate.judge.stats import ANY
from validate.observe import KEPT, kept

quarter: Any = load_script("update_quarter")
frozen: Any = load_script("update_frozen")


def shown(page: str) -> str:
    """Return what stands between the markers of a page's table."""
    text = (DOCS / "results" / page).read_text(encoding="utf-8")
    return text.partition("<!-- table: begin -->\n")[2].partition("\n<!-- table: end -->")[0]


def test_the_pages_say_what_is_kept() -> None:
    assert shown("quarter.md") == quarter.table(KEPT)
    assert shown("frozen.md") == frozen.table(frozen.settings(KEPT))


@pytest.mark.parametrize(
    ("values", "text"),
    [
        ([1.0, 2.0, 3.0], "2.000 [-0.484, 4.484]"),
        ([Bound(0.5, 1.5), 2.0, Bound(2.5, 3.5)], "2.000 [-0.484, 4.484]"),
        ([Bound(low=1.25), 4.0, Bound(low=0.75)], "≥ 0.75"),
        ([Bound(low=5.0), 4.0], "≥ 4"),
    ],
)
def test_a_cell(values: list[Any], text: str) -> None:
    assert quarter.cell(values, ANY) == text


def test_columns_are_what_they_are_called() -> None:
    sizes = {"full": 200, "quarter": 50}
    for size, study, rate in quarter.COLUMNS:
        runs = [run for run in kept(study) if run.config.init_rate == rate]
        assert {run.config.model_dump()["model"]["d_m"] for run in runs} == {sizes[size]}
        assert all(math.isclose(quarter.ROWS[0][1](run), sizes[size] ** -rate) for run in runs)
