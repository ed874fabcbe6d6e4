"""A study's runs: which are complete or kept, training those it lacks, and keeping their observations."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any, Literal, NamedTuple

from sim.config.language import LanguageTask
from sim.config.run import MemberConfig
from sim.config.section import differences
from sim.runs.files import only_writer
from sim.runs.folder import RunFolder, is_run_folder, read_config
from sim.runs.provenance import commit_text, share_of_seconds
from sim.runs.run import Run
from sim.training.execution import Execution, process_count
from theory import InputError
from theory.edge.checked import checked
from theory.edge.errors import unknown_name
from theory.edge.reading import PathLike, as_path
from validate.observe import KEPT, RUNS, observe, write_kept
from validate.observe.store import CHECKSUMS, drop_kept, keep_words, kept_file, kept_files, read_kept
from validate.studies.study import Study, StudyMember, members_of
from validate.terminal.progress import track, train_with_progress

State = Literal["complete", "diverged", "unfinished", "missing"]


class MemberState(NamedTuple):
    """The progress of one run of a study.

    A ``state`` of "diverged" is final too; ``kept`` says whether observations with exactly this configuration
    are kept. ``wall_seconds`` is its share of the wall time of the runs trained together, if it or its kept
    observations record it; ``made_by`` is the commit that trained it, and whether its tree had changes.
    """

    variant: str | None
    init_rate: float
    seed: int
    path: str
    state: State
    kept: bool
    wall_seconds: float | None
    made_by: str


def states_of(study: Study, root: Path = RUNS, folder: Path = KEPT) -> list[MemberState]:
    """Return where each of a study's runs stands; errors are those of ``run_state``."""
    states = []
    for variant, config, path in members_of(study, root):
        state = run_state(path, config)
        made = RunFolder(path).read_provenance() if state == "complete" else None
        file, is_kept = kept_file(study.name, variant, config, folder), False
        if file.exists():
            observed = read_kept(file)
            is_kept = observed.config == config
            made = observed.provenance if made is None and is_kept else made
        seconds = share_of_seconds(made) if made and made["status"] == "complete" else None
        made_by, named = commit_text(made) if made else "", (variant, config.init_rate, config.seed)
        states.append(MemberState(*named, str(path), state, is_kept, seconds, made_by))
    return states


def run_state(path: Path, config: MemberConfig) -> State:
    """Return where a run stands; refuse a folder with a run of another configuration."""
    if not is_run_folder(path):
        return "missing"
    if (own := read_config(path)) != config:
        problem = f"holds a run with another configuration than the study's ({differences(own, config)})"
        raise InputError("run", str(path), problem, "move it away, or choose another folder")
    folder = RunFolder(path)
    status = folder.read_provenance()["status"] if folder.has_provenance else ""
    if status == "complete":
        Run.open(path)
        return "complete"
    return "diverged" if status == "diverged" else "unfinished"


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


def keep(
    study: Study,
    root: PathLike = RUNS,
    folder: PathLike = KEPT,
    *,
    drop: bool = False,
    unfinished: bool = False,
) -> list[Path]:
    """Observe a study's complete runs, keep what they show in a folder, and return the files written.

    ``drop`` deletes observations kept under the study's name of runs that it does not have; ``unfinished``
    also keeps what unfinished runs have shown so far.

    Raises
    ------
    InputError
        If there are such observations but not ``drop``, a pattern of ``study.keep`` fits no observable of the
        runs, a kept file has changed, or another process is writing to the folder.
    """
    root, folder = as_path("root", root), as_path("folder", folder)
    others = check_kept(study, folder, drop=drop)
    runs, members = dict[Path, Run](), list[StudyMember]()
    for member in members_of(study, root):
        state = run_state(member.path, member.config)
        # A run that has only begun was not evaluated yet, and has nothing to show.
        begun = unfinished and state == "unfinished" and RunFolder(member.path).has_metrics
        if state == "complete" or begun:
            runs[member.path] = Run.open(member.path, unfinished=begun)
            members.append(member)
    if not members and not others:
        return []
    observed = {path: observe(run) for path, run in runs.items()}  # Arrays are computed when they are read.
    # Variants may have different kinds of models: one run of each shows which observables there are.
    for patterns in dict.fromkeys(study.kept_at(m.config.init_rate) for m in members):
        left, known = list(patterns), set[str]()
        ones = {m.variant: m.path for m in members if study.kept_at(m.config.init_rate) == patterns}
        for path in ones.values():
            if left:
                known |= set(observed[path].arrays)
                left = [pattern for pattern in left if not any(fnmatchcase(name, pattern) for name in known)]
        if left:
            raise unknown_name("observable", left[0], known, "keep")
    files = []
    with only_writer(folder / CHECKSUMS):  # All studies share the list.
        for file in others:
            drop_kept(file)
        for member in track(members, f"observing runs of {study.name}"):
            run = observed.pop(member.path)
            file = kept_file(study.name, member.variant, member.config, folder)
            if file.exists() and read_kept(file).metrics[-1]["step"] > run.metrics[-1]["step"]:
                continue  # An unfinished run replaces no observations that go further.
            patterns = study.kept_at(member.config.init_rate)
            names = [name for name in run.arrays if any(fnmatchcase(name, p) for p in patterns)]
            chosen = replace(run, arrays={name: run.arrays[name] for name in names})
            write_kept(chosen, file)
            files.append(file)
            if isinstance(member.config.task, LanguageTask):
                keep_words(runs[member.path], folder)
    return files


def check_kept(study: Study, folder: Path = KEPT, *, drop: bool = False) -> list[Path]:
    """Return the kept files of runs that the study does not have; refuse them unless they may be dropped."""
    configs = {kept_file(study.name, m.variant, m.config, folder): m.config for m in members_of(study)}
    others = [
        f
        for f in sorted(kept_files(study.name, folder))
        if f not in configs or (f.exists() and read_kept(f).config != configs[f])
    ]
    if others and not drop:
        problem = f"holds {others[0].name}, of a run that is not in this study"
        remedy = "choose another folder (--kept), or ask to delete such files (--drop)"
        raise InputError("kept", str(folder / study.name), problem, remedy)
    return others
