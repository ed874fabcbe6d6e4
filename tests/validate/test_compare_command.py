"""anchorflow compare answers the question first; its JSON and exit code say the same."""

from __future__ import annotations

import shlex
from pathlib import Path

import pytest

from validate.cli import main

pytestmark = pytest.mark.usefixtures("one_paper_figure")


def test_the_commands_that_are_printed_can_be_pasted(
    runs_folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "runs ü" / "mine a"
    config = str(runs_folder / "gamma0.8_seed0" / "config.json")
    assert main(["train", config, "--out", str(out), "--training.epochs", "4"]) == 0
    printed = capsys.readouterr().out.splitlines()[-1].partition("compare them with the theory: ")[2]
    assert shlex.split(printed) == ["anchorflow", "compare", str(out)]
    assert main(["claims", "--runs", str(out)]) == 2
    assert f"anchorflow compare '{out}'" in capsys.readouterr().err.replace("\n", "")
