"""The file of a recording: a CSV file that grows with every record, or a Parquet file written at the end."""

from __future__ import annotations

import csv
import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from sim.data.text import require
from sim.runs.outputs import OutputFile
from sim.runs.table import csv_text, write_table
from theory import InputError
from theory.edge.reading import as_path, is_file

Row = dict[str, float]


class RecordingFile:
    """Where the rows go, checked before any work; no path means nowhere."""

    def __init__(self, out: Any, overwrite: bool, resume: bool) -> None:
        self.path = None if out is None else as_path("out", out).absolute()
        self.earlier: list[Row] = []
        """The rows that the file held before."""
        self._overwrite, self._columns = overwrite or resume, dict[str, float | None]()
        self._is_behind = False
        if resume and (self.path is None or overwrite):
            problem = "needs out" if self.path is None else "excludes overwrite"
            raise InputError("resume", True, problem, "give the file to go on with, and resume alone")
        if self.path is None:
            return
        if self.path.suffix not in (".csv", ".parquet"):
            remedy = "give a file that ends in .csv or .parquet"
            raise InputError("out", str(self.path), "unknown kind of table", remedy)
        OutputFile(self.path, overwrite=self._overwrite).check()
        if self.path.suffix == ".parquet":
            require("pyarrow.parquet", "table")  # Better missed now than after the training.
        if resume and is_file(self.path):
            self.earlier = read_rows(self.path)

    def append(self, rows: Sequence[Row]) -> None:
        """Append the last row to a CSV file; write all rows if that failed before, or it has a new column."""
        if self.path is None or self.path.suffix != ".csv":
            return
        was_behind, self._is_behind = self._is_behind, True
        if was_behind or not is_file(self.path) or not rows[-1].keys() <= self._columns.keys():
            self._write(self.path, rows)
        else:
            with self.path.open("a", encoding="utf-8", newline="") as opened:
                opened.write(csv_text([self._columns | rows[-1]]).partition("\n")[2])
            self._is_behind = False

    def finish(self, rows: Sequence[Row]) -> None:
        """Write what is not yet written."""
        if self.path is not None and rows and (self._is_behind or self.path.suffix == ".parquet"):
            self._write(self.path, rows)

    def _write(self, path: Path, rows: Sequence[Row]) -> None:
        columns: dict[str, float | None] = {name: None for row in rows for name in row}
        write_table([columns | row for row in rows], path, overwrite=self._overwrite or bool(self._columns))
        self._columns, self._is_behind = columns, False


def read_rows(file: Path) -> list[dict[str, float]]:
    """Return the rows of an earlier recording; a last line that was cut off is left out."""
    try:
        if file.suffix == ".parquet":
            parquet = require("pyarrow.parquet", "table")
            read = parquet.read_table(file).to_pylist()
        else:
            lines = file.read_text(encoding="utf-8").splitlines(keepends=True)
            read = list(csv.DictReader(line for line in lines if line.endswith("\n")))
        rows = [{name: float(v) for name, v in row.items() if v not in (None, "")} for row in read]
        steps = [row["step"] for row in rows if math.isfinite(row["seconds"])]
        if steps == sorted(steps):
            return rows
    except (OSError, ValueError, TypeError, KeyError, AttributeError, csv.Error):
        pass
    raise InputError("out", str(file), "not a recording", "give its file, or leave resume out")
