"""Where a run continues: at the newest checkpoint that is whole, with everything that was written before."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from typing import Any

from sim.runs.folder import RunFolder
from sim.runs.places import checkpoint_name
from sim.runs.records import CheckpointState
from sim.runs.tensors import Arrays, DamagedError, check_tensors
from sim.training.schedule import evaluation_steps
from sim.training.trainer import Trainer
from theory import InputError

_LOG = logging.getLogger("anchorflow")
Checkpoint = tuple[Arrays, CheckpointState]


def newest_checkpoint(trainer: Trainer, folders: Sequence[RunFolder]) -> list[Checkpoint] | None:
    """Return the members' checkpoints of the newest step at which all are whole, None if there is none.

    A damaged one is passed over, and named in a warning. Runs that have checkpoints, but none in common, are
    refused: their progress would be lost.
    """
    kept = [set(folder.checkpoint_steps()) for folder in folders]
    steps = set.intersection(*kept)
    if any(kept) and not steps:
        newest = {folder.path.name: max(own, default=None) for folder, own in zip(folders, kept, strict=True)}
        problem = "these runs have no checkpoint in common, and their progress would be lost"
        raise InputError("resume", newest, problem, "continue runs of different steps apart")
    for step in sorted(steps, reverse=True):
        whole = [c for c in (_checked(trainer, folder, step) for folder in folders) if c is not None]
        if len(whole) == len(folders):
            return whole
    return None


def _checked(trainer: Trainer, folder: RunFolder, step: int) -> Checkpoint | None:
    """Return a checkpoint; set a damaged one aside, say what is wrong with it, and return None."""
    try:
        arrays, state = folder.read_checkpoint(step)
        per_epoch, epochs = trainer.steps_per_epoch, trainer.training.epochs
        if step > epochs * per_epoch or divmod(step, per_epoch) != (state.epoch, state.position):
            raise DamagedError(f"step: is {step}, which is not that of epoch {state.epoch} of {epochs}")
        expected = {name: (array.shape, array.dtype) for name, array in trainer.checkpoint(0)[0].items()}
        check_tensors(arrays, expected, finite=state.failure is None)
    except DamagedError as error:
        aside = folder.set_aside(step)
        _LOG.warning(
            "anchorflow: %s: %s; set aside as %s, training continues from the checkpoint before it, if any.",
            folder.path / checkpoint_name(step),
            error,
            aside.name,
        )
        return None
    return arrays, state


def metrics_until(folder: RunFolder, trainer: Trainer) -> list[dict[str, Any]]:
    """Return the evaluations up to the trainer's step, or refuse if one is missing; later ones are redone."""
    found = {line["step"]: line for line in folder.read_metrics()}
    steps = evaluation_steps(trainer.training, trainer.steps_per_epoch)
    expected = [step for step in steps if step <= trainer.optimizer.step]
    for step in expected:
        if step not in found:
            problem = f"the evaluation at step {step} is missing"
            remedy = "restore it, or move the folder away and train the run again"
            raise InputError("run", str(folder.path / "metrics.jsonl"), problem, remedy)
    return [found[step] for step in expected]
