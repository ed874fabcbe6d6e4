"""Train what a study lacks, and keep what it has shown."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from fnmatch import fnmatchcase
from pathlib import Path

from sim.config.run import make_member_config
from sim.runs.lock import only_writer
from sim.runs.run import Run
from sim.training.launch import epochs_left, train_members
from theory import InputError
from theory.checked import checked
from theory.paths import PathLike, as_path
from validate.observe import KEPT, RUNS, Observations, observe, write_kept
from validate.observe.store import CHECKSUMS, drop_kept, kept_file, kept_files, read_header
from validate.progress import track, training_progress
from validate.studies.state import cost_of, run_state
from validate.studies.study import Study, StudyMember, members_of
from validate.terminal.tables import say
from validate.training import cost_text, process_count


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


def keep(study: Study, root: PathLike = RUNS, folder: PathLike = KEPT, *, drop: bool = False) -> list[Path]:
    """Observe a study's complete runs and keep what they show, with checksums.

    Parameters
    ----------
    study : Study
    root : Path, optional
        The folder of all studies' run folders.
    folder : Path, optional
        The folder with the kept files.
    drop : bool, optional
        Delete what was kept under the study's name of runs that it does not have.

    Returns
    -------
    list of Path
        The files written.

    Raises
    ------
    InputError
        If there is such a file and ``drop`` is not asked for, a file is not as it was kept, or another
        process is writing to the folder.
    """
    root, folder = as_path("root", root), as_path("folder", folder)
    check_kept(study, folder, drop=drop)
    complete = [member for member in members_of(study, root) if run_state(member) == "complete"]
    others = _others(study, folder)
    if not complete and not others:
        return []
    with only_writer(folder / CHECKSUMS):  # All studies share the list.
        for file in others:
            drop_kept(file)
        return [_kept(study, m, folder) for m in track(complete, f"observing runs of {study.name}")]


def _kept(study: Study, member: StudyMember, folder: Path) -> Path:
    """Observe a run and keep what it shows; return the file."""
    file = kept_file(study.name, member.variant, member.config, folder)
    write_kept(_chosen(observe(Run.open(member.path)), study.keep), file)
    return file


def check_kept(study: Study, folder: Path = KEPT, *, drop: bool = False) -> None:
    """Refuse, before any work, to keep a study where ``keep`` would refuse it."""
    others = _others(study, folder)
    if others and not drop:
        problem = f"holds {others[0].name}, kept of a run that this study does not have"
        remedy = "choose another folder (--kept), or ask to delete such files (--drop)"
        raise InputError("kept", str(folder / study.name), problem, remedy)


def _others(study: Study, folder: Path) -> list[Path]:
    """Return the files that were kept under a study's name, but of runs that it does not have."""
    own = {kept_file(study.name, m.variant, m.config, folder): m.config for m in members_of(study)}
    files = sorted(kept_files(study.name, folder))
    return [f for f in files if f not in own or make_member_config(read_header(f).config) != own[f]]


def _chosen(observations: Observations, patterns: Sequence[str]) -> Observations:
    """Return observations with those arrays alone whose names fit a pattern."""
    arrays = {
        name: array
        for name, array in observations.arrays.items()
        if any(fnmatchcase(name, pattern) for pattern in patterns)
    }
    return dataclasses.replace(observations, arrays=arrays)
