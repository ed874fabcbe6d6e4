"""The pages for anyone's model (advise, start, record, compare): their files are written and run."""

from __future__ import annotations

import csv
import json
import re
import runpy
import shlex
from pathlib import Path

import pytest

import sim
from validate.cli import main

HOWTO = Path(__file__).resolve().parents[2] / "docs" / "howto"


def blocks(page: str) -> list[tuple[str, str]]:
    return re.findall(r"^```(\w+)\n(.*?)^```$", (HOWTO / page).read_text(), re.DOTALL | re.MULTILINE)


def follow(page: str) -> list[int]:
    """Write the files of a page, run its commands in order, and return the exit codes of the program."""
    codes = []
    for kind, block in blocks(page):
        if kind == "python" and block.startswith("# "):
            Path(block.split()[1]).write_text(block)
        for line in block.splitlines() if kind == "console" else []:
            program, *arguments = shlex.split(line.removeprefix("$ "))
            if program == "python":
                runpy.run_path(arguments[0], run_name="__main__")
            else:
                codes.append(main(arguments))
    return codes


@pytest.fixture(autouse=True)
def _empty_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def test_advise(capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("transformers", reason="needs the extra anchorflow[language]")
    (config,) = [block for kind, block in blocks("advise.md") if kind == "json"]
    Path("config.json").write_text(config)
    assert follow("advise.md") == [0]
    assert "ε shortens the normed embedding by 9.0%" in " ".join(capsys.readouterr().out.split())
    (code,) = [block for kind, block in blocks("advise.md") if kind == "python"]
    exec(code, {})
    assert "read-out" in capsys.readouterr().out
    assert sim.advise("config.json").n_parameters > 10**8


def test_a_module_is_initialised_and_audited(capsys: pytest.CaptureFixture[str]) -> None:
    follow("any_model.md")
    said = capsys.readouterr().out
    assert "words.weight = head.weight" in said
    escaped = re.findall(r"^- (\S+) \((\w+)\)", said, re.MULTILINE)
    assert escaped == [("words.weight", "tied")]
    assert "give inputs" not in said


def test_a_loop_is_recorded(capsys: pytest.CaptureFixture[str]) -> None:
    follow("record.md")
    with Path("record.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    assert [float(row["step"]) for row in rows] == [0, 50, 100, 150, 199]
    assert float(rows[-1]["loss/held out"]) < float(rows[0]["loss/held out"]) - 1
    pearson, control = map(float, capsys.readouterr().out.split())
    assert pearson > control + 0.1
    assert float(rows[-1]["pearson/bigram"]) == pearson


@pytest.mark.usefixtures("blank_pictures")
def test_checkpoints_are_compared(capsys: pytest.CaptureFixture[str]) -> None:
    assert follow("series.md") == [0]
    points = json.loads(Path("series/series.json").read_text())["points"]
    assert [point["step"] for point in points] == [1, 10, 100]
    assert points[-1]["gain"]["low"] > 0
    assert points[-1]["pearson"]["mean"] > points[0]["pearson"]["mean"]
    assert Path("series/figures/series.svg").exists()
    assert "most frequent" not in capsys.readouterr().err
