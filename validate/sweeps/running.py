"""Train what a sweep lacks."""

from __future__ import annotations

from dataclasses import replace

from sim.training.execution import Execution
from sim.training.launch import train_members
from theory.checked import checked
from theory.paths import PathLike
from validate.progress import training_progress
from validate.sweeps.plan import Plan, plan_of
from validate.sweeps.sweep import Sweep
from validate.terminal.tables import say


@checked
def run_sweep(sweep: Sweep, out: PathLike, execution: Execution | None = None) -> Plan:
    """Train the runs that a sweep lacks, and return where its runs stand then.

    Runs that are complete or diverged stay as they are; unfinished ones continue. Several processes may run
    the same sweep in one folder: each run is trained by one of them.

    Parameters
    ----------
    sweep : Sweep
    out : path
        The folder of the run folders.
    execution : Execution, optional
        How; by default one run after the other in this process.

    Raises
    ------
    InputError
        If a run's folder holds another run, or the engine cannot be had.
    UnfinishedRunsError
        If processes were killed too often; call again to continue.
    KeyboardInterrupt
        After Ctrl-C, with a checkpoint of every unfinished run; call again to continue.
    """
    how = replace(execution or Execution(), resume=True, shared=True)
    plan = plan_of(sweep, out)
    if not plan.left:
        return plan
    say(f"{plan.summary}; engine: {how.engine}, workers: {how.workers}")
    members, paths = [sweep.members[n] for n in plan.left], [plan.paths[n] for n in plan.left]
    with training_progress(sum(epochs for _, epochs in plan.remaining)) as report:
        train_members(members, paths, how, report=report)
    return plan_of(sweep, out)
