"""anchorflow table: write the metrics of finished runs as CSV, JSON or a summary."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

from theory import InputError
from theory.edge.reading import as_path
from validate.commands.options import CommandOptions, Positional
from validate.terminal.output import print_json, print_table


class Options(CommandOptions):
    """Write the metrics of finished runs as a table: a row for each run, evaluation and data set.

    The columns are run (its folder), model, init_rate (γ), seed, learning_rate, epoch, step,
    sum_learning_rate (the time of the gradient flow), data_set (mem, rsn_train, rsn_test or the name of a
    mapping), loss (nats; empty if it is not finite) and accuracy. Without a file or --json the last
    evaluation of each run is printed.

    With --long, each statistic has a row of its own, and each setting in which the runs differ a column: run,
    init_rate, seed, these settings, epoch, step, data_set, statistic and value.

    Cells are numbers or text: a text that a spreadsheet would compute has a quote before it.

    example: anchorflow table runs/mine --csv metrics.csv
    """

    runs: Annotated[tuple[Path, ...], Positional("RUN")]
    """Run folders, kept files, or folders that hold them."""
    csv: str | None = None
    """The CSV file to write, or - for standard output."""
    parquet: Path | None = None
    """The Parquet file to write (needs pyarrow)."""
    long: bool = False
    """One row for each statistic, with every setting in which the runs differ."""
    overwrite: bool = False
    """Replace existing files."""


def run(options: Options) -> int:
    """Read the runs, and write or print their table."""
    from sim.runs.outputs import OutputFile
    from sim.runs.table import LAST_HEADER, csv_text, last_rows, long_records, metric_records, write_table
    from validate.observe import find_observations

    if options.csv == "-" and options.as_json:
        raise InputError("csv", "-", "prints on standard output, as --json does", "give one of the two")
    named = {"csv": options.csv, "parquet": options.parquet}
    files = {name: as_path(name, file) for name, file in named.items() if file is not None and file != "-"}
    is_printed = options.as_json or options.csv == "-"
    if options.long and not (files or is_printed):
        raise InputError("long", True, "is for the whole table", "add --csv, --parquet or --json")
    if options.overwrite and not files:
        raise InputError("overwrite", True, "is for a file", "add --csv or --parquet with its name")
    for argument, file in files.items():
        usual = {"csv": ("", ".csv", ".txt"), "parquet": (".parquet",)}[argument]
        if file.suffix.lower() not in usual:
            raise InputError(argument, str(file), "the name of another format", f"end it in .{argument}")
        OutputFile(file, argument, options.overwrite).check()
    named_runs = {run.source: run for run in find_observations(options.runs)}
    runs = [*named_runs.values()]  # Each once, also where a folder and a run in it are named.
    if options.long:
        records = long_records([(run.source, run.config, run.metrics) for run in runs])
    else:
        records = [row for o in runs for row in metric_records(Path(o.source), o.config, o.metrics)]
    if options.csv == "-":
        print(csv_text(records), end="")
    for argument, file in files.items():
        write_table(records, file, argument, overwrite=options.overwrite)
        print(f"{len(records)} rows: {file}", file=sys.stderr if is_printed else sys.stdout)
    if options.as_json:
        print_json(records)
    elif not files and options.csv is None:
        rows = [[run.source, *row] for run in runs for row in last_rows(run.config, run.metrics)]
        print_table("the last evaluation of each run", ["run", *LAST_HEADER], rows)
    return 0
