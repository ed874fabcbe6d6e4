"""anchorflow table: the metrics of finished runs as a table: CSV, JSON or a summary."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from validate.commands.options import CommandOptions, Positional
from validate.commands.parsing import Command

if TYPE_CHECKING:
    from validate.observe import Observations


class Options(CommandOptions):
    """Write the metrics of finished runs as a table: a row for each run, evaluation and data set.

    The columns are run (its folder), model, init_rate (γ), seed, learning_rate, epoch, step,
    sum_learning_rate (the time of the gradient flow), data_set (mem, rsn_train, rsn_test or the name of a
    mapping), loss (nats; empty if it is not finite) and accuracy. Without --csv or --json the last evaluation
    of each run is printed.

    With --long, each statistic has a row of its own, and each setting in which the runs differ a column: run,
    init_rate, seed, these settings, epoch, step, data_set, statistic and value.
    """

    runs: Annotated[tuple[Path, ...], Positional("RUN")]
    """Run folders, kept files, or folders that hold them."""
    csv: str | None = None
    """The file to write, or - for standard output."""
    parquet: Path | None = None
    """A Parquet file to write, which needs pyarrow."""
    long: bool = False
    """One row for each statistic, with every setting in which the runs differ."""
    overwrite: bool = False
    """Replace files that are there."""


COMMAND = Command("table", Options, "anchorflow table runs/mine --csv metrics.csv")


def run(arguments: Sequence[str]) -> int:
    """Read the runs, and write or print their table."""
    options = COMMAND.parse(arguments)
    from sim.runs.outputs import OutputFile
    from sim.runs.table import csv_text, long_records, metric_records
    from validate.observe import find_observations
    from validate.sweeps.table import write_table
    from validate.terminal.tables import print_json

    prints_csv = _is_standard_output(options.csv)
    named = {
        "csv": None if prints_csv or options.csv is None else Path(options.csv),
        "parquet": options.parquet,
    }
    files = {argument: file for argument, file in named.items() if file is not None}
    for argument, file in files.items():
        OutputFile(file, argument, options.overwrite).check()
    runs = find_observations(options.runs)
    if options.long:
        records = long_records([(each.source, each.config, each.metrics) for each in runs])
    else:
        records = [
            row for each in runs for row in metric_records(Path(each.source), each.config, each.metrics)
        ]
    if prints_csv:
        sys.stdout.write(csv_text(records))
    for argument, file in files.items():
        write_table(records, file, argument, overwrite=options.overwrite)
        print(f"{len(records)} rows: {file}", file=sys.stderr if options.as_json else sys.stdout)
    if options.as_json:
        print_json(records)
    elif not files and not prints_csv:
        _print(runs)
    return 0


def _is_standard_output(file: str | None) -> bool:
    """Return whether a file is where this process prints: -, or a path that leads there, as /dev/stdout."""
    if file is None or file == "-":
        return file is not None
    try:
        return os.path.samestat(os.stat(file), os.fstat(1))  # noqa: PTH116
    except OSError:
        return False


def _print(runs: Sequence[Observations]) -> None:
    from validate.terminal.tables import print_table

    rows = [
        [each.source, part, f"{value:.3f}", "–" if loss.get(part) is None else f"{loss[part]:.3f}"]
        for each in runs
        for loss in [each.metrics[-1]["loss"]]
        for part, value in each.metrics[-1]["accuracy"].items()
    ]
    print_table("the last evaluation of each run", ["run", "data set", "accuracy", "loss"], rows)
