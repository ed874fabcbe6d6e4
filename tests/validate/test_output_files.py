"""Tables and pictures at a path of the user's choice: a file that is there stays, unless asked."""

from __future__ import annotations

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
    """A folder that is known as a run's by its configuration and its manifest."""
    folder = tmp_path / "run"
    (folder / "snapshots").mkdir(parents=True)
    for name in ("config.json", "manifest.json"):
        (folder / name).write_text("{}")
    return folder


def test_a_table_that_the_user_edited_stays(
    runs_folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "mine.csv"
    assert _table(runs_folder, file) == 0
    with file.open("a") as opened:
        opened.write("my notes\n")
    edited = file.read_text()
    assert _table(runs_folder, file) == 2
    assert "--overwrite" in capsys.readouterr().err
    assert file.read_text() == edited
    assert _table(runs_folder, file, "--overwrite") == 0
    assert "my notes" not in file.read_text()
    file.write_text("")  # As mktemp leaves it.
    assert _table(runs_folder, file) == 0


@pytest.mark.parametrize("name", ["table.csv", "config.json", "snapshots/table.csv"])
def test_no_table_is_written_into_a_run(run_folder: Path, name: str) -> None:
    before = sorted(run_folder.rglob("*"))
    with pytest.raises(InputError, match="is in the folder of a run"):
        write_table(ROWS, run_folder / name, overwrite=True)
    assert sorted(run_folder.rglob("*")) == before
    assert (run_folder / "config.json").read_text() == "{}"


@pytest.mark.usefixtures("blank_pictures")
@pytest.mark.parametrize("suffix", ["png", "svg", "pdf", "parquet"])
def test_a_picture_or_parquet_file_stays_unless_asked(suffix: str, run_folder: Path, tmp_path: Path) -> None:
    if suffix == "parquet":
        pytest.importorskip("pyarrow")
    file = tmp_path / f"map.{suffix}"

    def write(file: Path, overwrite: bool = False) -> None:
        if suffix == "parquet":
            write_table(ROWS, file, overwrite=overwrite)
        else:
            save(Figure(), file, overwrite=overwrite)

    write(file)
    whole = file.read_bytes()
    file.write_text(FOREIGN)
    with pytest.raises(InputError, match="--overwrite"):
        write(file)
    assert file.read_text() == FOREIGN
    write(file, overwrite=True)
    assert file.read_bytes() == whole
    with pytest.raises(InputError, match="is in the folder of a run"):
        write(run_folder / file.name, overwrite=True)
