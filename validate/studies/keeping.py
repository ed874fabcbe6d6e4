"""Keep what the runs of a study have shown."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from fnmatch import fnmatchcase
from pathlib import Path

from sim.config.run import make_member_config
from sim.runs.lock import only_writer
from sim.runs.run import Run
from theory import InputError
from theory.errors import unknown_name
from theory.paths import PathLike, as_path
from validate.observe import KEPT, RUNS, Observations, observe, write_kept
from validate.observe.store import CHECKSUMS, drop_kept, kept_file, kept_files, read_header
from validate.progress import track
from validate.studies.state import run_state
from validate.studies.study import Study, StudyMember, members_of


def keep(
    study: Study,
    root: PathLike = RUNS,
    folder: PathLike = KEPT,
    *,
    drop: bool = False,
    unfinished: bool = False,
) -> list[Path]:
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
    unfinished : bool, optional
        Keep what unfinished runs have shown so far, too; the next call replaces it.

    Returns
    -------
    list of Path
        The files written.

    Raises
    ------
    InputError
        If there is such a file and ``drop`` is not asked for, a pattern of ``study.keep`` fits no observable
        of the runs, a file is not as it was kept, or another process is writing to the folder.
    """
    root, folder = as_path("root", root), as_path("folder", folder)
    check_kept(study, folder, drop=drop)
    states = ("complete", "unfinished") if unfinished else ("complete",)
    members = [member for member in members_of(study, root) if run_state(member) in states]
    others = _others(study, folder)
    if not members and not others:
        return []
    observed = _check_patterns(study, members)
    with only_writer(folder / CHECKSUMS, trains=False):  # All studies share the list.
        for file in others:
            drop_kept(file)
        return [_kept(study, m, folder, observed) for m in track(members, f"observing runs of {study.name}")]


def _kept(study: Study, member: StudyMember, folder: Path, observed: dict[Path, Observations]) -> Path:
    """Keep what a run shows, which is observed unless it has been; return the file."""
    file = kept_file(study.name, member.variant, member.config, folder)
    run = observed.pop(member.path, None) or _observed(member)
    write_kept(_chosen(run, study.kept_at(member.config.init_rate)), file)
    return file


def _observed(member: StudyMember) -> Observations:
    return observe(Run.open(member.path, unfinished=run_state(member) == "unfinished"))


def _check_patterns(study: Study, members: Sequence[StudyMember]) -> dict[Path, Observations]:
    """Refuse a pattern that fits no observable of the runs it is for; return the runs observed for that."""
    observed: dict[Path, Observations] = {}
    for patterns in dict.fromkeys(study.kept_at(m.config.init_rate) for m in members):
        of_variant = {m.variant: m for m in members if study.kept_at(m.config.init_rate) == patterns}
        left, known = list(patterns), set[str]()
        for member in of_variant.values():  # Variants may be of several kinds of models.
            if left:
                observed[member.path] = _observed(member)
                known.update(observed[member.path].arrays)
                left = [pattern for pattern in left if not any(fnmatchcase(name, pattern) for name in known)]
        if left:
            raise unknown_name("observable", left[0], known, "keep")
    return observed


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
