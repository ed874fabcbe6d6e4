"""How sure a map's means are: intervals by hand, what has none, and what the command prints and writes."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from sim import train_members
from tests.validate.sweeps.toy import write_toy
from validate import over_seeds
from validate.cli import main
from validate.judge.bounds import Bound, Value
from validate.sweeps import load_sweep
from validate.sweeps.maps import Shown, mean_map
from validate.sweeps.measure_maps import Cell
from validate.sweeps.spread import NO_SPREAD, Spread, mean_text, notes_of, spread_of


def test_the_interval_is_over_the_means_of_the_seeds() -> None:
    runs = [(seed, norm) for seed in (0, 1, 2) for norm in ("pre", "post")]
    found = spread_of([0.0, 1.0, 2.0, 3.0, 4.0, 5.0], runs)
    by_hand = over_seeds([0.5, 2.5, 4.5])
    assert found == Spread(3, by_hand.low, by_hand.high)


def test_the_interval_is_cut_to_what_a_measure_can_be() -> None:
    found = spread_of([0.9, 1.0], [(0, ""), (1, "")], (0.0, 1.0))
    assert (found.low, found.high) == (over_seeds([0.9, 1.0], (0.0, 1.0)).low, 1.0)


@pytest.mark.parametrize(
    ("values", "runs", "seeds"),
    [
        ([0.5], [(0, "")], 1),
        ([0.5, 0.7], [(0, "pre"), (0, "post")], 1),
        ([0.5, 0.7], [(0, "pre"), (1, "post")], 2),
        ([0.5, 0.7, 0.6], [(0, "pre"), (0, "post"), (1, "pre")], 2),
        ([0.5, Bound(low=0.7)], [(0, ""), (1, "")], 2),
        ([0.5, math.nan], [(0, ""), (1, "")], 1),
        ([], [], 0),
    ],
)
def test_no_interval_for_a_seed_a_bound_or_other_settings(
    values: list[Value], runs: list[Any], seeds: int
) -> None:
    assert spread_of(values, runs) == Spread(seeds)


def test_a_loss_that_overflowed_is_told_from_a_cell_without_a_run() -> None:
    def row(run: str, rate: float, seed: int, value: float | None) -> dict[str, Any]:
        settings = {"run": run, "init_rate": rate, "seed": seed, "norm": "pre", "epoch": 1, "step": 1}
        return settings | {"data_set": "mem", "statistic": "loss", "value": value}

    runs = [("a", 0.3, 0, None), ("b", 0.3, 1, 1.0), ("c", 0.8, 0, 2.0), ("d", 0.8, 1, 4.0)]
    panel, spreads = mean_map([row(*run) for run in runs], Shown("init_rate", "norm", "loss", "mem"))
    texts = [[*map(mean_text, panel.values[0].tolist(), spreads[0]), mean_text(math.nan, None)]]
    # Student's t with one degree of freedom: 3 ± 12.706, and a loss is not negative.
    assert texts == [["overflowed", "3.000 [0.000, 15.706] n=2", "–"]]
    assert [note.partition(":")[0] for note in notes_of(texts)] == ["[low, high]", "overflowed"]
    assert spreads[0][0] == NO_SPREAD


@pytest.mark.parametrize(
    ("cell", "text"),
    [
        (Cell((0.5,), Spread(1)), "0.500 [–] n=1"),
        (Cell((0.5, 0.7), Spread(2, 0.4, 0.8)), "0.600 [0.400, 0.800] n=2"),
        (Cell((0.5, 0.7, math.nan), Spread(2, 0.4, 0.8)), "0.600* [0.400, 0.800] n=2"),
        (Cell((1.0, Bound(low=3.0)), Spread(2)), "≥2.000 [–] n=2"),
        (Cell((math.nan,), NO_SPREAD), "undefined"),
        (Cell(()), "–"),
    ],
)
def test_a_cell_of_a_measure_says_how_sure_it_is(cell: Cell, text: str) -> None:
    assert cell.full_text == text


def test_the_command_prints_and_writes_intervals(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    members = load_sweep(write_toy(tmp_path)).members
    train_members(list(members.values()), [tmp_path / name for name in members])
    for options in (["--statistic", "loss", "--data-set", "mem"], ["--measure", "highest_test_accuracy"]):
        line = ["sweep", "show", str(tmp_path), *options]
        assert main([*line, "--json"]) == 0
        said = json.loads(capsys.readouterr().out)
        low, mean, high = (
            np.array(said[name], float) for name in ("interval_low", "values", "interval_high")
        )
        known = np.isfinite(low)
        np.testing.assert_array_equal(known, np.isfinite(high))
        assert np.all((low < mean) & (mean < high), where=known)
        assert known.all() == ("loss" in options)  # No held-out sum is right: equal values, no interval.
        assert said["seeds"] == [[2, 2], [2, 2]]
        assert main(line) == 0
        out = capsys.readouterr().out
        assert "each cell is a mean" not in out
        assert out.count("n=2") == 4
        assert ("the 95 % interval over the n seeds" in out) == known.any()
        assert main([*line, "--y", "seed"]) == 0
        out = capsys.readouterr().out
        assert out.count("[–] n=1") == 4  # Two rates of one seed, in each cell.
        assert "no interval: one seed" in out
        assert "each cell is a mean over all values of learning_rate\n" in out
