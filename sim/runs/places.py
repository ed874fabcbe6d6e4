"""Where the files of runs are, which folders are runs, and when a run is over."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from sim.config.run import TrainingConfig
from theory import InputError
from theory.reading import is_folder

CONFIG = "config.json"
"""The resolved configuration."""
STATISTICS = "statistics.safetensors"
"""Statistics of the training data."""
_IDENTITY = (CONFIG, "provenance.json", "metrics.jsonl")
"""Each of these makes a folder a run's: one that lost another of them is refused, and not passed over."""
_OF_RUNS = re.compile(
    r"config\.json|provenance\.json|metrics\.jsonl|statistics\.safetensors"
    r"|snapshots/epoch_\d+\.safetensors|checkpoints/step_\d+\.safetensors"
)
HALF = 0.5
"""The accuracy at which a data set counts as fitted: half-way between none and all of it."""
HELD_OUT = "rsn_test"
"""The data set that no step is taken on."""


def is_file_of_runs(name: str) -> bool:
    """Return whether a name inside a run folder is one that this program gives."""
    return _OF_RUNS.fullmatch(name) is not None


def snapshot_name(epoch: int) -> str:
    """Return the file of a snapshot inside a run folder."""
    return f"snapshots/epoch_{epoch:06d}.safetensors"


def checkpoint_name(step: int) -> str:
    """Return the file of a checkpoint inside a run folder."""
    return f"checkpoints/step_{step:09d}.safetensors"


def numbers(folder: Path, prefix: str) -> list[int]:
    """Return the numbers of the snapshots ("epoch") or checkpoints ("step") in a folder, sorted."""
    names = [file.name for file in folder.iterdir()] if folder.is_dir() else []
    found = [re.fullmatch(rf"{prefix}_(\d{{6,}})\.safetensors", name) for name in names]
    return sorted(int(match[1]) for match in found if match)


def is_run_folder(path: Path) -> bool:
    """Return whether a folder has a file that makes it a run's, readable or not."""
    return any((path / name).exists() for name in _IDENTITY)


def is_own_run(path: Path) -> bool:
    """Return whether a folder is a run's and not one of another program that has a config.json as well."""
    return sum((path / name).exists() for name in (*_IDENTITY, "manifest.json")) > 1 and is_run_folder(path)


def runs_inside(folder: Path, *levels: int) -> list[Path]:
    """Return the run folders so many levels below a folder, sorted: 1 for a study's, 2 for its variants'."""
    patterns = ["*/" * level + name for level in levels for name in _IDENTITY]
    return sorted({file.parent for pattern in patterns for file in folder.glob(pattern)})


def check_place(path: Path) -> None:
    """Refuse what is not one run's folder."""
    if not is_folder(path):
        raise InputError("run", str(path), "no such folder", "make it with: anchorflow train CONFIG.toml")
    if not is_run_folder(path):
        inside = [f", such as {run}" for run in runs_inside(path, 1, 2, 3)[:1]]
        remedy = "name the folder of one" + "".join(inside)
        raise InputError("run", str(path), "the folder of no run", remedy)


def has_ended(training: TrainingConfig, metrics: Sequence[Mapping[str, Any]]) -> bool:
    """Return whether a run with these evaluations takes no further step.

    With ``training.patience`` it ends with the first epoch evaluated by whose end Σ learning rate is
    2^patience times its value when a training set was last fitted. Before the first set is fitted, and
    for sets that the initial weights fit, it does not count.
    """
    if not metrics or metrics[-1]["epoch"] % 1:
        return False
    if metrics[-1]["epoch"] == training.epochs:
        return True
    fitted = [
        next((line["sum_learning_rate"] for line in metrics if line["accuracy"][part] >= HALF), 0.0)
        for part in metrics[0]["accuracy"]
        if part != HELD_OUT
    ]
    last, now = max(fitted, default=0.0), metrics[-1]["sum_learning_rate"]
    return bool(training.patience) and last > 0 and now >= 2**training.patience * last
