"""anchorflow sweep show: a statistic of a sweep over two of its axes."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

from validate.commands.options import CommandOptions, Positional
from validate.commands.parsing import Command

if TYPE_CHECKING:
    from validate.figures.panels.heat_map import HeatMap


class Options(CommandOptions):
    """Draw a statistic over any two axes of a sweep, a mean over all runs that agree in both.

    The bias towards reasoning is --data-set rsn_train --minus mem.
    """

    runs: Annotated[tuple[Path, ...], Positional("RUN")]
    """The folder of a sweep, or run folders."""
    x: str = "init_rate"
    """An axis, by its column in the table."""
    y: str = "learning_rate"
    """Another one."""
    statistic: Literal["accuracy", "loss"] = "accuracy"
    """What to show."""
    data_set: str = "rsn_test"
    """Of which data set."""
    minus: str = ""
    """Subtract that of another data set."""
    epoch: float | None = None
    """When; by default at each run's last evaluation."""
    out: Path = Path("sweep.png")
    """The figure; its suffix, png, pdf or svg, is its format."""


COMMAND = Command("sweep show", Options, "anchorflow sweep show runs/my-sweep --x init_rate --y norm")


def run(arguments: Sequence[str]) -> int:
    """Draw, and print the numbers."""
    options = COMMAND.parse(arguments)
    from sim.runs.files import writing
    from sim.runs.long_table import long_records
    from sim.runs.run import Run, find_runs, is_complete
    from validate.figures.style import new_axes, save
    from validate.sweeps.maps import Shown, map_of

    runs = [Run.open(path) for path in find_runs(options.runs) if is_complete(path)]
    fields = {name: getattr(options, name) for name in Shown.__dataclass_fields__}
    records = long_records([(str(run.path), run.config, run.metrics) for run in runs])
    figure, (ax,) = new_axes()
    panel = map_of(records, Shown(**fields)).plot(ax)
    figure.colorbar(panel.image_, ax=ax)
    with writing(options.out):
        save(figure, options.out)
    _print(panel, options)
    return 0


def _print(panel: HeatMap, options: Options) -> None:
    from validate.terminal.tables import print_json, print_table

    if options.as_json:
        values = [[None if cell != cell else cell for cell in row] for row in panel.values.tolist()]
        print_json(
            {"x": list(panel.x[1]), "y": list(panel.y[1]), "values": values, "figure": str(options.out)}
        )
        return
    rows = [
        [str(y), *("–" if cell != cell else f"{cell:.3f}" for cell in row)]
        for y, row in zip(panel.y[1], panel.values.tolist(), strict=True)
    ]
    corner = f"{panel.y[0]} \\ {panel.x[0]}"
    print_table(panel.title, [corner, *map(str, panel.x[1])], rows)
    print(f"figure: {options.out}")
