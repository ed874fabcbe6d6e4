"""A sweep: the runs of a study's file, each in a folder that is named by the hash of its configuration."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

from sim.config.run import MemberConfig
from sim.runs.files import only_writer
from sim.runs.outputs import PATIENCE, OutputFolder
from sim.runs.run import Run
from sim.runs.table import axes_of, long_records, settings_of, table_content
from sim.training.cost import Remaining, steps_of_runs
from sim.training.execution import Execution
from sim.training.launch import epochs_left, train_members
from theory.edge.checked import checked
from theory.edge.reading import PathLike, as_path
from validate.studies.keeping import State, run_state
from validate.studies.study import load_study
from validate.terminal.output import say
from validate.terminal.progress import show_progress

_DIGITS = 12


@dataclass(frozen=True)
class Sweep:
    """Runs over axes: every run's configuration by its name, in the order of the file."""

    name: str
    members: Mapping[str, MemberConfig]

    @cached_property
    def settings(self) -> dict[str, dict[str, Any]]:
        """γ, the seed and every setting in which runs differ, named as in the table, by the run's name."""
        axes = axes_of(self.members.values())
        flat = {name: settings_of(member) for name, member in self.members.items()}
        return {name: {axis: run.get(axis) for axis in axes} for name, run in flat.items()}

    @property
    def axes(self) -> dict[str, list[Any]]:
        """The values of each of these settings, in the order of the runs."""
        runs = list(self.settings.values())
        return {axis: list(dict.fromkeys(run[axis] for run in runs)) for axis in runs[0]}


@dataclass(frozen=True)
class Plan:
    """Where the runs of a sweep stand, and what is left to train.

    Attributes
    ----------
    sweep : Sweep
    paths : dict of str to Path
        The folder of each run.
    states : dict of str to State
        "complete", "diverged" (which is final too), "unfinished" or "missing".
    """

    sweep: Sweep
    paths: dict[str, Path]
    states: dict[str, State]

    @property
    def left(self) -> list[tuple[MemberConfig, Path]]:
        """The runs that are missing or not finished, each with its folder."""
        names = [name for name, state in self.states.items() if state in ("missing", "unfinished")]
        return [(self.sweep.members[name], self.paths[name]) for name in names]

    @cached_property
    def remaining(self) -> list[Remaining]:
        """The same runs, with the epochs that each still needs."""
        return [(member, epochs_left(member, path)) for member, path in self.left]

    @cached_property
    def n_steps(self) -> int:
        """The steps that are left in all."""
        return steps_of_runs(self.remaining)

    @property
    def summary(self) -> str:
        """The work that is left, in one line."""
        return f"runs left: {len(self.left)} of {len(self.states)}, steps: {self.n_steps}"


def load_sweep(source: str | Path) -> Sweep:
    """Return the sweep of a study, given by its file or its name.

    Runs that two variants share are one run.
    """
    study = load_study(source)
    members = [member for config in study.configs.values() for member in config.members()]
    return Sweep(study.name, {run_name(member): member for member in members})


def run_name(config: MemberConfig) -> str:
    """Return a run's name: the beginning of the SHA-256 of what its configuration sets.

    Defaults are left out, so that a setting added in a later version changes no name.
    """
    data = config.model_dump(mode="json", exclude_defaults=True)
    text = json.dumps({"kind": config.model.kind, **data}, sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()[:_DIGITS]


def plan_of(sweep: Sweep, out: PathLike) -> Plan:
    """Return where the runs of a sweep stand."""
    paths = {name: as_path("out", out) / name for name in sweep.members}
    states = {name: run_state(paths[name], member) for name, member in sweep.members.items()}
    return Plan(sweep, paths, states)


@checked
def run_sweep(sweep: Sweep, out: PathLike, execution: Execution | None = None) -> Plan:
    """Train the runs that a sweep lacks, and return where its runs stand afterwards.

    Runs that are complete or diverged stay as they are; unfinished ones continue. Several processes may run
    the same sweep in one folder: each run is trained by one of them.

    Parameters
    ----------
    sweep : Sweep
    out : path
        The folder of the run folders.
    execution : Execution, optional
        How to train; by default one run after the other in this process.
    """
    how = replace(execution or Execution(), resume=True, overwrite=False, shared=True)
    plan = plan_of(sweep, out)
    if not plan.left:
        return plan
    say(f"{plan.summary}; engine: {how.engine}, workers: {how.workers}")
    with show_progress():
        train_members([member for member, _ in plan.left], [path for _, path in plan.left], how)
    return plan_of(sweep, out)


def records_of(plan: Plan) -> list[dict[str, Any]]:
    """Return the long table of a sweep's complete runs, in the order of the sweep's file."""
    complete = [name for name, state in plan.states.items() if state == "complete"]
    runs = [(name, Run.open(plan.paths[name])) for name in complete]
    return long_records([(name, run.config, run.metrics) for name, run in runs], list(plan.sweep.axes))


def write_sweep_tables(plan: Plan, out: PathLike, names: Sequence[str]) -> None:
    """Write the table of a sweep's complete runs, if there are any, into the sweep's folder.

    A table that this program wrote there is replaced; any other file of that name is refused.
    """
    if records := records_of(plan):
        folder = OutputFolder(as_path("out", out))
        with only_writer(folder.path / "table", wait=PATIENCE):
            for name in names:
                folder.write(name, table_content(records, name))
