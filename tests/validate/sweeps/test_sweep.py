"""A sweep in one process: what is done stays, the rest is trained, and the table has all of it."""

from __future__ import annotations

import csv
from pathlib import Path

import pytest

from sim import Execution, Run, train_members
from sim.runs.table import csv_text
from tests.conftest import Cli
from tests.validate.sweeps.toy import write_toy
from theory import InputError
from validate.cli import main
from validate.sweeps import load_sweep, plan_of, records_of, run_sweep


@pytest.fixture(scope="module")
def out(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the toy sweep, of which nothing was there before but one run."""
    out = tmp_path_factory.mktemp("sweep")
    sweep = load_sweep(write_toy(out))
    (name, member) = next(iter(sweep.members.items()))
    train_members([member], [out / name])
    first = (out / name / "provenance.json").stat().st_mtime_ns
    assert set(run_sweep(sweep, out).states.values()) == {"complete"}
    assert (out / name / "provenance.json").stat().st_mtime_ns == first
    return out


def test_running_again_does_nothing_and_a_wider_axis_only_the_rest(out: Path) -> None:
    before = {file: file.stat().st_mtime_ns for file in out.glob("*/provenance.json")}
    assert len(before) == 8
    assert run_sweep(load_sweep(out / "toy.toml"), out).left == []
    wider = load_sweep(write_toy(out, axes="learning_rate = [1e-3, 2e-3, 4e-3]"))
    assert len(plan_of(wider, out).left) == 4
    assert {file: file.stat().st_mtime_ns for file in before} == before
    write_toy(out)


def test_the_command_trains_with_the_kernels_that_are_asked_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: list[Execution] = []
    monkeypatch.setattr("validate.sweeps.run_sweep", lambda sweep, out, execution: seen.append(execution))
    file = str(write_toy(tmp_path))
    for options in ([], ["--kernels", "compiled"]):
        assert main(["sweep", file, "--out", str(tmp_path / "out"), *options]) == 0
    assert [execution.kernels for execution in seen] == ["auto", "compiled"]


def test_the_table_has_every_number_of_every_run(out: Path) -> None:
    plan = plan_of(load_sweep(out / "toy.toml"), out)
    rows = list(csv.DictReader(csv_text(records_of(plan)).splitlines()))
    assert list(rows[0]) == [
        "run", "init_rate", "seed", "learning_rate", "epoch", "step", "data_set", "statistic", "value"
    ]  # fmt: skip
    for name, path in plan.paths.items():
        run = Run.open(path)
        own = {
            (float(row["epoch"]), row["data_set"], row["statistic"]): row["value"]
            for row in rows
            if row["run"] == name
        }
        for line in run.metrics:
            assert float(own.pop((line["epoch"], "", "sum_learning_rate"))) == line["sum_learning_rate"]
            for statistic in ("loss", "accuracy"):
                for part, value in line[statistic].items():
                    assert float(own.pop((line["epoch"], part, statistic))) == value
        assert own == {}


def test_the_command_says_what_it_would_do(out: Path, cli: Cli) -> None:
    file = write_toy(out, axes="learning_rate = [1e-3, 2e-3, 4e-3]")
    said = cli("sweep", str(file), "--out", str(out), "--dry-run", "--json").json()
    assert (said["runs_left"], said["steps_left"]) == (4, 4 * 2 * 8)
    assert said["seconds_left"] > 0
    assert [run["state"] for run in said["runs"]].count("complete") == 8
    assert not (out / "table.csv").exists()
    write_toy(out)
    for _ in range(2):  # The second time, what the first one wrote is there.
        assert "complete: 8" in cli("sweep", str(out / "toy.toml"), "--out", str(out), "--parquet").out
    assert (out / "table.parquet").exists()
    assert (out / "map.png").read_bytes().startswith(b"\x89PNG")
    (out / "table.csv").unlink()


def test_a_sweep_of_which_no_map_can_be_drawn_ends_well(
    out: Path, cli: Cli, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(_: object) -> int:
        raise InputError("data_set", "rsn_test", "unknown data set", "choose another")

    monkeypatch.setattr("validate.commands.sweep.show", refuse)
    said = cli("sweep", str(out / "toy.toml"), "--out", str(out))
    assert "complete: 8" in said.out
    assert "no map: data_set = 'rsn_test': unknown data set" in said.err
    (out / "table.csv").unlink()
