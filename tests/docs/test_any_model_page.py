"""The page "Any model": its files are written and run."""

from __future__ import annotations

import re
import runpy
from pathlib import Path

import pytest

PAGE = (Path(__file__).resolve().parents[2] / "docs" / "howto" / "any_model.md").read_text()
BLOCKS = re.findall(r"^```python\n# (\S+)\n(.*?)^```$", PAGE, re.DOTALL | re.MULTILINE)


def run(name: str) -> None:
    Path(name).write_text(dict(BLOCKS)[name])
    runpy.run_path(name, run_name="__main__")


@pytest.fixture(autouse=True)
def _empty_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def test_a_module_is_initialised_and_audited(capsys: pytest.CaptureFixture[str]) -> None:
    run("small.py")
    said = capsys.readouterr().out
    assert "words.weight = head.weight" in said
    escaped = re.findall(r"^- (\S+) \((\w+)\)", said, re.MULTILINE)
    assert escaped == [("words.weight", "tied")]
    assert "give inputs" not in said


def test_a_checkpoint_is_compared_with_its_corpus(capsys: pytest.CaptureFixture[str]) -> None:
    run("compare.py")
    first = capsys.readouterr().out.splitlines()[1]
    assert first.startswith("bigram")
    correlation = re.search(r"most frequent\s+\d+\s+(0\.\d+) \[", first)
    assert correlation is not None
    assert float(correlation[1]) > 0.5
