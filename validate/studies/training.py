"""Train what a study lacks."""

from __future__ import annotations

from collections.abc import Sequence

from sim.training.cost import Cost, cost_of_runs
from sim.training.execution import Execution
from sim.training.launch import epochs_left, train_members
from theory import InputError
from theory.checked import checked
from theory.paths import PathLike, as_path
from validate.cost import cost_text, process_count
from validate.observe import RUNS
from validate.progress import training_progress
from validate.studies.state import run_state
from validate.studies.study import Study, StudyMember, members_of
from validate.terminal.tables import say


@checked
def run_study(
    study: Study | Sequence[Study], root: PathLike = RUNS, workers: int = 0, *, resume: bool = True
) -> list[StudyMember]:
    """Train the runs that a study lacks, all variants in one pool, after saying what it will cost.

    Complete runs stay as they are, and so do those that diverged: the same run would diverge again.

    Parameters
    ----------
    study : Study or sequence of Study
        What to train; several studies share the pool.
    root : Path, optional
        The folder of all studies' run folders.
    workers : int, optional
        Parallel processes; 0 means one per core. More than one needs a script with an
        ``if __name__ == "__main__"`` guard.
    resume : bool, optional
        Continue unfinished runs; otherwise they are refused before any work.

    Returns
    -------
    list of StudyMember
        The runs that diverged.

    Raises
    ------
    InputError
        If a run folder is in the way.
    KeyboardInterrupt
        After Ctrl-C, once every run has written a checkpoint; call again to continue.
    """
    count, root = process_count(workers), as_path("root", root)
    studies = [study] if isinstance(study, Study) else study
    members = [member for each in studies for member in members_of(each, root)]
    left = [m for m in members if run_state(m) in ("missing", "unfinished")]
    for member in left if not resume else []:
        if run_state(member) == "unfinished":
            raise InputError("run", str(member.path), "not finished", "continue it (resume=True)")
    if left:
        _train(left, count)
    return [m for m in members if run_state(m) == "diverged"]


def _train(left: Sequence[StudyMember], count: int) -> None:
    cost = cost_of(left, count)
    say(f"runs: {len(left)}, {cost_text(cost)}")
    configs, paths = [m.config for m in left], [m.path for m in left]
    with training_progress(sum(epochs_left(m.config, m.path) for m in left)) as report:
        train_members(configs, paths, workers=count, resume=True, report=report)


def cost_of(members: Sequence[StudyMember], workers: int) -> Cost:
    """Return what training some runs will cost, from a few steps on throw-away state on this machine."""
    runs = [(m.config, epochs_left(m.config, m.path)) for m in members]
    return cost_of_runs(runs, Execution(workers=workers))
