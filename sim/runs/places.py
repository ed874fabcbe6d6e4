"""Where the files of runs are, and which folders are runs."""

from __future__ import annotations

import re
from pathlib import Path

from theory import InputError
from theory.reading import is_folder

CONFIG = "config.json"
"""The resolved configuration."""
STATISTICS = "statistics.safetensors"
"""Statistics of the training data."""
_IDENTITY = (CONFIG, "provenance.json", "metrics.jsonl")
"""Each of these makes a folder a run's: one that lost another of them is refused, and not passed over."""


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
    return is_folder(path) and any((path / name).exists() for name in _IDENTITY)


def is_own_run(path: Path) -> bool:
    """Return whether a folder is a run's and not one of another program that has a config.json as well."""
    return is_run_folder(path) and (path / "manifest.json").exists()


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
