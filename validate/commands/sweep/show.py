"""anchorflow sweep show: a statistic or a measure of a sweep over two of its axes."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

from theory import InputError
from theory.errors import unknown_name
from validate.commands.options import CommandOptions, Positional

if TYPE_CHECKING:
    from validate.sweeps import Measure


class Options(CommandOptions):
    """Print a statistic or a measure over any two axes of a sweep, and draw it with --out.

    A cell is the mean over all runs that agree in both, with its 95 % interval over seeds and their number n:
    the runs of a seed are averaged first. The difference in accuracy of sums and memory is
    --data-set rsn_train --minus mem.

    --measure takes bias, highest_test_accuracy or matched_test_accuracy. Where a measure has no value,
    such as the bias of runs that learned nothing, the cell says so and is hatched.

    example: anchorflow sweep show runs/my-sweep --x init_rate --y norm
    """

    runs: Annotated[tuple[Path, ...], Positional("RUN")]
    """The folder of a sweep, or run folders."""
    x: str = "init_rate"
    """An axis, by its column in the table."""
    y: str = "learning_rate"
    """Another axis."""
    measure: str | None = None
    """A measure of whole runs, instead of a statistic."""
    statistic: Literal["accuracy", "loss"] = "accuracy"
    """The statistic to show."""
    data_set: str = ""
    """The data set of the statistic; by default rsn_test, or a run's first without it."""
    minus: str = ""
    """Subtract the statistic of another data set."""
    epoch: float | None = None
    """Epoch of the statistic; by default that of each run's last evaluation."""
    out: Path | None = None
    """Also draw it into this file; its suffix, png, pdf or svg, is the format."""
    overwrite: bool = False
    """Replace the picture if it is there."""


def run(options: Options) -> int:
    """Print the numbers, and draw them."""
    if options.x == options.y:
        raise InputError("y", options.y, "is x as well", "choose another axis (--x, --y)")
    from sim.runs.run import Run, find_runs, is_complete
    from validate.sweeps import pivot_of
    from validate.sweeps.pivot import other_axes
    from validate.terminal.tables import print_json, print_table, say

    paths = find_runs(options.runs)
    complete = [Run.open(path) for path in paths if is_complete(path)]
    if not complete:
        where = ", ".join(map(str, options.runs))
        remedy = "name a sweep's folder, or finish it: anchorflow sweep SWEEP.toml"
        raise InputError("runs", where, "no run there is complete", remedy)
    if len(complete) < len(paths):
        say(f"left out: {len(paths) - len(complete)} of {len(paths)} runs, which are not complete")
    runs = [(run.config, run.metrics) for run in complete]
    measure = _measure(options, list(complete[0].metrics[-1]["accuracy"]))
    shown, others = pivot_of(runs, measure, options.x, options.y), other_axes(runs, options.x, options.y)
    if options.out is not None:
        from validate.figures.style import new_axes, save

        figure, (ax,) = new_axes()
        panel = shown.panel
        panel.plot(ax)
        figure.colorbar(panel.image_, ax=ax).ax.tick_params(labelsize="x-small")
        save(figure, options.out, overwrite=options.overwrite)
    if options.as_json:
        print_json(shown.as_dict() | {"figure": None if options.out is None else str(options.out)})
        return 0
    rows = [[str(y), *row] for y, row in zip(shown.y[1], shown.texts, strict=True)]
    notes = [*shown.notes, *[f"each cell is a mean over all values of {', '.join(others)}"] * bool(others)]
    print_table(shown.title, [f"{options.y} \\ {options.x}", *map(str, shown.x[1])], rows, notes=notes)
    if options.out is not None:
        print(f"figure: {options.out}")
    return 0


def _measure(options: Options, data_sets: Sequence[str]) -> Measure:
    """Return the measure that is asked for, or the statistic of one of the data sets."""
    from validate.sweeps import MEASURES, statistic

    if options.measure is None:
        data_set = options.data_set or ("rsn_test" if "rsn_test" in data_sets else data_sets[0])
        return statistic(options.statistic, data_set, options.minus, options.epoch)
    for name in options.model_fields_set & {"statistic", "data_set", "minus", "epoch"}:
        raise InputError(
            name, getattr(options, name), "chooses among statistics", "leave out it or --measure"
        )
    if options.measure not in MEASURES:
        raise unknown_name("measure", options.measure, MEASURES)
    return MEASURES[options.measure]
