"""Where runs continue: at the newest step of which all have a whole checkpoint."""

from __future__ import annotations

import logging
from collections.abc import Sequence

from sim.runs.folder import RunFolder
from sim.runs.places import checkpoint_name
from sim.runs.tensors import Arrays, CheckpointState, DamagedError
from theory import InputError

_LOG = logging.getLogger("anchorflow")
Checkpoint = tuple[Arrays, CheckpointState]


def newest_checkpoints(folders: Sequence[RunFolder]) -> list[Checkpoint] | None:
    """Return the runs' checkpoints of the newest step at which all are whole, None if there is none.

    A damaged one is set aside and named in a warning. Runs that have checkpoints, but none in common, are
    refused: their progress would be lost.
    """
    kept = [set(folder.checkpoint_steps()) for folder in folders]
    steps = set.intersection(*kept)
    if any(kept) and not steps:
        newest = {folder.path.name: max(own, default=None) for folder, own in zip(folders, kept, strict=True)}
        problem = "these runs have no checkpoint in common, and their progress would be lost"
        raise InputError("resume", newest, problem, "continue runs of different steps apart")
    for step in sorted(steps, reverse=True):
        whole = [c for c in (_whole(folder, step) for folder in folders) if c is not None]
        if len(whole) == len(folders):
            return whole
    return None


def _whole(folder: RunFolder, step: int) -> Checkpoint | None:
    try:
        return folder.read_checkpoint(step)
    except DamagedError as error:
        where, aside = folder.path / checkpoint_name(step), folder.set_aside(step)
        _LOG.warning(
            "anchorflow: %s: %s; set aside as %s, training continues from the checkpoint before it, if any.",
            where,
            error,
            aside.name,
        )
        return None
