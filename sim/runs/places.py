"""Where the files of runs are, which folders are runs, and what is said where one was expected."""

from __future__ import annotations

import re
from pathlib import Path

from theory import InputError
from theory.paths import is_folder

CONFIG = "config.json"
"""The resolved configuration."""
_IDENTITY = (CONFIG, "provenance.json", "metrics.jsonl")
"""Each of these makes a folder a run's: one that lost another of them is refused, and not passed over."""
_OF_RUNS = re.compile(
    r"config\.json|provenance\.json|metrics\.jsonl|statistics\.safetensors"
    r"|snapshots/epoch_\d+\.safetensors|checkpoints/step_\d+\.safetensors"
)


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
    """Return whether a folder has a file that makes it a run's, readable or not.

    Raises
    ------
    OSError
        If the folder may not be looked into.
    """
    return any((path / name).exists() for name in _IDENTITY)


def is_own_run(path: Path) -> bool:
    """Return whether a folder is a run's and not one of another program that has a config.json as well."""
    return sum((path / name).exists() for name in (*_IDENTITY, "manifest.json")) > 1 and is_run_folder(path)


def runs_inside(folder: Path, *levels: int) -> list[Path]:
    """Return the run folders that lie some levels below a folder, sorted.

    Parameters
    ----------
    folder : Path
    *levels : int
        How far down to look: 1 for the runs of a study, 2 for those of its variants.
    """
    patterns = ["*/" * level + name for level in levels for name in _IDENTITY]
    return sorted({file.parent for pattern in patterns for file in folder.glob(pattern)})


def check_place(path: Path) -> None:
    """Refuse what is no folder, or a folder of runs, where one run's folder is expected."""
    if not is_folder(path):
        raise _no_folder(path)
    inside = [] if is_run_folder(path) else runs_inside(path, 1, 2)
    if inside:
        remedy = f"name one of them, such as {inside[0]}; sim.find_runs lists those in a folder"
        raise InputError("run", str(path), "holds runs and is none itself", remedy)


def _no_folder(path: Path) -> InputError:
    try:
        is_there = path.exists()
    except (OSError, ValueError):
        is_there = False  # A name that no system allows.
    if not is_there:
        return InputError("run", str(path), "no such folder", "make it with: anchorflow train CONFIG.toml")
    run = next(filter(is_run_folder, path.parents), None)
    remedy = "name the folder of a run" if run is None else f"name the folder of its run, {run}"
    return InputError("run", str(path), "is a file", remedy)
