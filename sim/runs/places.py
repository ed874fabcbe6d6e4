"""Which folders are runs, and what is said where one was expected: a file, a folder of runs, or nothing."""

from __future__ import annotations

from pathlib import Path

from sim.runs.names import CONFIG
from theory import InputError
from theory.paths import is_folder


def is_run_folder(path: Path) -> bool:
    """Return whether a folder has a run's configuration, readable or not: a damaged run is refused by name.

    Raises
    ------
    OSError
        If the folder may not be looked into.
    """
    return (path / CONFIG).exists()


def runs_inside(folder: Path, *levels: int) -> list[Path]:
    """Return the run folders that lie some levels below a folder, sorted.

    Parameters
    ----------
    folder : Path
    *levels : int
        How far down to look: 1 for the runs of a study, 2 for those of its variants.
    """
    patterns = ["*/" * level + CONFIG for level in levels]
    return sorted(file.parent for pattern in patterns for file in folder.glob(pattern))


def check_place(path: Path) -> None:
    """Refuse what is no folder, or a folder of runs, where one run's folder is expected.

    Raises
    ------
    InputError
        If there is no such folder, it is a file, or it holds runs and is none itself.
    """
    if not is_folder(path):
        raise _no_folder(path)
    if is_run_folder(path):
        return
    inside = runs_inside(path, 1, 2)
    if inside:
        remedy = f"name one of them, such as {inside[0]}; sim.find_runs lists those in a folder"
        raise InputError("run", str(path), "holds runs and is none itself", remedy)


def _no_folder(path: Path) -> InputError:
    if not _is_there(path):
        return InputError("run", str(path), "no such folder", "make it with: anchorflow train CONFIG.toml")
    run = next(filter(is_run_folder, path.parents), None)
    remedy = "name the folder of a run" if run is None else f"name the folder of its run, {run}"
    return InputError("run", str(path), "is a file", remedy)


def _is_there(path: Path) -> bool:
    try:
        return path.exists()
    except (OSError, ValueError):
        return False  # A name that no system allows.
