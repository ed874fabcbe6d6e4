"""Training from the command line: say what it will cost, show how far it is."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
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
    from sim.training.cost import Cost


def planned_in(folder: Path, config: RunConfig) -> dict[Path, MemberConfig]:
    """Return the runs of a configuration by their folders inside one."""
    return {folder / member.name: member for member in config.members()}


def train_with_progress(
    planned: Mapping[Path, MemberConfig], execution: Execution, begin: Callable[[], None] | None = None
) -> None:
    """Train runs into their folders, after saying what it will cost, and show how far they are.

    ``begin`` is called once nothing more is refused. What stops the work before any run has a folder carries
    the note ``NOT_BEGUN``.
    """
    members, folders = list(planned.values()), list(planned)
    try:
        if is_live(sys.stderr):
            say("loading torch, measuring speed ...")
        from sim.training.cost import cost_of_runs
        from sim.training.launch import check_machine, epochs_left, pending_runs, train_members

        # Both here too, so that a device or folder is refused before the estimate takes its time.
        check_machine(execution)
        runs = [
            (member, epochs_left(member, path) if execution.resume else member.training.epochs)
            for member, path in pending_runs(members, folders, execution)
        ]
        total = sum(epochs for _, epochs in runs)
        if runs:
            at_most = "at most " * any(member.training.patience for member, _ in runs)
            # The rates of other machines cannot be measured here.
            where = f"engine: {execution.engine}, workers: {execution.workers}"
            cost = where if execution.is_remote else cost_text(cost_of_runs(runs, execution))
            say(f"runs: {len(runs)}, epochs in all: {at_most}{total}, {cost}")
        with training_progress(total) as report:
            if begin is not None:
                begin()
            train_members(members, folders, execution, report=report)
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
