"""Training from the command line: say what it will cost, show how far it is."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from sim.config.run import MemberConfig, RunConfig
from sim.errors import NOT_BEGUN, UnfinishedRunsError
from sim.runs.folder import is_run_folder
from sim.training.execution import Execution, default_workers
from theory.checked import Between, checked
from validate.progress import duration, training_progress
from validate.terminal.streams import is_live, say

if TYPE_CHECKING:
    from sim import Run
    from sim.training.cost import Cost
    from sim.training.session import Report


def train_with_progress(config: RunConfig, out: Path, execution: Execution) -> list[Run]:
    """Train a configuration with an estimate before and progress during the work."""
    planned = {out / member.name: member for member in config.members()}
    with announced(planned, execution) as report:
        from sim.runs.run import Run
        from sim.training.launch import train_members

        train_members(list(planned.values()), list(planned), execution, report=report)
        return [Run.open(path) for path in planned]


@contextmanager
def announced(planned: Mapping[Path, MemberConfig], execution: Execution) -> Iterator[Report]:
    """Say at once what is going on, then the cost of these runs, and show progress inside the block.

    What stops the work before any run has a folder carries the note ``NOT_BEGUN``.
    """
    try:
        if is_live(sys.stderr):
            say("loading torch, measuring speed ...")
        from sim.training.cost import cost_of_runs
        from sim.training.launch import check_machine, epochs_left, pending_runs

        # Both here too, so that a device or folder is refused before the estimate takes its time.
        check_machine(execution)
        runs = [
            (member, epochs_left(member, path) if execution.resume else member.training.epochs)
            for member, path in pending_runs(list(planned.values()), list(planned), execution)
        ]
        total = sum(epochs for _, epochs in runs)
        if runs:
            at_most = "at most " * any(member.training.patience for member, _ in runs)
            # The rates of other machines cannot be measured here.
            where = f"engine: {execution.engine}, workers: {execution.workers}"
            cost = where if execution.is_remote else cost_text(cost_of_runs(runs, execution))
            say(f"runs: {len(runs)}, epochs in all: {at_most}{total}, {cost}")
        with training_progress(total) as report:
            yield report
    except (KeyboardInterrupt, UnfinishedRunsError) as stop:
        if not any(map(is_run_folder, planned)):
            stop.add_note(NOT_BEGUN)
        raise


@checked
def process_count(workers: Annotated[int, Between(0)]) -> int:
    """Return how many processes to use: 0 asks for one for each core."""
    return workers or default_workers()


def cost_text(cost: Cost) -> str:
    """Return what is said of a cost before the work."""
    time, memory = duration(cost.seconds), f"{cost.memory_mib:.0f} MiB"
    return f"processes: {cost.processes}; about {time} if no other work shares the cores, {memory} a process"
