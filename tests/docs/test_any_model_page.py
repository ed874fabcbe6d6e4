"""The pages for anyone's model (advise, start, record, compare): their files are written and run."""

from __future__ import annotations

import csv
import json
import re
from pathlib import Path

import pytest

import sim
from tests.docs.pages import blocks, follow

pytestmark = pytest.mark.usefixtures("here")


def test_advise(capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("transformers", reason="needs the extra anchorflow[language]")
    (config,) = blocks("docs/howto/advise.md", "json")
    Path("config.json").write_text(config)
    ((code, said),) = follow("docs/howto/advise.md", capsys).values()
    assert code == 0
    assert "ε shortens the normed embedding by 9.0%" in " ".join(said.split())
    (python,) = blocks("docs/howto/advise.md", "python")
    exec(python, {})
    assert "read-out" in capsys.readouterr().out
    assert sim.advise("config.json").n_parameters > 10**8


def test_a_module_is_initialised_and_audited(capsys: pytest.CaptureFixture[str]) -> None:
    said = "".join(out for _, out in follow("docs/howto/any_model.md", capsys).values())
    assert "words.weight = head.weight" in said
    escaped = re.findall(r"^- (\S+) \((\w+)\)", said, re.MULTILINE)
    assert escaped == [("words.weight", "tied")]
    assert "give inputs" not in said


def test_a_loop_is_recorded(capsys: pytest.CaptureFixture[str]) -> None:
    *_, (_, said) = follow("docs/howto/record.md", capsys).values()
    with Path("record.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    assert [float(row["step"]) for row in rows] == [0, 50, 100, 150, 199]
    assert float(rows[-1]["loss/held out"]) < float(rows[0]["loss/held out"]) - 1
    pearson, control = map(float, said.split())
    assert pearson > control + 0.1
    assert float(rows[-1]["pearson/bigram"]) == pearson


@pytest.mark.usefixtures("blank_pictures")
def test_checkpoints_are_compared(capsys: pytest.CaptureFixture[str]) -> None:
    assert {code for code, _ in follow("docs/howto/series.md", capsys).values()} == {0}
    points = json.loads(Path("series/series.json").read_text())["points"]
    assert [point["step"] for point in points] == [1, 10, 100]
    assert points[-1]["gain"]["low"] > 0
    assert points[-1]["pearson"]["mean"] > points[0]["pearson"]["mean"]
    assert Path("series/figures/series.svg").exists()
    assert "most frequent" not in capsys.readouterr().err
