"""anchorflow sweep: train many settings, here or on a cluster, into one table."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

from sim.config.run import Kernels
from theory import InputError
from theory.edge.errors import unknown_name
from theory.edge.reading import is_folder
from validate.commands.options import CommandOptions, EngineOptions, Positional
from validate.terminal.output import print_json, print_table, say

if TYPE_CHECKING:
    from validate.pivot import Measure

ACTIONS = {"show": __name__}
MAP = "map.png"
"""A sweep's picture over two axes, in its folder."""


class Options(EngineOptions):
    """Train every run of a sweep, and write one table of them all.

    SWEEP.toml is a study's file: a configuration, and under [axes] lists of values. A run's folder is named
    by the hash of its configuration: complete runs are skipped, begun ones continue, and several processes
    may work on one folder. The table has a row for each run, evaluation, data set and statistic.

    anchorflow sweep show draws the table over two axes; see its --help.

    example: anchorflow sweep my-sweep.toml --out runs/my-sweep
    """

    file: Annotated[str, Positional("SWEEP.toml")]
    """The sweep, or the name of a study."""
    out: Path = Path("runs/sweep")
    """The folder for run folders and table.csv."""
    dry_run: bool = False
    """Say what would be done, and how long it would take here; train nothing."""
    device: str = "cpu"
    """Where to train: cpu, or cuda, where a worker trains all runs that can share a trainer together."""
    kernels: Kernels = "auto"
    """PyTorch's kernels, or compiled for the model, which needs a C++ compiler and pays off in long runs."""
    parquet: bool = False
    """Also write table.parquet (needs pyarrow)."""


def run(options: Options) -> int:
    """Train, write the table, say where the runs stand, and draw the map unless JSON is asked for."""
    from sim.data.text import require
    from sim.runs.outputs import OutputFolder
    from sim.training.cost import cost_of_runs
    from validate import sweeps
    from validate.terminal.progress import cost_text

    execution = options.execution()
    sweep, tables = sweeps.load_sweep(options.file), ["table.csv", *["table.parquet"] * options.parquet]
    axes = [axis for axis, values in sweep.axes.items() if axis != "seed" and len(values) > 1]
    folder = OutputFolder(options.out)
    if options.parquet:
        require("pyarrow.parquet", "table")  # Else its absence would be noticed only after the training.
    if not options.dry_run:
        folder.check([*tables, *[MAP] * (len(axes) > 1)])
        try:
            sweeps.run_sweep(sweep, options.out, execution)
        finally:
            sweeps.write_sweep_tables(sweeps.plan_of(sweep, options.out), options.out, tables)
    plan = sweeps.plan_of(sweep, options.out)
    cost = cost_of_runs(plan.remaining, execution) if options.dry_run and plan.left else None
    if options.as_json:
        seconds = None if cost is None else cost.seconds
        left = {"runs_left": len(plan.left), "steps_left": plan.n_steps, "seconds_left": seconds}
        runs = [
            {"run": name, "path": str(plan.paths[name]), "state": state} | sweep.settings[name]
            for name, state in plan.states.items()
        ]
        print_json({"name": sweep.name, "axes": list(sweep.axes), "runs": runs} | left)
        return 0
    rows = []
    for axis, values in sweep.axes.items():
        texts = [f"{value:g}" if isinstance(value, float) else str(value) for value in values[:8]]
        rows.append([axis, str(len(values)), ", ".join(texts) + ", ..." * (len(values) > 8)])
    print_table(sweep.name, ["axis", "values", "which"], rows)
    complete = [plan.paths[name] for name, state in plan.states.items() if state == "complete"]
    diverged = list(plan.states.values()).count("diverged")
    print(f"{plan.summary}; complete: {len(complete)}, diverged: {diverged}")
    if cost is not None:
        print(cost_text(cost))
    if (options.out / "table.csv").exists():
        print(f"table: {options.out / 'table.csv'}")
    if complete and len(axes) > 1 and not options.dry_run:
        print()
        try:  # Only of this sweep's runs, like its table: the folder may hold others.
            shown = Show(runs=tuple(complete), x=axes[0], y=axes[1], out=options.out / MAP)
            show(shown, partial(folder.write, MAP))
        except InputError as error:  # Some runs may lack the data set that it shows.
            say(f"no map: {error}")
    return 0


class Show(CommandOptions):
    """Print a statistic or measure over any two axes of a sweep; draw it with --out.

    A cell is the mean over all runs that agree in both, with its 95 % interval over seeds and their number n:
    the runs of a seed are averaged first. For the difference in accuracy between sums and memory, give
    --data-set rsn_train --minus mem.

    --measure takes bias, highest_test_accuracy or matched_test_accuracy. Where a measure has no value,
    such as the bias of runs that learned nothing, the cell says so and is hatched.

    example: anchorflow sweep show runs/my-sweep --x init_rate --y norm
    """

    runs: Annotated[tuple[Path, ...], Positional("RUN")]
    """The folder of a sweep, or run folders."""
    x: str = "init_rate"
    """An axis, named as its column in the table."""
    y: str = "learning_rate"
    """Another axis."""
    measure: str | None = None
    """A measure of whole runs, instead of a statistic."""
    statistic: Literal["accuracy", "loss"] = "accuracy"
    """The statistic to show."""
    data_set: str = ""
    """The data set of the statistic; by default rsn_test, or else a run's first."""
    minus: str = ""
    """Subtract the statistic of another data set."""
    epoch: float | None = None
    """Epoch of the statistic; by default each run's last evaluation."""
    out: Path | None = None
    """Also draw it into this file; the suffix png, pdf or svg sets the format."""
    overwrite: bool = False
    """Replace the picture if it exists."""


def show(options: Show, write: Callable[[bytes], object] | None = None) -> int:
    """Print the numbers, and draw them; ``write``, if given, writes the picture in place of ``out``."""
    from validate.studies.axes import ALIASES

    if ALIASES.get(options.x, options.x) == ALIASES.get(options.y, options.y):
        raise InputError("y", options.y, "is also x", "choose another axis (--x, --y)")
    options.refuse_without("out", "overwrite")
    from sim.runs.outputs import OutputFile
    from sim.runs.run import Run, find_runs, is_complete
    from validate.pivot import pivot_of

    if options.out is not None and write is None:
        output = OutputFile(options.out, overwrite=options.overwrite)
        output.check()
        write = output.write
    paths = find_runs(options.runs)
    # A path that is not a folder is refused: a mistyped name is not an unfinished run.
    complete = [Run.open(path) for path in paths if is_complete(path) or not is_folder(path)]
    if not complete:
        where = ", ".join(map(str, options.runs))
        remedy = "name a sweep's folder, or finish it: anchorflow sweep SWEEP.toml --out FOLDER"
        raise InputError("runs", where, "no run there is complete", remedy)
    if len(complete) < len(paths):
        say(f"left out: {len(paths) - len(complete)} of {len(paths)} runs, which are not complete")
    runs = [(run.config, run.metrics) for run in complete]
    measure = _measure(options, list(complete[0].metrics[-1]["accuracy"]))
    shown = pivot_of(runs, measure, options.x, options.y)
    if options.out is not None and write is not None:
        from validate.figures.style import new_axes, rendered

        figure, ax = new_axes()
        panel = shown.panel.plot(ax)
        figure.colorbar(panel.image_, ax=ax).ax.tick_params(labelsize="x-small")
        write(rendered(figure, options.out.suffix.removeprefix(".")))
    if options.as_json:
        print_json(shown.as_dict() | {"figure": None if options.out is None else str(options.out)})
        return 0
    rows = [[str(y), *row] for y, row in zip(shown.y[1], shown.texts, strict=True)]
    header = [f"{options.y} \\ {options.x}", *map(str, shown.x[1])]
    print_table(shown.title, header, rows, notes=shown.notes)
    if options.out is not None:
        print(f"figure: {options.out}")
    return 0


def _measure(options: Show, data_sets: Sequence[str]) -> Measure:
    from validate.pivot import MEASURES, statistic

    if options.measure is None:
        data_set = options.data_set or ("rsn_test" if "rsn_test" in data_sets else data_sets[0])
        return statistic(options.statistic, data_set, options.minus, options.epoch)
    for name in options.model_fields_set & {"statistic", "data_set", "minus", "epoch"}:
        raise InputError(name, getattr(options, name), "chooses a statistic", "leave out this or --measure")
    if options.measure not in MEASURES:
        raise unknown_name("measure", options.measure, MEASURES)
    return MEASURES[options.measure]
