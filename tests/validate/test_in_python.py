"""Runs as a string, a folder, a kept file or what training returns: the same code, the same numbers."""

import csv
import io
import json
from pathlib import Path

import pytest

from sim.runs.table import COLUMNS, frame
from theory import InputError
from validate.compare.rows import compare_runs
from validate.observe import find_observations, observe, write_kept
from validate.observe.groups import group_runs
from validate.observe.store import kept_file


def test_frames_hold_the_records(runs, settings):
    pytest.importorskip("pandas")
    metrics = runs[0].to_frame()
    assert list(metrics.columns) == list(COLUMNS)
    assert metrics.to_dict("records") == runs[0].to_records()
    assert len(compare_runs(settings, [6]).to_frame()) == len(compare_runs(settings, [6]))
    assert list(frame([], COLUMNS).columns) == list(COLUMNS)


def test_the_table_of_runs_as_csv(runs, runs_folder, tmp_path, cli):
    text = cli("table", str(runs_folder), "--csv", "-").out
    rows = list(csv.DictReader(io.StringIO(text)))
    assert list(rows[0]) == list(COLUMNS)
    assert len(rows) == sum(len(run.to_records()) for run in runs)
    assert float(rows[-1]["accuracy"]) == runs[-1].to_records()[-1]["accuracy"]
    file = tmp_path / "new" / "metrics.csv"
    cli("table", str(runs_folder), "--csv", str(file))
    assert file.read_text() == text
    long = list(csv.DictReader(io.StringIO(cli("table", str(runs_folder), "--long", "--csv", "-").out)))
    losses = [row["value"] for row in long if row["statistic"] == "loss"]
    assert losses == [row["loss"] for row in rows]
    twice = cli("table", str(runs_folder), str(runs_folder), "--json").json()
    assert twice == [r for run in runs for r in run.to_records()]
    shown = cli("table", str(runs_folder)).out
    assert "the last evaluation of each run" in shown
    assert "accuracy  loss (nats)" in shown
    assert all(f"{loss:.3f}" in shown for loss in runs[0].metrics[-1]["loss"].values())
    cli("table", str(tmp_path / "nowhere"), code=2)


def test_a_table_in_a_pipe_is_nothing_but_the_table(runs_folder, here, cli, monkeypatch):
    pytest.importorskip("pyarrow")
    monkeypatch.setenv("HOME", str(here))
    command = ["table", str(runs_folder)]
    both = cli(*command, "--csv", "-", "--parquet", "m.parquet")
    cli(*command, "--csv=~/m.csv")
    assert both.out == Path("m.csv").read_text()
    assert both.err.endswith("rows: m.parquet\n")


@pytest.mark.parametrize(
    ("words", "refusal"),
    [
        (["--parquet", "m.pq"], "parquet = 'm.pq': the name of another format"),
        (["--csv", "m.parquet"], "csv = 'm.parquet': the name of another format"),
        (["--long"], "add --csv"),
    ],
)
def test_no_option_of_a_table_is_passed_over(words, refusal, runs_folder, refused):
    assert refusal in refused("table", str(runs_folder), *words)


@pytest.fixture(scope="module")
def kept_folder(runs, tmp_path_factory):
    """Return a folder with what the tiny runs showed."""
    folder = tmp_path_factory.mktemp("kept")
    for run in runs:
        write_kept(observe(run), kept_file("tiny", None, run.config, folder))
    return folder / "tiny"


def _errors(rows):
    """Return the distances of predicted and observed cosines; ranks may turn where cosines are rounded."""
    return [row.estimate.mean for row in rows if row.measure in ("rmse", "largest_error")]


def test_files_folders_runs_and_observations_give_one_comparison(runs, runs_folder, kept_folder):
    own = compare_runs(runs, [6])
    # As text: what is undefined is NaN, which from Python 3.13 on makes two equal rows differ.
    for same in (str(runs_folder), [observe(run) for run in runs]):
        assert repr(list(compare_runs(same, [6]))) == repr(list(own))
    files = sorted(kept_folder.glob("*.safetensors"))
    mixed = [runs[0], str(runs[1].path), *files[2:]]
    for sources in (str(kept_folder), files, mixed):
        found = compare_runs(sources, [6])
        names, wanted = ([(r.setting, r.anchor, r.predictor) for r in rows] for rows in (found, own))
        assert names == wanted
        assert _errors(found) == pytest.approx(_errors(own), abs=1e-3)


@pytest.mark.usefixtures("blank_pictures")
def test_commands_take_kept_files(kept_folder, runs_folder, tmp_path, cli):
    file = str(kept_folder / "gamma0.8_seed0.safetensors")
    assert "verdict: censored" in cli("compare", file).out
    tables = []
    for source in (runs_folder, kept_folder):
        rows = cli("table", str(source), "--json").json()
        own = [{k: v for k, v in row.items() if k != "run"} for row in rows]
        tables.append({json.dumps(row, sort_keys=True) for row in own})
    assert tables[0] == tables[1]
    assert len(tables[0]) == len(rows)
    cli("figures", "3", "--runs", file, "--out", str(tmp_path))


def test_folders_without_runs_are_refused(tmp_path, runs):
    (tmp_path / "study").mkdir()
    (tmp_path / "study" / "variant").symlink_to(runs[0].path.parent)
    for folder in (tmp_path / "study", tmp_path):
        with pytest.raises(InputError, match=f"such as {tmp_path}/study/variant\\."):
            group_runs(folder)
    found = find_observations(tmp_path / "study", variants=True)
    assert [run.config for run in found] == [run.config for run in runs]
