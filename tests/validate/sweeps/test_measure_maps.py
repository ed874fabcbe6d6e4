"""A measure over two axes: means by hand, what is undefined, bounded or missing, and the command."""

from __future__ import annotations

import json
import math
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from matplotlib.patches import Rectangle

from sim import train_members
from sim.config.run import MemberConfig
from tests.validate.sweeps.toy import toy_text, write_toy
from theory import InputError
from validate.cli import main
from validate.judge.bounds import Bound, Value
from validate.sweeps import load_sweep
from validate.sweeps.measure_maps import Cell, Evaluated, MeasureMap, measure_map
from validate.sweeps.searching.measures import MEASURES

NEVER, FROM_ONE, FROM_TWO = [0.0, 0.0, 0.0], [0.0, 1.0, 1.0], [0.0, 0.0, 1.0]


@cache
def members() -> dict[tuple[float, int], MemberConfig]:
    """Return the toy's runs at its first rate, by γ and seed."""
    file = Path("toy.toml")
    file.write_text(toy_text(axes="learning_rate = [1e-3]"))
    return {(m.init_rate, m.seed): m for m in load_sweep(file).members.values()}


@pytest.fixture(autouse=True)
def _in_an_empty_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def run(rate: float, seed: int, memory: list[float], train: list[float], test: list[float]) -> Evaluated:
    """Return a run with these accuracies at three evaluations."""
    parts = {"mem": memory, "rsn_train": train, "rsn_test": test}
    lines = [
        {
            "epoch": i,
            "step": i,
            "sum_learning_rate": float(i),
            "accuracy": {p: v[i] for p, v in parts.items()},
        }
        for i in range(3)
    ]
    return members()[rate, seed], lines


def bias_map() -> MeasureMap:
    """Return a map: one run learned and one not at γ = 0.3 and seed 0, and one at γ = 0.8 and seed 1."""
    runs = [run(0.3, 0, NEVER, FROM_ONE, FROM_ONE), run(0.8, 1, NEVER, NEVER, NEVER)]
    return measure_map(runs, MEASURES["bias"], "init_rate", "seed")


def test_what_learned_nothing_is_undefined_and_not_zero() -> None:
    found = bias_map()
    assert (list(found.x[1]), list(found.y[1])) == ([0.3, 0.8], [0, 1])
    # Σ learning rate 0 to 2: test minus memory is 0, 1, 1, whose mean over the run is 3/4.
    assert found.texts() == [["0.75", "–"], ["–", "undefined"]]
    assert [note.partition(":")[0] for note in found.notes] == ["undefined", "–", "[–]"]
    assert found.as_dict()["values"] == [[0.75, None], [None, None]]
    assert found.as_dict()["runs"] == [[1, 0], [0, 1]]
    assert found.as_dict()["defined"] == [[1, 0], [0, 0]]


def test_the_picture_hatches_what_is_undefined_and_leaves_blank_where_no_run_is() -> None:
    panel = bias_map().panel.plot()
    assert panel.ax_ is not None
    hatched = [patch.get_xy() for patch in panel.ax_.patches if isinstance(patch, Rectangle)]
    assert hatched == [(0.5, 0.5)]
    assert [text.get_text() for text in panel.ax_.texts] == ["0.75"]


def test_maps_with_the_same_limits_have_the_same_colours() -> None:
    panels = [replace(bias_map().panel, limits=ends).plot() for ends in ((-1.0, 1.0), (0.0, 1.0))]
    assert [panel.image_.get_clim() for panel in panels] == [(-1.0, 1.0), (0.0, 1.0)]
    assert [panel.image_.get_cmap().name for panel in panels] == ["RdBu_r", "viridis"]


def test_a_search_still_takes_the_bias_of_what_learned_nothing_for_a_number() -> None:
    config, lines = run(0.3, 0, NEVER, NEVER, NEVER)
    assert MEASURES["bias"].value(config, [dict(line) for line in lines]) == 0
    assert math.isnan(MEASURES["bias"].of_complete(config, lines))


@pytest.mark.parametrize(
    ("values", "text", "ends"),
    [
        ((1.0, 2.0), "1.50", (1.5, 1.5)),
        ((-0.004,), "0.00", (-0.004, -0.004)),
        ((1.0, math.nan), "1.00*", (1.0, 1.0)),
        ((math.nan, math.nan), "undefined", (math.nan, math.nan)),
        ((1.0, Bound(low=3.0)), "≥2.00", (2.0, math.inf)),
        ((Bound(high=-1.0), math.nan), "≤-1.00*", (-math.inf, -1.0)),
        ((Bound(low=1.0), Bound(high=0.0)), "?", (-math.inf, math.inf)),
        ((), "–", (math.nan, math.nan)),
    ],
)
def test_a_cell_keeps_numbers_bounds_and_gaps_apart(
    values: tuple[Value, ...], text: str, ends: tuple[float, float]
) -> None:
    cell = Cell(values)
    assert cell.text() == text
    low, high = (cell.mean.low, cell.mean.high) if isinstance(cell.mean, Bound) else (cell.mean, cell.mean)
    np.testing.assert_equal((low, high), ends)


def test_every_measure_of_a_search_is_shown() -> None:
    runs = [run(0.3, 0, FROM_TWO, FROM_ONE, [0.0, 0.5, 0.75]), run(0.8, 0, FROM_TWO, FROM_TWO, FROM_TWO)]
    shown = {name: measure_map(runs, measure, "init_rate", "seed") for name, measure in MEASURES.items()}
    assert shown["matched_test_accuracy"].texts() == [["0.25", "0.50"]]
    assert shown["unlike"].texts(1) == [["1.6", "0.0"]]
    assert all(cell.defined for found in shown.values() for row in found.cells for cell in row)


def test_an_axis_may_have_one_value() -> None:
    found = measure_map([run(0.3, 0, NEVER, NEVER, NEVER)], MEASURES["unlike"], "init_rate", "learning_rate")
    assert (list(found.x[1]), list(found.y[1])) == ([0.3], [1e-3])


def test_an_axis_or_a_data_set_that_is_not_there_is_refused() -> None:
    config, lines = run(0.3, 0, NEVER, NEVER, NEVER)
    with pytest.raises(InputError, match=r"axis = 'sed'.*did you mean 'seed'"):
        measure_map([(config, lines)], MEASURES["bias"], "init_rate", "sed")
    without: list[dict[str, Any]] = [line | {"accuracy": {"mem": 0.0}} for line in map(dict, lines)]
    with pytest.raises(InputError, match="measure = 'bias': needs the data set rsn_test"):
        measure_map([(config, without)], MEASURES["bias"], "init_rate", "seed")


@pytest.mark.usefixtures("blank_pictures")
def test_the_command_shows_a_measure_and_leaves_unfinished_runs_out(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    sweep = load_sweep(write_toy(tmp_path, axes="learning_rate = [1e-3]"))
    some = [(name, member) for name, member in sweep.members.items() if member.seed == 0]
    train_members([member for _, member in some], [tmp_path / name for name, _ in some])
    (tmp_path / "begun").mkdir()
    (tmp_path / "begun" / "config.json").write_text((tmp_path / some[0][0] / "config.json").read_text())
    line = ["sweep", "show", str(tmp_path), "--y", "seed", "--measure", "highest_test_accuracy"]
    assert main([*line, "--json"]) == 0
    printed = capsys.readouterr()
    said = json.loads(printed.out)
    assert (said["x"], said["y"], said["figure"]) == ([0.3, 0.8], [0], None)
    assert (said["measure"], said["runs"]) == ("highest_test_accuracy", [[1, 1]])
    assert "left out: 1 of 3 runs, which are not complete" in printed.err
    assert main([*line, "--out", "new/map.svg"]) == 0
    assert Path("new/map.svg").read_text().startswith("<?xml")
    out = capsys.readouterr().out
    assert "highest_test_accuracy" in out
    assert "figure: new/map.svg" in out
    assert main(line) == 0
    assert "figure" not in capsys.readouterr().out


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--measure", "bais"], "measure = 'bais': unknown measure; did you mean 'bias'"),
        (["--measure", "bias", "--data-set", "mem"], "data_set = 'mem': chooses among statistics"),
        (["--measure", "bias"], "no run there is complete"),
        (["--x", "seed", "--y", "seed"], "y = 'seed': is x as well; choose another axis"),
    ],
)
def test_the_command_refuses_what_makes_no_sense(
    options: list[str], said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    Path("empty").mkdir()
    assert main(["sweep", "show", "empty", *options]) == 2
    assert said in capsys.readouterr().err
