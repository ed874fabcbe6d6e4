"""What a sweep will do: the runs that are left, their steps, and the time that they will take."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from sim.training.cost import Cost, Remaining, cost_of_runs, steps_of_runs
from sim.training.execution import Execution
from sim.training.launch import epochs_left
from theory.paths import PathLike
from validate.studies.state import State, state_in
from validate.sweeps.sweep import Sweep


@dataclass(frozen=True)
class Plan:
    """Where the runs of a sweep stand.

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
    def left(self) -> list[str]:
        """The runs that are missing or not finished."""
        return [name for name, state in self.states.items() if state in ("missing", "unfinished")]

    @cached_property
    def remaining(self) -> list[Remaining]:
        """The runs that are left, with the epochs that each still needs."""
        members = self.sweep.members
        return [(members[name], epochs_left(members[name], self.paths[name])) for name in self.left]

    @property
    def summary(self) -> str:
        """What is left, in one line."""
        return f"runs left: {len(self.left)} of {len(self.states)}, steps: {self.n_steps}"

    @cached_property
    def n_steps(self) -> int:
        """The steps that the runs which are left still take."""
        return steps_of_runs(self.remaining)

    def cost(self, execution: Execution) -> Cost:
        """Return what the runs that are left will cost, from a few steps on this machine."""
        return cost_of_runs(self.remaining, execution)


def plan_of(sweep: Sweep, out: PathLike) -> Plan:
    """Return where the runs of a sweep stand.

    Raises
    ------
    InputError
        If a run's folder holds another run.
    """
    paths = sweep.paths(out)
    states = {name: state_in(paths[name], member) for name, member in sweep.members.items()}
    return Plan(sweep, paths, states)
