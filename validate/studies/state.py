"""How far a study is, which of its runs are complete or kept, and training what it lacks."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from sim.config.run import MemberConfig, make_member_config
from sim.config.section import differences
from sim.runs.folder import RunFolder, is_run_folder, read_config
from sim.runs.provenance import commit_text
from sim.runs.run import Run
from sim.training.execution import Execution
from theory import InputError
from theory.checked import checked
from theory.display import Shown
from theory.reading import PathLike, as_path
from validate.observe import KEPT, RUNS
from validate.observe.store import kept_file, read_header
from validate.studies.study import Study, StudyMember, members_of
from validate.training import process_count, train_with_progress

State = Literal["complete", "diverged", "unfinished", "missing"]


@dataclass(frozen=True, repr=False)
class MemberState(Shown):
    """How far one run of a study is.

    A ``state`` of "diverged" is final too; ``kept`` says whether its observations are, made with this very
    configuration. ``seconds`` is the wall time, if the run or its kept observations say so; ``made_by`` the
    commit that trained it, and whether the code had uncommitted changes.
    """

    member: StudyMember
    state: State
    kept: bool
    seconds: float | None
    made_by: str

    def to_json(self) -> dict[str, Any]:
        """Return plain data."""
        return {
            "variant": self.member.variant,
            "init_rate": self.member.config.init_rate,
            "seed": self.member.config.seed,
            "path": str(self.member.path),
            "state": self.state,
            "kept": self.kept,
            "wall_seconds": self.seconds,
            "made_by": self.made_by,
        }

    def _shown(self) -> tuple[str, list[str], list[list[str]]]:
        seconds = "–" if self.seconds is None else f"{self.seconds:.0f}"
        row = [str(self.member.path), self.state, "yes" if self.kept else "no", seconds, self.made_by]
        title = f"{row[0]}: {self.state}, {'kept' if self.kept else 'not kept'}"
        return title, ["run", "state", "kept", "seconds", "made by"], [row]


def states_of(study: Study, members: Sequence[StudyMember], folder: Path = KEPT) -> list[MemberState]:
    """Return where each of a study's runs stands; errors are those of ``run_state``."""
    states = []
    for member in members:
        state = run_state(member.path, member.config)
        made = RunFolder(member.path).read_provenance() if state == "complete" else None
        file, is_kept = kept_file(study.name, member.variant, member.config, folder), False
        if file.exists():
            header = read_header(file)
            is_kept = make_member_config(header.config) == member.config
            made = header.provenance if made is None and is_kept else made
        seconds = made["wall_seconds"] if made and made["status"] == "complete" else None
        states.append(MemberState(member, state, is_kept, seconds, commit_text(made) if made else ""))
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
    """Train the runs that a study lacks, all variants at once, after saying what it will cost.

    Unfinished runs are continued, or refused with ``resume=False``. Complete runs stay as they are, and so do
    those that diverged: the same run would diverge again.

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
    own = {"workers": process_count(options.get("workers", 0))}
    execution, root = Execution(**({"resume": True} | options | own)), as_path("root", root)
    studies = [study] if isinstance(study, Study) else study
    members = [member for each in studies for member in members_of(each, root)]
    planned = {m.path: m.config for m in members if run_state(m.path, m.config) in ("missing", "unfinished")}
    if planned:
        train_with_progress(planned, execution)
    return [m for m in members if run_state(m.path, m.config) == "diverged"]
