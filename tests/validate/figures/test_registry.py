"""A figure of your own is one class and one registration, as the page on it says."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import pytest

from tests.validate.figures.synthetic import several
from theory import InputError
from validate.cli import main
from validate.figures.paper import FIGURES, paper_figure
from validate.report.figure import draw_paper_figures

PAGE = Path(__file__).resolve().parents[3] / "docs" / "howto" / "figure.md"


@pytest.fixture(autouse=True)
def _restored() -> Iterator[None]:
    before = dict(FIGURES)
    yield
    FIGURES.clear()
    FIGURES.update(before)


def test_the_page_s_own_figure_is_drawn_by_command_and_report(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    blocks = re.findall(r"```python\n(.*?)```", PAGE.read_text(), flags=re.DOTALL)
    own = ModuleType("own")
    monkeypatch.setitem(sys.modules, "own", own)
    for block in blocks:
        exec(block, own.__dict__)
    assert (tmp_path / "figures" / "fig101_norms.png").stat().st_size > 5000
    assert main(["figures", "101", "--out", "other"]) == 0
    assert "Fig. 101" in capsys.readouterr().out
    for number in set(FIGURES) - {101}:
        del FIGURES[number]
    ((drawn,), missing) = draw_paper_figures(several("emb-mlp"))
    assert not missing
    assert drawn.title == "Fig. 101: Norms of the anchors' embeddings"
    assert drawn.note.endswith("Thin curves: one seed each.")


def test_figures_stay_sorted_and_a_number_is_taken_once() -> None:
    build = FIGURES[3].build
    del FIGURES[1]
    paper_figure(1, "First")(build)
    assert list(FIGURES) == sorted(FIGURES)
    again = paper_figure(1, "Second")
    with pytest.raises(InputError, match="is 'First' already"):
        again(build)
