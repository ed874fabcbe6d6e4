"""The long table of a sweep, as CSV and Parquet."""

from __future__ import annotations

import csv
import io
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from sim.runs.outputs import OutputFile
from sim.runs.run import Run
from sim.runs.table import COLUMNS, csv_text, is_long, long_records
from theory import InputError
from validate.sweeps.plan import Plan

_LONGEST_HEADER = 1 << 16


def records_of(plan: Plan) -> list[dict[str, Any]]:
    """Return the long table of a sweep's complete runs, in the order of the sweep's file."""
    complete = [name for name, state in plan.states.items() if state == "complete"]
    runs = [(name, Run.open(plan.paths[name])) for name in complete]
    return long_records([(name, run.config, run.metrics) for name, run in runs], plan.sweep.axes)


def write_table(records: Sequence[Mapping[str, Any]], file: Path, argument: str = "out") -> None:
    """Write rows as CSV or, where the file's name ends so, Parquet; a file is whole or not there.

    Parameters
    ----------
    records : sequence of dict
    file : Path
        A file that is there is replaced only if it is a table of this program.
    argument : str, optional
        Which argument named the file, for a message.

    Raises
    ------
    InputError
        If the file is not a table of this program, lies in a run folder or cannot be written, or Parquet is
        asked for without pyarrow.
    """
    table_file(file, argument).write(_parquet(records) if _is_parquet(file) else csv_text(records))


def table_file(file: Path, argument: str = "out") -> OutputFile:
    """Return a table's file, which replaces no other file than a table of this program."""
    return OutputFile(file, argument, lambda found: _is_table(_columns(found, parquet=_is_parquet(file))))


def _is_parquet(file: Path) -> bool:
    return file.suffix == ".parquet"


def _is_table(columns: Sequence[str]) -> bool:
    return is_long(columns) or list(columns) == list(COLUMNS)


def _columns(file: Path, *, parquet: bool) -> list[str]:
    """Return the columns of a file; none if it is no such table."""
    if parquet:
        return _parquet_columns(file)
    with file.open("rb") as opened:
        line = opened.readline(_LONGEST_HEADER).decode(errors="replace")
    try:
        return next(csv.reader([line]), [])
    except csv.Error:
        return []


def _parquet_columns(file: Path) -> list[str]:
    parquet = _pyarrow()[1]
    # A file that is not Parquet is an ArrowInvalid, which is a ValueError.
    try:
        return list(parquet.read_schema(file).names)
    except ValueError:
        return []


def _pyarrow() -> tuple[Any, Any]:
    try:
        import pyarrow as pa
        from pyarrow import parquet
    except ImportError:
        remedy = "pip install 'anchorflow[table]', or write CSV"
        raise InputError("parquet", "pyarrow", "is not installed", remedy) from None
    return pa, parquet


def _parquet(records: Sequence[Mapping[str, Any]]) -> bytes:
    pa, parquet = _pyarrow()
    columns = list(records[0]) if records else []
    arrays = [pa.array(_of_one_type([record[name] for record in records])) for name in columns]
    buffer = io.BytesIO()
    parquet.write_table(pa.table(arrays, names=columns), buffer)
    return buffer.getvalue()


def _of_one_type(values: list[Any]) -> list[Any]:
    """Return a column whose values Parquet can have together: numbers beside words become words."""
    kinds = {type(value) for value in values if value is not None}
    if kinds <= {int, float}:
        return [None if value is None else float(value) for value in values] if float in kinds else values
    return values if len(kinds) == 1 else [None if value is None else str(value) for value in values]
