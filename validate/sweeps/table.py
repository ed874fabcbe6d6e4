"""The long table of a sweep, as CSV and Parquet."""

from __future__ import annotations

import io
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from sim.runs.files import write_atomically, writing
from sim.runs.long_table import csv_text, long_records
from sim.runs.run import Run
from theory import InputError
from validate.sweeps.plan import Plan


def records_of(plan: Plan) -> list[dict[str, Any]]:
    """Return the long table of a sweep's complete runs, in the order of the sweep's file."""
    complete = [name for name, state in plan.states.items() if state == "complete"]
    runs = [(name, Run.open(plan.paths[name])) for name in complete]
    return long_records([(name, run.config, run.metrics) for name, run in runs], plan.sweep.axes)


def write_table(records: Sequence[Mapping[str, Any]], file: Path) -> None:
    """Write rows as CSV or, where the file's name ends so, Parquet; a file is whole or not there.

    Raises
    ------
    InputError
        If the file cannot be written, or Parquet is asked for without pyarrow.
    """
    content = _parquet(records) if file.suffix == ".parquet" else csv_text(records)
    with writing(file):
        file.parent.mkdir(parents=True, exist_ok=True)
        write_atomically(file, content)


def _parquet(records: Sequence[Mapping[str, Any]]) -> bytes:
    try:
        import pyarrow as pa
        from pyarrow import parquet
    except ImportError:
        remedy = "pip install 'anchorflow[table]', or write CSV"
        raise InputError("parquet", "pyarrow", "is not installed", remedy) from None
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
