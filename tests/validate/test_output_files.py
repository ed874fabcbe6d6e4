"""Tables and pictures at a path of the user's choice: a file that is there stays, unless asked."""

from __future__ import annotations

from pathlib import Path

import pytest
from matplotlib.figure import Figure

from theory import InputError
from validate.figures.style import save
from validate.sweeps import write_table

ROWS = [{"run": "a", "epoch": 1.0, "step": 2, "data_set": "mem", "statistic": "loss", "value": 0.5}]
FOREIGN = "foreign\nyears of work\n"


@pytest.fixture
def run_folder(tmp_path: Path) -> Path:
    """A folder that is known as a run's by its configuration and its manifest."""
    folder = tmp_path / "run"
    (folder / "snapshots").mkdir(parents=True)
    for name in ("config.json", "manifest.json"):
        (folder / name).write_text("{}")
    return folder


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
            save(Figure(), file, overwrite=overwrite)

    write(file)
    whole = file.read_bytes()
    file.write_text(FOREIGN)
    with pytest.raises(InputError, match="--overwrite"):
        write(file)
    assert file.read_text() == FOREIGN
    write(file, overwrite=True)
    assert file.read_bytes() == whole
    file.write_text("")  # As mktemp leaves it.
    write(file)
    with pytest.raises(InputError, match="is in the folder of a run"):
        write(run_folder / file.name, overwrite=True)
