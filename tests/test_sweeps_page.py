"""The page "Sweeps": its file is a sweep, its command lines are understood, its code runs."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest

from validate.commands.study import COMMAND as STUDY
from validate.commands.sweep import COMMAND
from validate.commands.sweep.show import COMMAND as SHOW
from validate.commands.train import COMMAND as TRAIN
from validate.sweeps import load_sweep
from validate.sweeps.searching.measures import MEASURES

PAGE = (Path(__file__).resolve().parent.parent / "docs" / "sweeps.md").read_text()
BLOCKS = re.findall(r"^```(\w+)\n(.*?)^```$", PAGE, re.DOTALL | re.MULTILINE)


def blocks(kind: str) -> list[str]:
    return [text for found, text in BLOCKS if found == kind]


def test_its_file_is_a_sweep_over_what_it_says(tmp_path: Path) -> None:
    (file,) = blocks("toml")
    (tmp_path / "my-sweep.toml").write_text(file)
    sweep = load_sweep(tmp_path / "my-sweep.toml")
    assert {axis: len(values) for axis, values in sweep.values.items()} == {
        "init_rate": 3,
        "seed": 2,
        "norm": 2,
        "learning_rate": 2,
    }
    assert len(sweep.members) == 3 * 2 * 2 * 2


def test_its_command_lines_are_understood() -> None:
    lines = [shlex.split(line, comments=True) for text in blocks("console") for line in text.splitlines()]
    assert len(lines) >= 5
    engines = set()
    for _, program, command, *arguments in lines:
        assert program == "anchorflow"
        if arguments[0] == "show":
            shown = SHOW.parse(arguments[1:])
            assert shown.minus == "mem" or shown.measure in MEASURES
        elif command == "sweep":
            engines.add(COMMAND.parse(arguments).execution()["engine"])
        elif command == "study":
            engines.add(STUDY.parse(arguments).execution()["engine"])
        else:
            engines.add(TRAIN.parse(arguments).execution()["engine"])
    assert engines == {"local", "dask", "slurm"}


def test_its_code_runs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    said = []
    for code in blocks("python"):
        exec(compile(code, "sweeps.md", "exec"), {"__name__": "page"})
        said.append(capsys.readouterr().out)
    assert said[0].startswith("[0.0001, 0.001] ")
    assert said[1:] == [f"{3 * 50 * 19}\n"]
