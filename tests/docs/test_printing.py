"""What the scripts that print a page's numbers share."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.docs_script import load_script

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
