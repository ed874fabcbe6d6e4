"""anchorflow sweep: many runs over axes, here or on a cluster, and one table."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from sim.config.run import Kernels
from validate.commands.engines import EngineOptions
from validate.commands.options import Positional

ACTIONS = ("show",)
MAP = "map.png"
"""In the folder of a sweep: its picture over two axes."""


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
    """The folder of the run folders and of table.csv."""
    dry_run: bool = False
    """Say what would be done, and how long it would take here; train nothing."""
    device: str = "cpu"
    """Where to train: cpu, or cuda, where a worker takes all members that may train together."""
    kernels: Kernels = "auto"
    """PyTorch's kernels, or compiled for the model, which needs a C++ compiler and pays off in long runs."""
    parquet: bool = False
    """Write table.parquet as well, which needs pyarrow."""


def run(options: Options) -> int:
    """Train, write the table and the map, and say where the runs stand."""
    from sim.runs.outputs import OutputFile, OutputFolder
    from validate.sweeps import load_sweep, plan_of, run_sweep, write_sweep_tables
    from validate.terminal.tables import print_json, print_table
    from validate.training import cost_text

    execution = options.execution()
    sweep, tables = load_sweep(options.file), ["table.csv", *["table.parquet"] * options.parquet]
    if not options.dry_run:
        OutputFolder(options.out).check(tables)
        OutputFile(options.out / MAP, overwrite=True).check()
        try:
            run_sweep(sweep, options.out, execution)
        finally:
            write_sweep_tables(plan_of(sweep, options.out), options.out, tables)
    plan = plan_of(sweep, options.out)
    cost = plan.cost(execution) if options.dry_run and plan.left else None
    if options.as_json:
        seconds = None if cost is None else cost.seconds
        left = {"runs_left": len(plan.left), "steps_left": plan.n_steps, "seconds_left": seconds}
        runs = [
            {"run": name, "path": str(plan.paths[name]), "state": state} | sweep.settings[name]
            for name, state in plan.states.items()
        ]
        print_json({"name": sweep.name, "axes": sweep.axes, "runs": runs} | left)
        return 0
    rows = []
    for axis, values in sweep.values.items():
        texts = [f"{value:g}" if isinstance(value, float) else str(value) for value in values[:8]]
        rows.append([axis, str(len(values)), ", ".join(texts) + ", ..." * (len(values) > 8)])
    print_table(sweep.name, ["axis", "values", "which"], rows)
    complete, diverged = (list(plan.states.values()).count(state) for state in ("complete", "diverged"))
    print(f"{plan.summary}; complete: {complete}, diverged: {diverged}")
    if cost is not None:
        print(cost_text(cost))
    if (options.out / "table.csv").exists():
        print(f"table: {options.out / 'table.csv'}")
    axes = [axis for axis, values in sweep.values.items() if axis != "seed" and len(values) > 1]
    if complete and len(axes) > 1 and not options.dry_run:
        from validate.commands.sweep import show

        print()
        x, y, out = axes[0], axes[1], options.out / MAP
        show.run(show.Options(runs=(options.out,), x=x, y=y, out=out, overwrite=True))
    return 0
