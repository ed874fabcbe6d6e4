"""Training with an estimate of its cost and its progress: given runs, or those that studies lack."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import sim
from sim.config.run import MemberConfig
from sim.errors import NOT_BEGUN, UnfinishedRunsError
from sim.runs.folder import is_run_folder
from sim.training.execution import Execution, process_count
from theory.edge.checked import checked
from theory.edge.reading import PathLike, as_path
from validate.observe import RUNS
from validate.studies.keeping import run_state
from validate.studies.study import Study, StudyMember, members_of
from validate.terminal.progress import duration, training_progress
from validate.terminal.streams import is_live, say


def train_with_progress(
    planned: Mapping[Path, MemberConfig], execution: Execution, begin: Callable[[], None] | None = None
) -> None:
    """Train runs into their folders: say what it will cost, then show progress.

    ``begin`` is called once every check has passed. An exception that stops the work before any run has a
    folder carries the note ``NOT_BEGUN``.
    """
    members, folders = list(planned.values()), list(planned)
    has_begun = not execution.overwrite  # Until then the runs to be replaced are untouched.
    try:
        if is_live(sys.stderr):
            say("loading torch, measuring speed ...")
        from sim.training.cost import cost_of_runs
        from sim.training.launch import check_machine, epochs_left, pending_runs, train_members

        # Both are checked here too, so that a device or folder is refused before the slow estimate.
        check_machine(execution)
        runs = [
            (member, epochs_left(member, path) if execution.resume else member.training.epochs)
            for member, path in pending_runs(members, folders, execution)
        ]
        total = sum(epochs for _, epochs in runs)
        if runs:
            at_most = "at most " * any(member.training.patience for member, _ in runs)
            # The speed of other machines cannot be measured here.
            where = f"engine: {execution.engine}, workers: {execution.workers}"
            cost = where if execution.is_remote else cost_text(cost_of_runs(runs, execution))
            say(f"runs: {len(runs)}, epochs in all: {at_most}{total}, {cost}")
        with training_progress(total) as report:
            if begin is not None:
                begin()
            has_begun = True
            train_members(members, folders, execution, report=report)
    except (KeyboardInterrupt, UnfinishedRunsError) as stop:
        if not has_begun or not any(map(is_run_folder, planned)):
            stop.add_note(NOT_BEGUN)
        raise


@checked
def run_study(study: Study | Sequence[Study], root: PathLike = RUNS, **options: Any) -> list[StudyMember]:
    """Train a study's missing runs, all variants at once, after saying how long that will take.

    Unfinished runs are continued, or refused with ``resume=False``. Complete runs stay as they are, and so do
    those that diverged: the same run would diverge again.

    Parameters
    ----------
    study : Study or sequence of Study
        What to train; several studies share the workers.
    root : Path, optional
        The folder of all studies' run folders.
    **options
        The fields of an ``Execution`` as keywords. ``workers`` is one for each core if it is 0 or
        not given; more than one needs a script with an ``if __name__ == "__main__"`` guard.

    Returns
    -------
    list of StudyMember
        The runs that diverged.

    Raises
    ------
    InputError
        If a run folder holds something else, or must not be continued.
    KeyboardInterrupt
        After Ctrl-C, once every run has written a checkpoint; call again to continue.
    """
    own = {"workers": process_count(options.get("workers", 0))}
    execution, root = Execution(**({"resume": True} | options | own)), as_path("root", root)
    studies = [study] if isinstance(study, Study) else study
    members = [member for each in studies for member in members_of(each, root)]
    planned = {m.path: m.config for m in members if run_state(m.path, m.config) in ("missing", "unfinished")}
    if planned:
        train_with_progress(planned, execution)
    return [m for m in members if run_state(m.path, m.config) == "diverged"]


def cost_text(cost: sim.Cost) -> str:
    """Return the sentence that announces a cost before the work."""
    time, memory = duration(cost.seconds), f"{cost.memory_mib:.0f} MiB"
    return f"processes: {cost.processes}; about {time} if no other work shares the cores, {memory} a process"
