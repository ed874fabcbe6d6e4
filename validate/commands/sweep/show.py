"""anchorflow sweep show: a statistic or a measure of a sweep over two of its axes."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

from theory import InputError
from validate.commands.options import CommandOptions, Positional
from validate.commands.parsing import Command

if TYPE_CHECKING:
    from sim.runs.run import Run
    from validate.figures.panels.heat_map import HeatMap
    from validate.sweeps.measure_maps import MeasureMap
    from validate.sweeps.spread import Spread


class Options(CommandOptions):
    """Print a statistic or a measure over any two axes of a sweep, and draw it with --out.

    A cell is the mean over all runs that agree in both, with its 95 % interval over seeds and their number n:
    the runs of a seed are averaged first. The difference in accuracy of sums and memory is
    --data-set rsn_train --minus mem.

    --measure takes what a search can maximise: bias, highest_test_accuracy, matched_test_accuracy,
    reasoning_lead, held_out_lag or unlike. Where a measure has no value, as the bias of runs that learned
    nothing, the cell says so and is hatched.
    """

    runs: Annotated[tuple[Path, ...], Positional("RUN")]
    """The folder of a sweep, or run folders."""
    x: str = "init_rate"
    """An axis, by its column in the table."""
    y: str = "learning_rate"
    """Another one."""
    measure: str | None = None
    """A measure of whole runs, instead of a statistic."""
    statistic: Literal["accuracy", "loss"] = "accuracy"
    """What to show."""
    data_set: str = "rsn_test"
    """Of which data set."""
    minus: str = ""
    """Subtract that of another data set."""
    epoch: float | None = None
    """When; by default at each run's last evaluation."""
    out: Path | None = None
    """Draw it too; the suffix, png, pdf or svg, is the format."""


COMMAND = Command("sweep show", Options, "anchorflow sweep show runs/my-sweep --x init_rate --y norm")
_OF_STATISTICS = ("statistic", "data_set", "minus", "epoch")


def run(arguments: Sequence[str]) -> int:
    """Print the numbers, and draw them."""
    options = COMMAND.parse(arguments)
    _check(options)
    runs = _complete_runs(options)
    if options.measure is None:
        panel, spreads = _statistic(runs, options)
        said, (texts, notes) = _plain(panel, spreads), _numbers(panel, spreads)
    else:
        found = _measured(runs, options)
        panel, said, texts, notes = found.panel, found.as_dict(), found.full_texts, found.notes
    if options.out is not None:
        _draw(panel, options.out)
    _print(panel, said, texts, [*notes, *_mixed(runs, options)], options)
    return 0


def _check(options: Options) -> None:
    """Refuse one axis for both, a measure's name that is unknown, and options of statistics beside it."""
    if options.x == options.y:
        raise InputError("y", options.y, "is x as well", "choose another axis (--x, --y)")
    if options.measure is None:
        return
    from validate.sweeps.searching.measures import measure_of

    measure_of(options.measure, "measure")
    for name in _OF_STATISTICS:
        if name in options.model_fields_set:
            problem = "chooses among statistics, and a measure is none"
            remedy = f"leave out --{name.replace('_', '-')} or --measure"
            raise InputError(name, getattr(options, name), problem, remedy)


def _complete_runs(options: Options) -> list[Run]:
    """Return the complete runs; of the others say how many there are."""
    from sim.runs.run import Run, find_runs, is_complete
    from validate.terminal.tables import say

    paths = find_runs(options.runs)
    runs = [Run.open(path) for path in paths if is_complete(path)]
    if not runs:
        where = ", ".join(map(str, options.runs))
        remedy = "name a sweep's folder, or finish it: anchorflow sweep SWEEP.toml"
        raise InputError("runs", where, "no run there is complete", remedy)
    if len(runs) < len(paths):
        say(f"left out: {len(paths) - len(runs)} of {len(paths)} runs, which are not complete")
    return runs


def _statistic(runs: Sequence[Run], options: Options) -> tuple[HeatMap, list[list[Spread | None]]]:
    from sim.runs.table import long_records
    from validate.sweeps.maps import Shown, mean_map

    fields = {name: getattr(options, name) for name in Shown.__dataclass_fields__}
    records = long_records([(str(run.path), run.config, run.metrics) for run in runs])
    return mean_map(records, Shown(**fields))


def _measured(runs: Sequence[Run], options: Options) -> MeasureMap:
    from validate.sweeps.measure_maps import measure_map
    from validate.sweeps.searching.measures import measure_of

    measure = measure_of(options.measure or "", "measure")
    return measure_map([(run.config, run.metrics) for run in runs], measure, options.x, options.y)


def _mixed(runs: Sequence[Run], options: Options) -> list[str]:
    """Say over what else the runs of a cell may differ, besides the seed."""
    from sim.runs.table import axes_of, settings_of

    flat = [settings_of(run.config) for run in runs]
    shown = {options.x, options.y, "seed"}
    others = [
        axis
        for axis in axes_of(run.config for run in runs)
        if axis not in shown and len({each.get(axis) for each in flat}) > 1
    ]
    return [f"each cell is a mean over all values of {', '.join(others)}"] * bool(others)


def _draw(panel: HeatMap, out: Path) -> None:
    from validate.figures.style import new_axes, save

    figure, (ax,) = new_axes()
    panel.plot(ax)
    figure.colorbar(panel.image_, ax=ax)
    save(figure, out)


def _plain(panel: HeatMap, spreads: list[list[Spread | None]]) -> dict[str, Any]:
    from sim.runs.files import finite
    from validate.sweeps.spread import as_grids

    values = [[finite(cell) for cell in row] for row in panel.values.tolist()]
    return {"x": list(panel.x[1]), "y": list(panel.y[1]), "values": values} | as_grids(spreads)


def _numbers(panel: HeatMap, spreads: list[list[Spread | None]]) -> tuple[list[list[str]], list[str]]:
    """Return the texts of a statistic's cells, and what they mean."""
    from validate.sweeps.spread import mean_text, notes_of

    rows = zip(panel.values.tolist(), spreads, strict=True)
    texts = [[mean_text(mean, spread) for mean, spread in zip(*row, strict=True)] for row in rows]
    return texts, notes_of(texts)


def _print(
    panel: HeatMap, said: dict[str, Any], texts: list[list[str]], notes: list[str], options: Options
) -> None:
    from validate.terminal.tables import print_json, print_table

    if options.as_json:
        print_json(said | {"figure": None if options.out is None else str(options.out)})
        return
    rows = [[str(y), *row] for y, row in zip(panel.y[1], texts, strict=True)]
    corner = f"{panel.y[0]} \\ {panel.x[0]}"
    print_table(panel.title, [corner, *map(str, panel.x[1])], rows, notes=notes)
    if options.out is not None:
        print(f"figure: {options.out}")
