"""Look for the setting of a sweep that maximises a measure, with Optuna."""

from __future__ import annotations

import hashlib
import random
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sim.runs.files import writing
from sim.runs.lock import only_writer
from sim.training.execution import Execution
from theory import InputError
from theory.checked import Size, checked
from theory.paths import PathLike, as_path
from validate.sweeps.searching.found import Search, Tried
from validate.sweeps.searching.measures import Measure, measure_of
from validate.sweeps.searching.space import Point, Space, space_of
from validate.sweeps.searching.trials import Setting, train_trial
from validate.sweeps.sweep import Sweep
from validate.terminal.tables import say

if TYPE_CHECKING:
    import optuna

JOURNAL = "search.journal"
"""The file in a search's folder that Optuna's studies are in."""


@checked
def search_sweep(
    sweep: Sweep, out: PathLike, maximise: str, budget_steps: Size, execution: Execution | None = None
) -> Search:
    """Look for the setting that maximises a measure, within a budget of steps.

    Optuna's TPE sampler chooses among the settings of the sweep, its median pruner stops what falls behind.
    Every trial is the runs of one setting, all seeds of the file. The search ends when the next trial may
    exceed the budget or every setting was tried; called again it continues. What it finds was chosen by its
    outcome: it is exploratory, and needs runs with fresh seeds.

    Parameters
    ----------
    sweep : Sweep
    out : path
        The folder of the run folders, which receives search.journal too.
    maximise : str
        One of ``validate.sweeps.searching.measures.MEASURES``.
    budget_steps : int
        Steps of all trials together, those of earlier calls included.
    execution : Execution, optional
        How the runs of a trial are trained; trials come one after the other.

    Raises
    ------
    InputError
        If Optuna is not installed, the measure is unknown or needs what the task lacks, there is a single
        setting, the budget does not allow one trial, or a run's folder holds another run.
    KeyboardInterrupt
        After Ctrl-C, with a checkpoint of every unfinished run; call again to continue.
    """
    measure, space = measure_of(maximise), space_of(sweep)
    tasks = {str(member.task): member for member in sweep.members.values()}
    for member in tasks.values():
        measure.check(member)
    searcher = _Searcher(sweep, as_path("out", out), measure, space, budget_steps)
    with only_writer(searcher.out / JOURNAL, trains=False):
        searcher.run(execution or Execution())
    return searcher.found


class _Searcher:
    """A search under way: what Optuna suggests, what it costs, and what came of it."""

    def __init__(self, sweep: Sweep, out: Path, measure: Measure, space: Space, budget: int) -> None:
        self.sweep, self.out, self.measure, self.space, self.budget = sweep, out, measure, space, budget
        self.optuna = _optuna()
        first = next(iter(space.runs))
        needed = self.setting(first).plan.n_steps
        if needed > budget:
            remedy = f"give at least {needed}, or shorten the runs"
            raise InputError("budget_steps", budget, "does not allow one trial", remedy)
        with writing(out):
            out.mkdir(parents=True, exist_ok=True)
        self.study = self._open()

    def setting(self, point: Point) -> Setting:
        """Return the runs of a point."""
        members = {name: self.sweep.members[name] for name in self.space.runs[point]}
        return Setting(replace(self.sweep, members=members), self.out, self.measure)

    @property
    def found(self) -> Search:
        """What was tried so far."""
        tried = tuple(self._tried(trial) for trial in self._counted())
        return Search(self.measure.name, len(self.space.runs), self.budget, tried)

    def run(self, execution: Execution) -> None:
        """Try settings until the next one may exceed the budget, or none is left."""
        self._take_up_interrupted()
        while untried := self._untried():
            trial = self.study.ask(self._distributions)
            point = self.space.point(trial.params)
            if point not in untried:
                # What is known costs nothing and teaches nothing: another setting takes its turn.
                self.study.tell(trial, state=self.optuna.trial.TrialState.FAIL)
                self._enqueue(random.Random(trial.number).choice(untried))
                continue
            if not self._try(trial, self.setting(point), execution):
                break

    def _try(self, trial: optuna.Trial, setting: Setting, execution: Execution) -> bool:
        """Train one setting and tell Optuna; return False if the budget does not allow it."""
        states = self.optuna.trial.TrialState
        before = trial.user_attrs.get("before", setting.steps_done)
        trial.set_user_attr("before", before)
        spent = self.found.steps + setting.steps_done - before
        if spent + setting.plan.n_steps > self.budget:
            say(f"the next trial needs {setting.plan.n_steps} steps; left: {self.budget - spent}")
            self.study.tell(trial, state=states.FAIL)
            return False
        pruned = train_trial(setting, trial, execution)
        trial.set_user_attr("steps", setting.steps_done - before)
        value = setting.value
        if pruned or value != value:
            self.study.tell(trial, state=states.PRUNED if pruned else states.FAIL)
        else:
            self.study.tell(trial, value)
        self._say_last()
        return True

    def _open(self) -> optuna.Study:
        """Return Optuna's study of these settings and this measure, from the journal."""
        storages = self.optuna.storages
        backend = storages.journal.JournalFileBackend(str(self.out / JOURNAL))
        names = hashlib.sha256(" ".join(self.sweep.members).encode()).hexdigest()[:12]
        study: optuna.Study = self.optuna.create_study(
            study_name=f"{self.measure.name}-{names}",
            storage=storages.JournalStorage(backend),
            direction="maximize",
            pruner=self.optuna.pruners.MedianPruner(),
            load_if_exists=True,
        )
        # A seed of its own for each call: the same one would suggest again what was tried.
        study.sampler = self.optuna.samplers.TPESampler(seed=len(study.trials))
        return study

    @property
    def _distributions(self) -> dict[str, Any]:
        categorical = self.optuna.distributions.CategoricalDistribution
        return {axis: categorical(tuple(values)) for axis, values in self.space.choices.items()}

    def _take_up_interrupted(self) -> None:
        """Put trials that Ctrl-C or a kill left running first in line, with the steps that they had taken."""
        states = self.optuna.trial.TrialState
        for trial in self.study.get_trials(states=(states.RUNNING,)):
            self.study.tell(trial.number, state=states.FAIL)
            if "before" in trial.user_attrs:
                self._enqueue(self.space.point(trial.params), before=trial.user_attrs["before"])

    def _enqueue(self, point: Point, **attributes: int) -> None:
        self.study.enqueue_trial(self.space.named(point), user_attrs=attributes)

    def _counted(self) -> list[optuna.trial.FrozenTrial]:
        """Return the trials that ended; the others were repeats, or were interrupted."""
        return [
            trial for trial in self.study.trials if "steps" in trial.user_attrs and trial.state.is_finished()
        ]

    def _untried(self) -> list[Point]:
        tried = {self.space.point(trial.params) for trial in self._counted()}
        return [point for point in self.space.runs if point not in tried]

    def _tried(self, trial: optuna.trial.FrozenTrial) -> Tried:
        point, states = self.space.point(trial.params), self.optuna.trial.TrialState
        state = {states.COMPLETE: "complete", states.PRUNED: "pruned"}.get(trial.state, "undefined")
        value = trial.value if state == "complete" else None
        return Tried(trial.params, self.space.runs[point], value, state, trial.user_attrs["steps"])

    def _say_last(self) -> None:
        found = self.found
        last = found.tried[-1]
        shown = ", ".join(f"{axis} {value}" for axis, value in last.setting.items())
        result = last.state if last.value is None else f"{last.value:.4g}"
        say(f"trial {len(found.tried)}: {shown}: {result}; steps: {found.steps} of {self.budget}")


def _optuna() -> Any:
    try:
        import optuna
    except ImportError:
        remedy = "pip install 'anchorflow[search]'"
        raise InputError("search", "optuna", "is not installed", remedy) from None
    optuna.logging.set_verbosity(optuna.logging.WARNING)
    return optuna
