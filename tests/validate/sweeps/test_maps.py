"""A statistic over two axes: means by hand, holes, differences of data sets, and the command."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from sim import train_members
from tests.validate.sweeps.toy import write_toy
from theory import InputError
from validate.cli import main
from validate.sweeps import load_sweep
from validate.sweeps.maps import Shown, map_of


def record(run: str, rate: float, norm: str, value: float | None, **other: Any) -> dict[str, Any]:
    row = {"run": run, "init_rate": rate, "seed": 0, "norm": norm, "epoch": 1, "step": 2}
    return row | {"data_set": "mem", "statistic": "accuracy", "value": value} | other


RECORDS = [
    record("a", 0.3, "pre", 0.1, epoch=0),
    record("a", 0.3, "pre", 0.2),
    record("b", 0.3, "pre", 0.4),
    record("c", 0.8, "post", 0.9),
    *(record(run, rate, norm, 0.5, data_set="rsn_train") for run, rate, norm in
      (("a", 0.3, "pre"), ("b", 0.3, "pre"), ("c", 0.8, "post"))),
]  # fmt: skip


def test_a_cell_is_the_mean_over_the_runs_that_agree_in_both_axes() -> None:
    found = map_of(RECORDS, Shown("init_rate", "norm", data_set="mem"))
    assert (list(found.x[1]), list(found.y[1])) == ([0.3, 0.8], ["post", "pre"])
    np.testing.assert_allclose(found.values, [[math.nan, 0.9], [0.3, math.nan]])
    early = map_of(RECORDS, Shown("init_rate", "norm", data_set="mem", epoch=0))
    assert early.values.tolist() == [[0.1]]


def test_the_bias_is_a_difference_within_each_run() -> None:
    found = map_of(RECORDS, Shown("norm", "init_rate", data_set="rsn_train", minus="mem"))
    np.testing.assert_allclose(found.values, [[math.nan, 0.2], [-0.4, math.nan]])


@pytest.mark.parametrize(
    ("wrong", "named"),
    [
        ({"x": "nrom"}, "did you mean 'norm'"),
        ({"data_set": "rsn"}, "data_set = 'rsn'"),
        ({"minus": "rest"}, "data_set = 'rest'"),
        ({"epoch": 7.0}, "no run was evaluated then"),
    ],
)
def test_what_the_table_lacks_is_refused(wrong: dict[str, Any], named: str) -> None:
    with pytest.raises(InputError, match=named):
        map_of(RECORDS, Shown(**({"x": "norm", "y": "seed", "data_set": "mem"} | wrong)))


@pytest.mark.usefixtures("blank_pictures")
def test_the_command_draws_and_says_the_numbers(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    sweep = load_sweep(write_toy(tmp_path, axes="learning_rate = [1e-3]"))
    some = [(name, member) for name, member in sweep.members.items() if member.seed == 0]
    train_members([member for _, member in some], [tmp_path / name for name, _ in some])
    picture = tmp_path / "new" / "map.svg"
    line = ["sweep", "show", str(tmp_path), "--x", "init_rate", "--y", "seed", "--statistic", "loss"]
    assert main([*line, "--data-set", "mem", "--out", str(picture), "--json"]) == 0
    said = json.loads(capsys.readouterr().out)
    assert (said["x"], said["y"]) == ([0.3, 0.8], [0])
    assert all(value > 0 for value in said["values"][0])
    assert picture.read_text().startswith("<?xml")
    assert main([*line, "--data-set", "mem", "--out", str(picture)]) == 0
    assert "loss mem, at the end" in capsys.readouterr().out
