"""Training from the command line: say what it will cost, show how far it is."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Unpack

from sim.config.run import MemberConfig, RunConfig
from sim.runs.run import Run
from sim.training.cost import Remaining, cost_of_runs
from sim.training.execution import Execution, Options
from sim.training.launch import check_machine, epochs_left, pending_runs, train_members
from sim.training.session import Report
from theory import InputError
from theory.paths import PathLike, as_path
from validate.cost import cost_text, process_count
from validate.progress import training_progress
from validate.terminal.tables import say
from validate.unbegun import noting_no_run


def train_with_progress(config: RunConfig, out: PathLike, **options: Unpack[Options]) -> list[Run]:
    """Train a configuration with an estimate before and progress during the work.

    Parameters are those of ``sim.train``; ``workers = 0``, the default, takes one process for each core.
    """
    members = config.members()
    paths = [as_path("out", out) / member.name for member in members]
    execution = Execution(**(options | {"workers": process_count(options.get("workers", 0))}))
    with announced(members, paths, execution) as report:
        train_members(members, paths, execution, report=report)
    return [Run.open(path) for path in paths]


@contextmanager
def announced(
    members: Sequence[MemberConfig], paths: Sequence[Path], execution: Execution
) -> Iterator[Report]:
    """Say what training these members will cost, and show how far it is inside the block."""
    if execution.resume and execution.overwrite:
        raise InputError("resume, overwrite", True, "both asked for", "ask for one")
    check_machine(execution)
    # Asked here too, so that a folder in the way is refused before the estimate takes its time.
    left = pending_runs(members, paths, execution)
    runs = [
        (member, epochs_left(member, path) if execution.resume else member.training.epochs)
        for member, path in left
    ]
    total = sum(epochs for _, epochs in runs)
    with noting_no_run(paths):
        if runs:
            at_most = "at most " * any(member.training.patience for member, _ in runs)
            say(f"runs: {len(runs)}, epochs in all: {at_most}{total}, {_cost(runs, execution)}")
        with training_progress(total) as report:
            yield report


def _cost(runs: Sequence[Remaining], execution: Execution) -> str:
    """Return what training will cost, if it is done by this machine, whose rates can be measured."""
    if execution.is_remote:
        return f"engine: {execution.engine}, workers: {execution.workers}"
    return cost_text(cost_of_runs(runs, execution))
