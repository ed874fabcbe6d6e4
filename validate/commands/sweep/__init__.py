"""anchorflow sweep: many runs over axes, on any engine, with one table as the result."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from sim.config.run import Kernels
from theory import InputError
from validate.commands.engines import EngineOptions
from validate.commands.options import Positional
from validate.commands.parsing import Command

if TYPE_CHECKING:
    from sim.training.execution import Execution
    from validate.sweeps import Plan, Sweep


class Options(EngineOptions):
    """Train every run of a sweep, and write one table of them all.

    SWEEP.toml is a study's file: a configuration, and under [axes] lists of values. A run's folder is named
    by the hash of its configuration: what is done is skipped, what was begun continues, and several processes
    may work on one folder. The table has a row for each run, evaluation, data set and statistic.

    --search trains only some settings: Optuna looks for the one that maximises a measure, within a budget of
    steps, and stops early what falls behind. What it finds is exploratory.

    anchorflow sweep show draws the table over two axes; see its --help.
    """

    file: Annotated[str, Positional("SWEEP.toml", is_file=True)]
    """The sweep, or the name of a study."""
    out: Path = Path("runs/sweep")
    """The folder of the run folders and of table.csv."""
    dry_run: bool = False
    """Say what would be done, and how long it would take here; train nothing."""
    device: str = "cpu"
    """Where to train: cpu, or cuda, where a worker takes all members that may train together."""
    kernels: Kernels = "auto"
    """auto compiles for long runs where it can; compiled does for all; torch takes its own kernels."""
    search: bool = False
    """Look for the setting with the largest measure, instead of training every run; needs Optuna."""
    maximise: str | None = None
    """With --search: the measure, as bias, highest_test_accuracy or reasoning_lead."""
    budget_steps: int | None = None
    """With --search: how many steps all its trials may take together."""
    parquet: bool = False
    """Write table.parquet as well, which needs pyarrow."""


COMMAND = Command("sweep", Options, "anchorflow sweep my-sweep.toml --out runs/my-sweep")


def run(arguments: Sequence[str]) -> int:
    """Train, write the table, and say where the runs stand; or show it, if "show" is the first argument."""
    if arguments and arguments[0] == "show":
        from validate.commands.sweep.show import run as show_map

        return show_map(arguments[1:])
    options = COMMAND.parse(arguments)
    check_search(options)
    from sim.training.execution import Execution
    from validate.sweeps import load_sweep, plan_of, run_sweep

    execution = Execution(device=options.device, kernels=options.kernels, **options.execution())
    sweep = load_sweep(options.file)
    if options.search:
        return search_settings(sweep, execution, options)
    if not options.dry_run:
        check_tables(options)
        try:
            run_sweep(sweep, options.out, execution)
        finally:
            write(plan_of(sweep, options.out), options)
    report(plan_of(sweep, options.out), execution, options)
    return 0


def search_settings(sweep: Sweep, execution: Execution, options: Options) -> int:
    """Search, write the table of the complete runs, and print what was tried."""
    from validate.commands.sweep.search import report as report_search
    from validate.sweeps import plan_of, search_sweep

    check_tables(options)
    arguments = (sweep, options.out, options.maximise or "", options.budget_steps or 0, execution)
    try:
        search = search_sweep(*arguments)
    finally:
        write(plan_of(sweep, options.out), options)
    report_search(search, as_json=options.as_json)
    return 0


def check_search(options: Options) -> None:
    """Refuse options of a search without one, and a search without them.

    Raises
    ------
    InputError
        If they do not fit.
    """
    for name, what in (("maximise", "MEASURE"), ("budget_steps", "STEPS")):
        value = getattr(options, name)
        if options.search and value is None:
            remedy = f"add --{name.replace('_', '-')} {what}"
            raise InputError("search", True, f"needs {name}", remedy)
        if not options.search and value is not None:
            raise InputError(name, value, "is for a search", "add --search")
    if options.search and options.dry_run:
        raise InputError("dry_run", True, "says what a whole sweep costs", "leave out --search or --dry-run")


def write(plan: Plan, options: Options) -> None:
    """Write the table of the runs that are complete, if there is one."""
    from validate.sweeps.table import records_of, write_table

    if "complete" in plan.states.values():
        records = records_of(plan)
        for file in _tables(options):
            write_table(records, file)


def check_tables(options: Options) -> None:
    """Refuse, before any training, to replace a file that is not a sweep's table.

    Raises
    ------
    InputError
        If there is one where the table is to be written.
    """
    from validate.sweeps.table import table_file

    for file in _tables(options):
        table_file(file).check()


def _tables(options: Options) -> list[Path]:
    return [options.out / f"table.{suffix}" for suffix in ("csv", *["parquet"] * options.parquet)]


def report(plan: Plan, execution: Execution, options: Options) -> None:
    """Print where the runs stand, and in a dry run what the others will cost."""
    from validate.cost import cost_text
    from validate.terminal.tables import print_json, print_table

    cost = plan.cost(execution) if options.dry_run and plan.left else None
    if options.as_json:
        runs = [_line(plan, name) for name in plan.states]
        seconds = None if cost is None else cost.seconds
        print_json({"name": plan.sweep.name, "axes": plan.sweep.axes, "runs": runs} | _left(plan, seconds))
        return
    rows = [[axis, str(len(values)), _short(values)] for axis, values in plan.sweep.values.items()]
    print_table(plan.sweep.name, ["axis", "values", "which"], rows)
    counts = [list(plan.states.values()).count(state) for state in ("complete", "diverged")]
    print(f"{plan.summary}; complete: {counts[0]}, diverged: {counts[1]}")
    if cost is not None:
        print(cost_text(cost))
    if (options.out / "table.csv").exists():
        print(f"table: {options.out / 'table.csv'}")


def _left(plan: Plan, seconds: float | None) -> dict[str, Any]:
    return {"runs_left": len(plan.left), "steps_left": plan.n_steps, "seconds_left": seconds}


def _line(plan: Plan, name: str) -> dict[str, Any]:
    own = {"run": name, "path": str(plan.paths[name]), "state": plan.states[name]}
    return own | plan.sweep.settings[name]


def _short(values: Sequence[Any]) -> str:
    shown = ", ".join(f"{value:g}" if isinstance(value, float) else str(value) for value in values[:8])
    return shown + ", ..." * (len(values) > 8)
