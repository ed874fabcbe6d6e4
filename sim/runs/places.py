"""What is said where a run folder was expected: a file, a folder of runs, or nothing."""

from __future__ import annotations

from pathlib import Path

from theory import InputError
from theory.paths import is_folder


def check_place(path: Path) -> None:
    """Refuse what is no folder, or a folder of runs, where one run's folder is expected.

    Raises
    ------
    InputError
        If there is no such folder, it is a file, or it holds runs and is none itself.
    """
    if not is_folder(path):
        raise _no_folder(path)
    if (path / "config.json").exists():
        return
    inside = sorted(file.parent for depth in ("*", "*/*") for file in path.glob(f"{depth}/config.json"))
    if inside:
        remedy = f"name one of them, such as {inside[0]}; sim.find_runs lists those in a folder"
        raise InputError("run", str(path), "holds runs and is none itself", remedy)


def _no_folder(path: Path) -> InputError:
    if not _is_there(path):
        return InputError("run", str(path), "no such folder", "make it with: anchorflow train CONFIG.toml")
    run = next((folder for folder in path.parents if (folder / "config.json").exists()), None)
    remedy = "name the folder of a run" if run is None else f"name the folder of its run, {run}"
    return InputError("run", str(path), "is a file", remedy)


def _is_there(path: Path) -> bool:
    try:
        return path.exists()
    except (OSError, ValueError):
        return False  # A name that no system allows.
