"""The long table of a sweep, as CSV and Parquet."""

from __future__ import annotations

import io
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sim.data.text import require
from sim.runs.files import only_writer
from sim.runs.outputs import OutputFile, OutputFolder
from sim.runs.run import Run
from sim.runs.table import csv_text, long_records
from theory.reading import PathLike, as_path

if TYPE_CHECKING:
    from validate.sweeps.sweep import Plan

_PATIENCE = 60.0
"""Seconds to wait for another sweep that writes its table into the same folder."""


def records_of(plan: Plan) -> list[dict[str, Any]]:
    """Return the long table of a sweep's complete runs, in the order of the sweep's file."""
    complete = [name for name, state in plan.states.items() if state == "complete"]
    runs = [(name, Run.open(plan.paths[name])) for name in complete]
    return long_records([(name, run.config, run.metrics) for name, run in runs], plan.sweep.axes)


def write_sweep_tables(plan: Plan, out: PathLike, names: Sequence[str]) -> None:
    """Write the table of a sweep's complete runs, if there are any, into the sweep's folder.

    A table that this program wrote there is replaced; any other file of that name is refused.
    """
    if records := records_of(plan):
        folder = OutputFolder(as_path("out", out))
        with only_writer(folder.path / "table", wait=_PATIENCE):
            for name in names:
                folder.write(name, _content(records, name))


def write_table(
    records: Sequence[Mapping[str, Any]], file: Path, argument: str = "out", *, overwrite: bool = False
) -> None:
    """Write rows as CSV or, where the file's name ends so, Parquet; a file is whole or not there.

    Parameters
    ----------
    records : sequence of dict
    file : Path
    argument : str, optional
        Which argument named the file, for a message.
    overwrite : bool, optional
        Whether to replace a file that is there.
    """
    OutputFile(file, argument, overwrite).write(_content(records, file.name))


def _content(records: Sequence[Mapping[str, Any]], name: str) -> bytes | str:
    if not name.endswith(".parquet"):
        return csv_text(records)
    parquet, arrow = require("pyarrow.parquet", "table"), require("pyarrow", "table")
    columns = list(records[0]) if records else []
    arrays = [arrow.array(_of_one_type([record[column] for record in records])) for column in columns]
    buffer = io.BytesIO()
    parquet.write_table(arrow.table(arrays, names=columns), buffer)
    return buffer.getvalue()


def _of_one_type(values: list[Any]) -> list[Any]:
    """Return a column whose values Parquet can have together: numbers beside words become words."""
    kinds = {type(value) for value in values if value is not None}
    if kinds <= {int, float}:
        return [None if value is None else float(value) for value in values] if float in kinds else values
    return values if len(kinds) == 1 else [None if value is None else str(value) for value in values]
