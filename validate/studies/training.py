"""Train what a study lacks."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from sim.training.execution import Execution
from theory.checked import checked
from theory.reading import PathLike, as_path
from validate.observe import RUNS
from validate.studies.state import run_state
from validate.studies.study import Study, StudyMember, members_of
from validate.training import process_count, train_with_progress


@checked
def run_study(study: Study | Sequence[Study], root: PathLike = RUNS, **options: Any) -> list[StudyMember]:
    """Train the runs that a study lacks, all variants at once, after saying what it will cost.

    Unfinished runs are continued. Complete runs stay as they are, and so do those that diverged: the same run
    would diverge again.

    Parameters
    ----------
    study : Study or sequence of Study
        What to train; several studies share the workers.
    root : Path, optional
        The folder of all studies' run folders.
    **options
        The fields of an ``Execution`` as keywords. ``workers`` is one for each core unless it is given or if
        it is 0; more than one need a script with an ``if __name__ == "__main__"`` guard.

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
    own = {"workers": process_count(options.get("workers", 0)), "resume": True}
    execution, root = Execution(**(options | own)), as_path("root", root)
    studies = [study] if isinstance(study, Study) else study
    members = [member for each in studies for member in members_of(each, root)]
    planned = {m.path: m.config for m in members if run_state(m.path, m.config) in ("missing", "unfinished")}
    if planned:
        train_with_progress(planned, execution)
    return [m for m in members if run_state(m.path, m.config) == "diverged"]
