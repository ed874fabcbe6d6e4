"""How far a study is: which of its runs are complete or kept."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from sim.config.run import MemberConfig
from sim.config.section import differences
from sim.runs.folder import RunFolder, is_run_folder, read_config
from sim.runs.provenance import commit_text
from sim.runs.run import Run
from theory import InputError
from theory.display import Shown
from validate.observe import KEPT
from validate.observe.store import kept_file, read_kept
from validate.studies.study import Study, StudyMember

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
            observed = read_kept(file)
            is_kept = observed.config == member.config
            made = observed.provenance if made is None and is_kept else made
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
