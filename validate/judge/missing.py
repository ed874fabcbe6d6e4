"""The command that gets what a verdict lacks: the other side, longer runs or more seeds."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from pathlib import Path

from sim.config.run import MemberConfig
from sim.runs.folder import read_config
from sim.runs.provenance import model_file
from sim.runs.run import is_complete
from theory import InputError
from validate.judge.groups import Setting

COMPARE = "anchorflow compare "


def missing_command(like: Setting, rates: Sequence[float], seeds: Sequence[int], longer: int = 1) -> str:
    """Return the command that trains runs at some γ and seeds, or that compares them where all are there.

    They have the configuration of ``like``, whose first run has a run folder, but train ``longer`` times as
    long.
    """
    source, config = like.runs[0].run_folder, like.config
    assert source is not None
    epochs = longer * config.training.epochs
    shots = [longer * epoch for epoch in config.training.snapshot_epochs]
    training = config.training.model_copy(update={"epochs": epochs, "snapshot_epochs": tuple(shots)})
    members = [
        config.model_copy(update={"init_rate": rate, "seed": seed, "training": training})
        for rate in rates
        for seed in seeds
    ]
    out = source.parent if longer == 1 else source.parent.with_name(f"{source.parent.name}-longer")
    while (there := _there(out, members)) is None:  # Something else of their names is in the way.
        out = out.with_name(f"{out.name}-more")
    own = model_file(config.model)
    first = ["--import", own] if own else []
    if len(there) == len(members) and all(map(is_complete, there)):
        return COMPARE + shlex.join([str(out), *first])
    options = [str(source / "config.json"), "--init-rates", *map(str, rates), "--seeds", *map(str, seeds)]
    options += ["--out", str(out)]
    if longer > 1:
        options += ["--training.epochs", str(epochs)]
        options += ["--training.snapshot-epochs", *map(str, shots)] if shots else []
    return shlex.join(["anchorflow", "train", *options, *(["--resume"] if there else []), *first])


def label(command: str) -> str:
    """Return what stands before a command."""
    there = " is there already; include it" if command.startswith(COMPARE) else ""
    return f"what is missing{there}"


def _there(out: Path, members: Sequence[MemberConfig]) -> list[Path] | None:
    """Return the folders of some runs that are in a folder; None if one of them is another run's."""
    found = [(out / member.name, member) for member in members if (out / member.name).exists()]
    try:
        alike = all(read_config(path) == member for path, member in found)
    except InputError:
        return None
    return [path for path, _ in found] if alike else None
