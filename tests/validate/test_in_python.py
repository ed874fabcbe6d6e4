"""In Python and in notebooks: short reprs, tables, strings as paths, runs as training returns them."""

from __future__ import annotations

import csv
import io
from pathlib import Path

import pytest

from sim import Run, find_runs
from sim.runs.table import COLUMNS, frame
from tests.conftest import Cli
from theory import InputError
from theory.reading import as_path
from validate.judge.compare import compare_runs
from validate.judge.groups import Setting, group_runs
from validate.observe import kept, observe_path
from validate.observe.store import KEPT


def test_strings_are_paths(runs: list[Run], runs_folder: Path) -> None:
    """The pages' code, which tests/docs runs, gives strings too."""
    text, paths = str(runs_folder), [run.path for run in runs]
    assert find_runs(text) == find_runs([text]) == find_runs(runs_folder) == paths
    assert observe_path(str(paths[0])).epochs == runs[0].snapshot_epochs
    assert [s.label for s in group_runs(text)] == ["γ = 0.3", "γ = 0.8"]
    assert len(kept("causal", folder=str(KEPT))) == len(kept("causal"))
    assert as_path("out", "~/x") == Path.home() / "x"
    for wrong in (3, "", None):
        with pytest.raises(InputError, match="as a string or a pathlib"):
            as_path("out", wrong)  # type: ignore[arg-type]


def test_frames_hold_the_records(runs: list[Run], settings: list[Setting]) -> None:
    pytest.importorskip("pandas")
    metrics = runs[0].to_frame()
    assert list(metrics.columns) == list(COLUMNS)
    assert metrics.to_dict("records") == runs[0].to_records()
    assert len(compare_runs(settings, [6]).to_frame()) == len(compare_runs(settings, [6]))
    assert list(frame([], COLUMNS).columns) == list(COLUMNS)


def test_the_table_of_runs_as_csv(runs: list[Run], runs_folder: Path, tmp_path: Path, cli: Cli) -> None:
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
    assert cli("table", str(runs_folder), "--json").json() == [r for run in runs for r in run.to_records()]
    shown = cli("table", str(runs_folder)).out
    assert "the last evaluation of each run" in shown
    assert all(f"{loss:.3f}" in shown for loss in runs[0].metrics[-1]["loss"].values())
    cli("table", str(tmp_path / "nowhere"), code=2)


def test_a_table_in_a_pipe_is_nothing_but_the_table(
    runs_folder: Path, here: Path, cli: Cli, monkeypatch: pytest.MonkeyPatch
) -> None:
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
        (["--parquet", "-"], "parquet = '-': the name of another format"),
        (["--csv", "m.parquet"], "csv = 'm.parquet': the name of another format"),
        (["--long"], "add --csv"),
    ],
)
def test_no_option_of_a_table_is_passed_over(
    words: list[str], refusal: str, runs_folder: Path, here: Path, cli: Cli
) -> None:
    assert refusal in cli("table", str(runs_folder), *words, code=2).err
    assert list(here.iterdir()) == []
