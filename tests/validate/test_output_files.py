"""Tables and pictures at a path of the user's choice: nothing is replaced but what such a command wrote."""

from __future__ import annotations

import os
import threading
from pathlib import Path

import pytest
from matplotlib.figure import Figure

from theory import InputError
from validate.cli import main
from validate.figures.style import save
from validate.sweeps import write_table

ROWS = [{"run": "a", "epoch": 1.0, "step": 2, "data_set": "mem", "statistic": "loss", "value": 0.5}]
FOREIGN = "foreign\nyears of work\n"


def _table(runs: Path, file: Path, *options: str) -> int:
    return main(["table", str(runs), "--csv", str(file), *options])


@pytest.fixture
def run_folder(tmp_path: Path) -> Path:
    """What is known as a run: its configuration and its manifest."""
    folder = tmp_path / "run"
    (folder / "snapshots").mkdir(parents=True)
    for name in ("config.json", "manifest.json"):
        (folder / name).write_text("{}")
    return folder


def test_a_table_replaces_no_file_but_a_table(
    runs_folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "mine.csv"
    for options in ([], ["--long"], []):  # Each replaces the one before.
        assert _table(runs_folder, file, *options) == 0
    file.write_text(FOREIGN)
    assert _table(runs_folder, file) == 2
    error = capsys.readouterr().err
    assert error.startswith("anchorflow: csv = ")
    assert "was not written by this program" in error
    assert file.read_text() == FOREIGN
    file.write_text("")  # As mktemp leaves it.
    assert _table(runs_folder, file) == 0


@pytest.mark.parametrize("name", ["table.csv", "config.json", "snapshots/table.csv"])
def test_no_table_is_written_into_a_run(run_folder: Path, name: str) -> None:
    before = sorted(run_folder.rglob("*"))
    with pytest.raises(InputError, match="is in the folder of a run"):
        write_table(ROWS, run_folder / name)
    assert sorted(run_folder.rglob("*")) == before
    assert (run_folder / "config.json").read_text() == "{}"


def test_links_stay(run_folder: Path, tmp_path: Path) -> None:
    link = tmp_path / "link.csv"
    link.symlink_to("target.csv")
    for _ in range(2):
        write_table(ROWS, link)
        assert link.is_symlink()
        assert (tmp_path / "target.csv").read_text().startswith("run,epoch")
    (tmp_path / "target.csv").write_text(FOREIGN)
    (tmp_path / "in_run.csv").symlink_to(run_folder / "config.json")
    (tmp_path / "loop.csv").symlink_to("loop.csv")
    for name in ("link", "in_run", "loop"):
        with pytest.raises(InputError):
            write_table(ROWS, tmp_path / f"{name}.csv")
        assert (tmp_path / f"{name}.csv").is_symlink()
    assert (tmp_path / "target.csv").read_text() == FOREIGN


def test_a_pipe_is_written_to_and_stays(tmp_path: Path) -> None:
    pipe, read = tmp_path / "pipe.csv", []
    os.mkfifo(pipe)
    reader = threading.Thread(target=lambda: read.append(pipe.read_text()), daemon=True)
    reader.start()
    write_table(ROWS, pipe)
    reader.join(20)
    assert read[0].startswith("run,epoch")
    assert pipe.is_fifo()


def test_a_folder_is_no_table(runs_folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert _table(runs_folder, tmp_path) == 2
    assert "cannot be written (Is a directory); name another path.\n" in capsys.readouterr().err


def test_the_name_of_standard_output_is_standard_output(
    runs_folder: Path, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    """As a link of the test's own, which a rename would replace."""
    link = tmp_path / "stdout"
    link.symlink_to("/proc/self/fd/1")
    assert main(["table", str(runs_folder), "--csv", "-"]) == 0
    text = capfd.readouterr().out
    assert _table(runs_folder, link) == 0
    assert capfd.readouterr().out == text
    assert link.is_symlink()


def test_a_parquet_file_of_others_stays(tmp_path: Path) -> None:
    pyarrow, parquet = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    file = tmp_path / "table.parquet"
    for _ in range(2):
        write_table(ROWS, file)
    for write in (
        lambda: parquet.write_table(pyarrow.table({"mine": [1]}), file),
        lambda: file.write_text(FOREIGN),
    ):
        write()
        before = file.read_bytes()
        with pytest.raises(InputError, match="was not written by this program"):
            write_table(ROWS, file)
        assert file.read_bytes() == before


@pytest.mark.usefixtures("blank_pictures")
@pytest.mark.parametrize("suffix", ["png", "svg", "pdf"])
def test_a_picture_replaces_no_file_but_such_a_picture(suffix: str, run_folder: Path, tmp_path: Path) -> None:
    file = tmp_path / f"map.{suffix}"
    for _ in range(2):
        save(Figure(), file)
    Figure().savefig(file)
    before = file.read_bytes()
    with pytest.raises(InputError, match="was not written by this program"):
        save(Figure(), file)
    assert file.read_bytes() == before
    with pytest.raises(InputError, match="is in the folder of a run"):
        save(Figure(), run_folder / file.name)
