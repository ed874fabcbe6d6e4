"""The command that trains what a verdict lacks: the other side, longer runs or more seeds."""

from __future__ import annotations

import shlex
from collections.abc import Sequence

from sim.runs.places import is_run_folder
from sim.runs.provenance import model_file
from validate.judge.groups import Setting

COMPARE = "anchorflow compare "


def missing_command(like: Setting, rates: Sequence[float], seeds: Sequence[int], longer: int = 1) -> str:
    """Return the command that trains runs at some γ and seeds, ``longer`` times as long as those of ``like``.

    The first run of ``like`` has a run folder, whose configuration they take. Where all of them are beside
    it already, it is the command that compares them.
    """
    source, training = like.runs[0].run_folder, like.config.training
    assert source is not None
    out = source.parent if longer == 1 else source.parent.with_name(f"{source.parent.name}-longer")
    options = [str(source / "config.json"), "--init-rates", *map(str, rates), "--seeds", *map(str, seeds)]
    options += ["--out", str(out)]
    if longer > 1:
        options += ["--training.epochs", str(longer * training.epochs)]
        if training.snapshot_epochs:
            options += ["--training.snapshot-epochs", *(str(longer * e) for e in training.snapshot_epochs)]
    own = model_file(like.config.model)
    names = [like.config.model_copy(update={"init_rate": r, "seed": s}).name for r in rates for s in seeds]
    if longer == 1 and all(is_run_folder(out / name) for name in names):
        return COMPARE + shlex.join([str(out), *(["--import", own] if own else [])])
    return shlex.join(["anchorflow", "train", *options, *(["--import", own] if own else [])])


def label(command: str) -> str:
    """Return what stands before a command."""
    return f"what is missing{' is there already; include it' * command.startswith(COMPARE)}"
