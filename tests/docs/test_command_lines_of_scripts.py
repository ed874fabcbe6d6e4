"""Every script in docs/ that runs answers --help, and refuses what it does not know in one line."""

from __future__ import annotations

import runpy
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.docs_script import DOCS, load_script

SCRIPTS = [
    file.relative_to(DOCS)
    for file in sorted([*DOCS.glob("*.py"), *DOCS.glob("theory/*.py")])
    if 'if __name__ == "__main__":' in file.read_text(encoding="utf-8")
]


@pytest.fixture(autouse=True)
def _nothing_is_written(monkeypatch: pytest.MonkeyPatch) -> None:
    """A script that took --help for something else would begin its work."""

    def refuse(*_: Any, **__: Any) -> None:
        raise AssertionError("the script began its work")

    for name in ("write_text", "write_bytes"):
        monkeypatch.setattr(Path, name, refuse)
    monkeypatch.setattr("signal.signal", lambda *_: None)


def run(script: Path, *arguments: str, monkeypatch: pytest.MonkeyPatch) -> int:
    """Run a script in this process; return its exit code."""
    # As in `python docs/SCRIPT.py`; the script's folder is put last, so that it hides no package.
    monkeypatch.setattr("sys.path", [*sys.path, str((DOCS / script).parent)])
    monkeypatch.setattr("sys.argv", [str(script), *arguments])
    with pytest.raises(SystemExit) as ended:
        runpy.run_path(str(DOCS / script), run_name="__main__")
    assert isinstance(ended.value.code, int)
    return ended.value.code


@pytest.mark.parametrize("script", SCRIPTS, ids=str)
def test_a_script_prints_its_docstring_and_refuses_an_unknown_option(
    script: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(script, "--help", monkeypatch=monkeypatch) == 0
    printed = capsys.readouterr()
    assert printed.err == ""
    docstring = (DOCS / script).read_text(encoding="utf-8").split('"""')[1].strip()
    assert docstring in printed.out
    assert run(script, "--hlep", monkeypatch=monkeypatch) == 2
    printed = capsys.readouterr()
    assert printed.err.count("\n") == 1
    assert printed.err.startswith(f"{script.name}: ")
    assert printed.err.endswith("; see --help\n")
    assert printed.out == ""


@pytest.mark.parametrize(
    ("script", "arguments", "said"),
    [
        ("update_readme.py", ["nowhere"], "argument demo: nowhere is no folder"),
        ("update_readme.py", ["."], "argument demo: . has no report.json"),
        ("update_phases.py", ["nowhere"], "nowhere is no folder"),
        ("corpus_matched.py", ["nowhere", "out.jsonl"], "nowhere is no folder"),
        ("update_normal_range.py", ["again"], "unrecognized arguments: again"),
        ("theory/staircase_numbers.py", ["smal"], "unknown task 'smal': choose from small, "),
        ("theory/transformer_numbers.py", ["lemma"], "unknown section 'lemma': choose from lemma1, "),
        ("theory/layer_norm_runs.py", ["one"], "invalid choice: 'one'"),
    ],
)
def test_a_mistyped_argument_is_refused_in_one_line(
    script: str,
    arguments: list[str],
    said: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    tmp_path: Path,
) -> None:
    monkeypatch.chdir(tmp_path)
    assert run(Path(script), *arguments, monkeypatch=monkeypatch) == 2
    error = capsys.readouterr().err
    assert said in error
    assert error.count("\n") == 1


def test_names_are_checked_before_anything_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    line: Any = load_script("command_line")
    monkeypatch.setattr("sys.argv", ["script"])
    assert line.names_among("", "part", ["one", "two"]) == ["one", "two"]
    monkeypatch.setattr("sys.argv", ["script", "two"])
    assert line.names_among("", "part", ["one", "two"]) == ["two"]
    for arguments in ([], ["--page"]):
        monkeypatch.setattr("sys.argv", ["script", *arguments])
        assert line.has_flag("", "--page", "") is bool(arguments)
