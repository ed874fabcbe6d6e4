"""In Python and in notebooks: short reprs, tables, strings as paths, runs as training returns them."""

from __future__ import annotations

import csv
import dataclasses
import io
import json
import sys
from pathlib import Path
from typing import Any

import pytest

from sim import Run, RunConfig, find_runs
from sim.config.presets import FOLDER as PRESETS
from sim.config.presets import load_preset
from sim.runs.folder import RunFolder
from sim.runs.table import COLUMNS, frame
from tests.validate.page import Page
from theory import InputError, Task
from theory.derive import find_derivation
from theory.reading import as_path
from validate.cli import main
from validate.figures.sheet import NoRuns as Empty
from validate.figures.sheet import PanelRow, Sheet
from validate.judge.compare import compare_runs
from validate.judge.groups import Setting, as_settings, group_runs
from validate.observe import kept, observe_path, read_kept
from validate.observe.store import KEPT
from validate.predict.prediction import Prediction
from validate.report import Report


def shown(value: Any) -> str:
    """Return what a notebook shows, after a look that every tag closes."""
    text: str = value._repr_html_()
    assert Page(text).open == []
    return text


def test_reprs_are_short_and_say_what_it_is(runs: list[Run], settings: list[Setting]) -> None:
    run = runs[-1]
    assert str(run.path) in repr(run)
    assert "emb-mlp, γ = 0.8, seed 1, 6 epochs, accuracy mem" in repr(run)
    assert repr(Task.paper()) == (
        "Task(keys: 21..120; tokens: 9 with 2 anchors, 200 in the vocabulary; memory: anchors 1..10, "
        "a label drawn once for each key and anchors; reasoning: anchors 11..20, label = key + sum of the "
        "anchors, 2 combinations held out)"
    )
    comparison = compare_runs(settings)
    (answer,) = comparison.answers
    assert shown(comparison).startswith(f"<p>verdict: {answer.verdict}")
    assert repr(comparison) == f"Comparison({answer.verdict}; {len(comparison)} rows: γ = 0.3, γ = 0.8)"
    derivation = find_derivation("eq 22")
    assert derivation.title in repr(derivation)
    sheet = Sheet("one", "A caption", "note", [PanelRow("A", [Empty("nothing")])])
    assert repr(sheet) == "Sheet('one', 1 panels, not drawn yet)"
    (axes,) = comparison.plot().axes
    assert axes.lines[0].get_label() == "γ = 0.3: P^s - u"
    assert repr(RunConfig(seeds=[0, 1])) == "RunConfig(seeds=(0, 1))"
    assert all(len(repr(value)) < 400 for value in (run, run.task, comparison, derivation, sheet))


def test_notebooks_show_tables_and_pictures(runs: list[Run], settings: list[Setting]) -> None:
    run = runs[0]
    assert f"{run.metrics[-1]['accuracy']['rsn_train']:.3f}" in shown(run)
    assert "40..59" in shown(run.task)
    assert "rsn_test" in shown(run)
    assert "Pearson [95 %]" in shown(compare_runs(settings, [6]))
    assert "$$" in shown(find_derivation("eq 22"))
    sheet = Sheet("one", "A <caption>", "note", [PanelRow("A", [Empty("nothing")])])
    assert "A &lt;caption&gt;" in shown(sheet)
    assert "data:image/png;base64,iVBOR" in shown(sheet)
    risky = dataclasses.replace(run, path=Path("runs/<b>"))
    assert "<b>" not in shown(risky)


def test_settings_and_runs_are_not_mixed(runs: list[Run], settings: list[Setting]) -> None:
    assert as_settings(settings) == settings
    with pytest.raises(InputError, match="Setting"):
        as_settings([settings[0], runs[0]])


@pytest.mark.usefixtures("blank_pictures")
def test_strings_are_paths(runs: list[Run], runs_folder: Path, tmp_path: Path) -> None:
    text = str(runs_folder)
    paths = [run.path for run in runs]
    assert find_runs(text) == find_runs([text]) == find_runs(runs_folder) == paths
    assert Run.open(str(paths[0])).config == runs[0].config
    assert observe_path(str(paths[0])).epochs == runs[0].snapshot_epochs
    assert [s.label for s in group_runs(text)] == ["γ = 0.3", "γ = 0.8"]
    assert RunFolder(str(paths[0])) == RunFolder(paths[0])
    assert load_preset("cpu", str(PRESETS)) == load_preset("cpu")
    assert len(kept("causal", folder=str(KEPT))) == len(kept("causal"))
    file = next((KEPT / "causal").glob("*.safetensors"))
    assert read_kept(str(file)).config == read_kept(file).config
    with pytest.raises(InputError, match=f"no runs of it in {tmp_path}"):
        kept("causal", root=str(tmp_path))
    task_file = tmp_path / "task.toml"
    task_file.write_text(runs[0].task.to_toml())
    assert (
        Task.from_toml(str(task_file)) == Task.from_toml(task_file) == Task.from_toml(task_file.read_text())
    )
    sheet = Sheet("one", "caption", "note", [PanelRow("A", [Empty("nothing")])])
    assert sheet.write(str(tmp_path / "sheet"))[0].exists()
    small = Task(keys=range(5, 9), reasoning_anchors=(1, 2, 3), n_anchors=1, length=2, vocab_size=20)
    Prediction.of(small).write(str(tmp_path / "prediction"))
    assert (tmp_path / "prediction" / "prediction.json").exists()
    page, _ = Report("title", group_runs(text), []).write(str(tmp_path / "report"))
    assert page == tmp_path / "report" / "report.html"
    assert as_path("out", "~/x") == Path.home() / "x"
    for wrong in (3, "", None):
        with pytest.raises(InputError, match="give a string or a pathlib"):
            as_path("out", wrong)  # type: ignore[arg-type]


def test_what_training_returns_can_be_compared(
    runs: list[Run], runs_folder: Path, settings: list[Setting]
) -> None:
    by_setting = compare_runs(settings, [6])
    # As text: what is undefined is NaN, which from Python 3.13 on makes two equal rows differ.
    for same in (runs, str(runs_folder), [run.path for run in runs]):
        assert repr(list(compare_runs(same, [6]))) == repr(list(by_setting))
    record = by_setting.to_records()[-1]
    assert record["mean"] == by_setting[-1].estimate.mean
    assert record["predictor"] == by_setting[-1].predictor
    assert list(by_setting[:2]) == list(by_setting)[:2]


def test_metrics_are_tidy_rows(runs: list[Run]) -> None:
    records = runs[0].to_records()
    assert all(list(record) == list(COLUMNS) for record in records)
    assert len(records) == sum(len(line["accuracy"]) for line in runs[0].metrics)
    last = [r for r in records if r["data_set"] == "mem"][-1]
    assert last["accuracy"] == runs[0].metrics[-1]["accuracy"]["mem"]
    assert (last["init_rate"], last["seed"], last["epoch"]) == (0.3, 0, 6)


def test_frames_need_pandas_and_say_so(runs: list[Run], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(ImportError, match=r"pip install 'anchorflow\[table\]'"):
        runs[0].to_frame()


def test_frames_hold_the_records(runs: list[Run], settings: list[Setting]) -> None:
    pytest.importorskip("pandas")
    metrics = runs[0].to_frame()
    assert list(metrics.columns) == list(COLUMNS)
    assert metrics.to_dict("records") == runs[0].to_records()
    assert len(compare_runs(settings, [6]).to_frame()) == len(compare_runs(settings, [6]))
    assert list(frame([], COLUMNS).columns) == list(COLUMNS)


def test_the_table_of_runs_as_csv(
    runs: list[Run], runs_folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["table", str(runs_folder), "--csv", "-"]) == 0
    text = capsys.readouterr().out
    rows = list(csv.DictReader(io.StringIO(text)))
    assert list(rows[0]) == list(COLUMNS)
    assert len(rows) == sum(len(run.to_records()) for run in runs)
    assert float(rows[-1]["accuracy"]) == runs[-1].to_records()[-1]["accuracy"]
    file = tmp_path / "new" / "metrics.csv"
    assert main(["table", str(runs_folder), "--csv", str(file)]) == 0
    assert file.read_text() == text
    capsys.readouterr()
    assert main(["table", str(runs_folder), "--long", "--csv", "-"]) == 0
    long = list(csv.DictReader(io.StringIO(capsys.readouterr().out)))
    losses = [row["value"] for row in long if row["statistic"] == "loss"]
    assert losses == [row["loss"] for row in rows]
    assert main(["table", str(runs_folder), "--json"]) == 0
    assert json.loads(capsys.readouterr().out) == [r for run in runs for r in run.to_records()]
    assert main(["table", str(runs_folder)]) == 0
    shown = capsys.readouterr().out
    assert "the last evaluation of each run" in shown
    assert all(f"{loss:.3f}" in shown for loss in runs[0].metrics[-1]["loss"].values())
    assert main(["table", str(tmp_path / "nowhere")]) == 2
