"""One trial of a search: the runs of a setting, watched while the first of them trains."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from sim.runs.folder import RunFolder
from sim.training.execution import Execution
from sim.training.launch import train_members
from sim.training.session import Progress
from theory.paths import PathLike
from validate.sweeps.plan import Plan, plan_of
from validate.sweeps.searching.measures import Measure
from validate.sweeps.sweep import Sweep

if TYPE_CHECKING:
    from optuna.trial import Trial


@dataclass(frozen=True)
class Setting:
    """The runs of one setting, which differ in the seed.

    Attributes
    ----------
    sweep : Sweep
        These runs alone.
    out : path
        The folder of the run folders.
    measure : Measure
    """

    sweep: Sweep
    out: PathLike
    measure: Measure

    @property
    def plan(self) -> Plan:
        """Where the runs stand now."""
        return plan_of(self.sweep, self.out)

    @property
    def steps_done(self) -> int:
        """The steps of all its runs, by their newest checkpoints."""
        folders = map(RunFolder, self.sweep.paths(self.out).values())
        return sum(max(folder.checkpoint_steps(), default=0) for folder in folders)

    @property
    def value(self) -> float:
        """The mean of the measure over the runs; NaN unless all are complete and have one."""
        if set(self.plan.states.values()) != {"complete"}:
            return float("nan")
        return float(np.mean([self._value_of(name) for name in self.sweep.members]))

    def _value_of(self, name: str) -> float:
        metrics = RunFolder(self._paths[name]).read_metrics()
        return self.measure.value(self.sweep.members[name], metrics)

    @cached_property
    def _paths(self) -> dict[str, Path]:
        return self.sweep.paths(self.out)


def train_trial(setting: Setting, trial: Trial, execution: Execution) -> bool:
    """Train what a setting lacks; return whether it was pruned, with its runs left unfinished.

    The first run decides about pruning: its values are reported as it trains.

    Raises
    ------
    KeyboardInterrupt
        After Ctrl-C, with a checkpoint of every unfinished run.
    """
    plan, watch = setting.plan, _Watch(setting, trial)
    if not plan.left:
        return False
    how = replace(execution, resume=True, shared=True)
    members, paths = [plan.sweep.members[n] for n in plan.left], [plan.paths[n] for n in plan.left]
    try:
        train_members(members, paths, how, report=watch.look, stop=lambda: watch.pruned)
    except KeyboardInterrupt:
        if not watch.pruned:
            raise
    return watch.pruned


class _Watch:
    """Reports the value of a setting's first run after each of its evaluations."""

    def __init__(self, setting: Setting, trial: Trial) -> None:
        self.setting, self.trial = setting, trial
        (self.name, self.config), *_ = setting.sweep.members.items()
        self.folder = RunFolder(setting.sweep.paths(setting.out)[self.name])
        self.reported = 0
        self.pruned = False

    def look(self, progress: Progress) -> None:
        """Report what is new, and note whether the trial is to be pruned."""
        if progress.name != self.config.name or progress.epoch == progress.epochs or self.pruned:
            return
        metrics = self.folder.read_metrics()
        epoch = int(metrics[-1]["epoch"]) if metrics else 0
        if epoch <= self.reported:
            return
        self.reported = epoch
        value = self.setting.measure.value(self.config, metrics)
        if value == value:  # Not NaN: a measure may be undefined early in a run.
            self.trial.report(value, epoch)
            self.pruned = self.trial.should_prune()
