"""What the scripts that print a page's numbers share."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from matplotlib.figure import Figure

from tests.docs_script import load_script
from theory import InputError
from validate.figures import save

PRINTING = load_script("theory/printing")


@pytest.fixture(autouse=True)
def _same_signal(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(PRINTING.signal, "signal", lambda *_: None)


def sections(said: list[str]) -> dict[str, Any]:
    return {name: lambda name=name: said.append(name) for name in ("one", "two")}


@pytest.mark.parametrize(("asked", "run"), [([], ["one", "two"]), (["two"], ["two"])])
def test_the_sections_that_are_named_run_or_all(
    asked: list[str], run: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sys.argv", ["script", *asked])
    said: list[str] = []
    PRINTING.print_sections(sections(said), "")
    assert said == run


def test_an_unknown_section_ends_the_script_before_any_runs(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("sys.argv", ["script", "one", "three"])
    said: list[str] = []
    with pytest.raises(SystemExit, match="2"):
        PRINTING.print_sections(sections(said), "")
    assert said == []
    assert "unknown section 'three': choose from one, two; see --help" in capsys.readouterr().err


def test_observations_are_read_until_they_are_asked_for_anew(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "kept.json"
    file.write_text('{"a": 1}')
    monkeypatch.setattr("sys.argv", ["script"])
    assert PRINTING.observations(file, ["a"], len, "") == {"a": 1}
    monkeypatch.setattr("sys.argv", ["script", "--train"])
    found = PRINTING.observations(file, ["ab", "abc"], len, "")
    assert found == {"ab": 2, "abc": 3} == json.loads(file.read_text())


def test_a_page_s_picture_is_drawn_again_whatever_drew_the_one_there(tmp_path: Path) -> None:
    """Pictures of older versions have no mark, by which ``save`` tells its own files from those of others."""
    file = tmp_path / "error_budget.svg"
    file.write_text("<svg/>")
    figure = Figure()
    with pytest.raises(InputError, match="was not written by this program"):
        save(figure, file)
    PRINTING.redraw(figure, file)
    drawn = file.read_bytes()
    assert len(drawn) > 100
    PRINTING.redraw(figure, file)
    assert file.read_bytes() == drawn


@pytest.mark.parametrize(
    "script", ["theory/error_budget", "theory/learning_times_figures", "update_phases", "update_full_results"]
)
def test_scripts_that_draw_use_it(script: str) -> None:
    assert load_script(script).redraw is not None
    assert not hasattr(load_script(script), "save")
