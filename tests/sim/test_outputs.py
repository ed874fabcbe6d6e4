"""Where commands write: refused before the work, and nothing replaced that is not theirs."""

import os
import re
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from matplotlib.figure import Figure

from sim.runs.outputs import OutputFile, OutputFolder, file_name
from sim.runs.table import write_table
from tests.conftest import Cli
from tests.tiny_task import TASK
from theory import InputError
from validate.figures.style import rendered


@pytest.fixture
def no_work(monkeypatch: pytest.MonkeyPatch) -> None:
    """What comes after the check of the target fails the test."""

    def work(*_: object, **__: object) -> None:
        raise AssertionError("the work was begun")

    for name in ("prediction.Prediction.of", "terminal.progress.train_with_progress", "report.Report.build"):
        monkeypatch.setattr(f"validate.{name}", work)
    monkeypatch.setattr("validate.observe.groups.group_runs", work)
    monkeypatch.setattr("validate.figures.paper.find_figure", work)
    monkeypatch.setattr("theory.derive.find_derivation", work)


COMMANDS = {
    "predict": ["predict", "emb-mlp"],
    "demo": ["demo"],
    "compare": ["compare", "runs"],
    "figures": ["figures", "4"],
    "derive": ["derive", "prop 1"],
}


@pytest.mark.usefixtures("no_work")
@pytest.mark.parametrize("command", COMMANDS)
def test_a_bad_target_is_refused_before_the_work(command: str, tmp_path: Path, cli: Cli) -> None:
    file = tmp_path / "file"
    file.write_text("years of work")
    streams = [] if command == "derive" else ["pipe", "/dev/null"]
    (tmp_path / "pipe").mkdir() if command == "derive" else os.mkfifo(tmp_path / "pipe")
    for target in ("file", "file/below", *streams, "x" * 300, "/proc/anchorflow/x"):
        out = tmp_path / target
        said = cli(*COMMANDS[command], "--out", str(out), code=2).err
        assert re.match(rf"anchorflow: out = '{re.escape(str(out)[:60])}.*(cannot be written|exists)", said)
    assert file.read_text() == "years of work"
    assert sorted(entry.name for entry in tmp_path.iterdir()) == ["file", "pipe"]


@pytest.fixture
def run_folder(tmp_path: Path) -> Path:
    """What is known as a run, in a folder of runs."""
    folder = tmp_path / "mine" / "gamma0.8_seed0"
    (folder / "snapshots").mkdir(parents=True)
    for name in ("config.json", "manifest.json"):
        (folder / name).write_text("{}")
    return folder


@pytest.mark.usefixtures("no_work")
@pytest.mark.parametrize("command", ["predict", "demo", "compare", "figures"])
def test_a_run_folder_is_never_a_target(command: str, run_folder: Path, tmp_path: Path, cli: Cli) -> None:
    """Training with --overwrite would delete what is in it."""
    (tmp_path / "link").symlink_to(run_folder)
    before = sorted(tmp_path.rglob("*"))
    for out in run_folder, run_folder / "report", run_folder / "snapshots" / "a" / "b", tmp_path / "link":
        error = cli(*COMMANDS[command], "--out", str(out), code=2).err
        assert f"the folder of a run, {run_folder}; choose another folder" in error
    assert sorted(tmp_path.rglob("*")) == before


@pytest.mark.usefixtures("blank_pictures")
def test_a_prediction_is_replaced_and_a_task_file_is_not(here: Path, cli: Cli) -> None:
    """Twice into its own folder; once into that of the task, under the name that it writes."""
    Path("task.toml").write_text(TASK)
    for _ in range(2):
        cli("predict", "task.toml", "--out", "out")
    cli("predict", "task.toml", "--out", ".", code=2)
    assert Path("task.toml").read_text() == TASK
    Path("out/prediction.json").write_text("edited")
    assert "was changed since" in cli("predict", "task.toml", "--out", "out", code=2).err
    assert Path("out/prediction.json").read_text() == "edited"


def test_a_name_cannot_lead_out_of_the_folder(tmp_path: Path, cli: Cli) -> None:
    task = tmp_path / "task.toml"
    mapping = '[[mappings]]\nname = "../../../victim"\nanchors = "1..3"\nrule = "sum"\n'
    task.write_text(TASK.partition("reasoning")[0] + mapping)
    assert "victim" in cli("predict", str(task), "--out", str(tmp_path / "deep" / "out"), code=2).err
    assert list(tmp_path.iterdir()) == [task]


ROWS = [{"run": "a", "epoch": 1.0, "step": 2, "data_set": "mem", "statistic": "loss", "value": 0.5}]


@pytest.mark.usefixtures("blank_pictures")
@pytest.mark.parametrize("suffix", ["csv", "svg", "parquet"])
def test_a_picture_or_a_table_stays_unless_asked(suffix: str, run_folder: Path, tmp_path: Path) -> None:
    if suffix == "parquet":
        pytest.importorskip("pyarrow")
    file = tmp_path / f"map.{suffix}"

    def write(file: Path, overwrite: bool = False) -> None:
        if suffix != "svg":
            write_table(ROWS, file, overwrite=overwrite)
        else:
            OutputFile(file, overwrite=overwrite).write(rendered(Figure(), suffix))

    write(file)
    whole = file.read_bytes()
    file.write_text("years of work")
    with pytest.raises(InputError, match="overwrite=True"):
        write(file)
    assert file.read_text() == "years of work"
    write(file, overwrite=True)
    assert file.read_bytes() == whole
    file.write_text("")  # As mktemp leaves it.
    write(file)
    with pytest.raises(InputError, match="is in the folder of a run"):
        write(run_folder / file.name, overwrite=True)


@given(st.lists(st.text(max_size=150), min_size=2, max_size=2, unique=True))
def test_different_texts_have_different_file_names(texts: list[str]) -> None:
    names = [file_name(text) for text in texts]
    assert names[0] != names[1]
    for name in names:
        assert name.isascii()
        assert 0 < len(name) < 110
        assert not set(name) & set("/\\\0 ")
        assert name[0] != "."


def test_what_a_kill_left_of_a_file_is_in_nobodys_way(tmp_path: Path) -> None:
    (tmp_path / "figures").mkdir()
    (tmp_path / "figures" / f".anchorflow-tmp-{'0' * 32}").write_text("half")
    OutputFolder(tmp_path).check((), ["figures"])


def test_two_may_write_into_a_folder_at_a_time(tmp_path: Path) -> None:
    """Else one would lose from the list what the other adds to it meanwhile."""
    names = [f"{number}.json" for number in range(8)]
    with ThreadPoolExecutor(4) as pool:
        list(pool.map(lambda name: OutputFolder(tmp_path).write(name, name), names))
    assert sorted(OutputFolder(tmp_path).listed()) == names
    assert OutputFolder(tmp_path).foreign() == []


def test_a_check_leaves_no_trace(tmp_path: Path) -> None:
    OutputFolder(tmp_path / "a" / "b").check(["c"], ["d"])
    assert list(tmp_path.iterdir()) == []
    with pytest.raises(InputError, match=r"cannot be written .*; free space, or name a place that you may"):
        OutputFolder(tmp_path / "a" / ("b" * 300)).check()
    assert list(tmp_path.iterdir()) == []
