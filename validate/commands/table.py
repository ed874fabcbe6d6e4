"""anchorflow table: the metrics of finished runs as tidy rows."""

from __future__ import annotations

import csv
import io
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

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
    """

    runs: Annotated[tuple[Path, ...], Positional("RUN")]
    """Run folders, kept files, or folders that hold them."""
    csv: str | None = None
    """The file to write, or - for standard output."""


COMMAND = Command("table", Options, "anchorflow table runs/mine --csv metrics.csv")


def run(arguments: Sequence[str]) -> int:
    """Read the runs, and write or print their table."""
    options = COMMAND.parse(arguments)
    from sim.runs.files import write_atomically, writing
    from sim.runs.table import metric_records
    from theory.paths import as_path
    from validate.observe import find_observations
    from validate.terminal.tables import print_json

    runs = find_observations(options.runs)
    records = [
        record for each in runs for record in metric_records(Path(each.source), each.config, each.metrics)
    ]
    if options.csv == "-":
        sys.stdout.write(as_csv(records))
    elif options.csv is not None:
        file = as_path("csv", options.csv)
        with writing(file):
            file.parent.mkdir(parents=True, exist_ok=True)
            write_atomically(file, as_csv(records))
        print(f"{len(records)} rows: {file}", file=sys.stderr if options.as_json else sys.stdout)
    if options.as_json:
        print_json(records)
    elif options.csv is None:
        _print(runs)
    return 0


def as_csv(records: Sequence[dict[str, Any]]) -> str:
    """Return rows of ``sim.runs.table.COLUMNS`` as CSV text with a header."""
    from sim.runs.table import COLUMNS

    text = io.StringIO()
    writer = csv.DictWriter(text, list(COLUMNS), lineterminator="\n")
    writer.writeheader()
    writer.writerows(records)
    return text.getvalue()


def _print(runs: Sequence[Observations]) -> None:
    from validate.terminal.tables import print_table

    rows = [
        [each.source, part, f"{value:.3f}", "–" if loss.get(part) is None else f"{loss[part]:.3f}"]
        for each in runs
        for loss in [each.metrics[-1]["loss"]]
        for part, value in each.metrics[-1]["accuracy"].items()
    ]
    print_table("the last evaluation of each run", ["run", "data set", "accuracy", "loss"], rows)
