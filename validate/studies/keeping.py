"""Keep what the runs of a study have shown."""

from __future__ import annotations

import dataclasses
from fnmatch import fnmatchcase
from pathlib import Path

from sim.config.language import LanguageTask
from sim.runs.files import only_writer
from sim.runs.run import Run
from theory import InputError
from theory.errors import unknown_name
from theory.reading import PathLike, as_path
from validate.observe import KEPT, RUNS, Observations, observe, write_kept
from validate.observe.store import CHECKSUMS, drop_kept, keep_words, kept_file, kept_files, read_kept
from validate.studies.state import run_state
from validate.studies.study import Study, members_of
from validate.terminal.progress import track


def keep(
    study: Study,
    root: PathLike = RUNS,
    folder: PathLike = KEPT,
    *,
    drop: bool = False,
    unfinished: bool = False,
) -> list[Path]:
    """Observe a study's complete runs, keep what they show in a folder, and return the files written.

    ``drop`` deletes what was kept under the study's name of runs that it does not have; ``unfinished`` keeps
    what unfinished runs have shown so far, too.

    Raises
    ------
    InputError
        If there is such a file and ``drop`` is not asked for, a pattern of ``study.keep`` fits no observable
        of the runs, a file is not as it was kept, or another process is writing to the folder.
    """
    root, folder = as_path("root", root), as_path("folder", folder)
    others = check_kept(study, folder, drop=drop)
    runs, ready = dict[Path, Run](), dict[Path, Observations]()
    for path, config in ((m.path, m.config) for m in members_of(study, root)):
        state = run_state(path, config)
        if state == "complete" or (unfinished and state == "unfinished"):
            runs[path] = Run.open(path, unfinished=state == "unfinished")
    members = [m for m in members_of(study, root) if m.path in runs]
    if not members and not others:
        return []
    # One run of each variant, which may be of several kinds of models, shows which observables there are.
    for patterns in dict.fromkeys(study.kept_at(m.config.init_rate) for m in members):
        left, known = list(patterns), set[str]()
        ones = {m.variant: m.path for m in members if study.kept_at(m.config.init_rate) == patterns}
        for path in ones.values():
            if left:
                ready[path] = observe(runs[path])
                known |= set(ready[path].arrays)
                left = [pattern for pattern in left if not any(fnmatchcase(name, pattern) for name in known)]
        if left:
            raise unknown_name("observable", left[0], known, "keep")
    files = []
    with only_writer(folder / CHECKSUMS):  # All studies share the list.
        for file in others:
            drop_kept(file)
        for member in track(members, f"observing runs of {study.name}"):
            run = ready.pop(member.path, None) or observe(runs[member.path])
            patterns = study.kept_at(member.config.init_rate)
            names = [name for name in run.arrays if any(fnmatchcase(name, p) for p in patterns)]
            chosen = dataclasses.replace(run, arrays={name: run.arrays[name] for name in names})
            files.append(kept_file(study.name, member.variant, member.config, folder))
            write_kept(chosen, files[-1])
            if isinstance(member.config.task, LanguageTask):
                keep_words(runs[member.path], folder)
    return files


def check_kept(study: Study, folder: Path = KEPT, *, drop: bool = False) -> list[Path]:
    """Return the files that were kept of runs which the study does not have; refuse them unless dropped."""
    own = {kept_file(study.name, m.variant, m.config, folder): m.config for m in members_of(study)}
    others = [
        f
        for f in sorted(kept_files(study.name, folder))
        if f not in own or (f.exists() and read_kept(f).config != own[f])
    ]
    if others and not drop:
        problem = f"holds {others[0].name}, of a run that is not in this study"
        remedy = "choose another folder (--kept), or ask to delete such files (--drop)"
        raise InputError("kept", str(folder / study.name), problem, remedy)
    return others
