"""A sweep in one process: its axes, what is done and what is left, and the table of all of it."""

import csv
from unittest.mock import Mock

import pytest

from sim import Run, RunConfig, train_members
from sim.runs.table import csv_text
from tests.validate.sweeps.toy import toy_text, write_toy
from theory import InputError
from validate.sweeps import load_sweep, plan_of, records_of, run_name, run_sweep


@pytest.fixture(scope="module")
def out(tmp_path_factory):
    """A folder with the toy sweep, of which nothing was there before but one run."""
    out = tmp_path_factory.mktemp("sweep")
    sweep = load_sweep(write_toy(out))
    (name, member) = next(iter(sweep.members.items()))
    train_members([member], [out / name])
    first = (out / name / "provenance.json").stat().st_mtime_ns
    assert set(run_sweep(sweep, out).states.values()) == {"complete"}
    assert (out / name / "provenance.json").stat().st_mtime_ns == first
    return out


def test_running_again_does_nothing(out):
    before = {file: file.stat().st_mtime_ns for file in out.glob("*/provenance.json")}
    assert len(before) == 8
    assert run_sweep(load_sweep(out / "toy.toml"), out).left == []
    assert {file: file.stat().st_mtime_ns for file in before} == before


def test_the_command_trains_with_the_kernels_that_are_asked_for(here, monkeypatch, cli):
    monkeypatch.setattr("validate.sweeps.run_sweep", ran := Mock())
    for options in ([], ["--kernels", "compiled"]):
        cli("sweep", str(write_toy(here)), "--out", "out", *options)
    assert [call.args[2].kernels for call in ran.call_args_list] == ["auto", "compiled"]


def test_the_table_has_every_number_of_every_run(out):
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


def test_the_command_says_what_it_would_do(out, cli):
    (out / "table.csv").unlink(missing_ok=True)
    file = write_toy(out, axes="learning_rate = [1e-3, 2e-3, 4e-3]")
    said = cli("sweep", str(file), "--out", str(out), "--dry-run", "--json").json()
    assert (said["runs_left"], said["steps_left"]) == (4, 4 * 2 * 8)
    assert said["seconds_left"] > 0
    assert [run["state"] for run in said["runs"]].count("complete") == 8
    assert not (out / "table.csv").exists()
    write_toy(out)
    for _ in range(2):  # The second time, what the first one wrote is there.
        said = cli("sweep", str(out / "toy.toml"), "--out", str(out), "--parquet")
        assert "complete: 8" in said.out
        assert said.table("axis", "values", "which", n=3) == [
            {"axis": "init_rate", "values": "2", "which": "0.3, 0.8"},
            {"axis": "seed", "values": "2", "which": "0, 1"},
            {"axis": "learning_rate", "values": "2", "which": "0.001, 0.002"},
        ]
    assert (out / "table.parquet").exists()
    assert (out / "map.png").read_bytes().startswith(b"\x89PNG")


def test_a_map_of_somebody_else_is_not_replaced(tmp_path, cli):
    (tmp_path / "map.png").write_text("mine")
    said = cli("sweep", str(write_toy(tmp_path)), "--out", str(tmp_path), code=2).err
    assert "map.png': was not written by this program" in " ".join(said.split())
    assert (tmp_path / "map.png").read_text() == "mine"


def test_the_map_is_of_the_runs_of_the_table(out, cli):
    """The folder also holds another seed's, of a sweep before."""
    (out / "one-seed.toml").write_text(toy_text(seeds="[0]"))
    said = cli("sweep", str(out / "one-seed.toml"), "--out", str(out)).out
    assert ("complete: 4" in said, "n=1" in said, "n=2" in said) == (True, True, False)


def test_a_sweep_without_a_map_ends_well(out, cli, monkeypatch):
    error = InputError("data_set", "rsn_test", "unknown data set", "choose another")
    monkeypatch.setattr("validate.commands.sweep.show", Mock(side_effect=error))
    said = cli("sweep", str(out / "toy.toml"), "--out", str(out))
    assert "complete: 8" in said.out
    assert "no map: data_set = 'rsn_test': unknown data set" in said.err


def members(folder, axes):
    return list(load_sweep(write_toy(folder, axes=axes)).members.values())


def test_zipped_axes_go_together(tmp_path):
    file = write_toy(tmp_path, axes="gamma = [0.4, 0.5]\nlearning_rate = [1e-3, 2e-3]\nseed = [3, 4]")
    file.write_text('combine = "zip"\n' + file.read_text())
    found = [(m.init_rate, m.training.learning_rate, m.seed) for m in load_sweep(file).members.values()]
    assert found == [(0.4, 1e-3, 3), (0.5, 2e-3, 4)]
    file.write_text(file.read_text().replace("seed = [3, 4]", "seed = [3]"))
    with pytest.raises(InputError, match="differ in length"):
        load_sweep(file)


def test_q_and_the_number_of_keys_change_the_task(tmp_path):
    axes = '"task.keys" = ["40..41"]\nq = [2, 3]\nN_Z = [3, 5]\n"task.vocab_size" = [90]'
    found = [m.build_task() for m in members(tmp_path, axes)[::4]]
    assert [(task.n_anchors, task.length) for task in found] == [(2, 3), (2, 3), (3, 4), (3, 4)]
    assert [task.keys for task in found[:2]] == [(40, 41, 42), (40, 41, 42, 43, 44)]
    held_out = [sum(len(mapping.held_out) for mapping in task.mappings) for task in found]
    assert held_out == [1, 1, 0, 0]  # Those of two anchors cannot occur among three.
    one, *_ = members(tmp_path, "N_Z = [1]")
    assert one.build_task().keys == (40,)
    with pytest.raises(InputError, match="the task has 2 keys, with gaps"):
        members(tmp_path, "N_Z = [3]")


TASK_AXES = "q = [2, 3]\nN_Z = [1, 2]"


@pytest.mark.parametrize(
    ("old", "new", "named"),
    [
        (TASK_AXES, "learning_rat = [1e-3]", "did you mean 'learning_rate'"),
        (TASK_AXES, "length = []", "neither a list of values nor"),
        (TASK_AXES, "q = [1.5]", "not a positive integer"),
        (TASK_AXES, "N_Z = [0]", "axes.n_keys = 0: not a positive integer"),
        (TASK_AXES, "learning_rate = [1e-3, 1e-3]", "same name to two variants"),
        (TASK_AXES, "learning_rate = [-1.0]", "learning_rate = -1.0: input should be greater than 0"),
        ("length = 3\n", "", "length = None: not an integer"),
        ("keys = [40, 44]\n", "", "keys = None: not a list"),
        ("keys = [40, 44]", "keys = []", "the task has 0 keys"),
        ("held_out = [[11, 12]]", "held_out = [11, 12]", "held_out = 11: not a list"),
        ("[model]", '[task.mappings]\nrule = "sum"\n[model]', r"write \[\[mappings\]\]"),
    ],
)
def test_axes_that_make_no_sense_and_a_task_without_what_they_need_are_refused(tmp_path, old, new, named):
    file = write_toy(tmp_path, axes=TASK_AXES)
    file.write_text(file.read_text().replace(old, new, 1))
    with pytest.raises(InputError, match=named):
        load_sweep(file)


def test_a_runs_name_follows_from_its_configuration(tmp_path):
    (first, *_), again = members(tmp_path, "d_m = [8]"), members(tmp_path, "d_m = [8]")[0]
    assert run_name(first) == run_name(again)
    one, other = (RunConfig(model={"kind": kind}).members()[0] for kind in ("transformer", "one-layer"))
    assert run_name(one) != run_name(other)  # Although both leave every key at its default.
