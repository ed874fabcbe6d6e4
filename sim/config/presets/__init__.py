"""Named configurations: the TOML files beside this one."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from sim.config.model import kind_of
from theory.checked import checked
from theory.errors import unknown_name
from theory.paths import PathLike, as_path
from theory.task.toml import load_toml

FOLDER = Path(__file__).resolve().parent


@checked
def load_preset(name: str, folder: PathLike = FOLDER) -> dict[str, Any]:
    """Return what a preset's file holds: the keys of a configuration, to be overridden with ``merge``.

    Parameters
    ----------
    name : str
        The name of a file in the folder, without its suffix.
    folder : str or Path, optional
        Where to look.

    Raises
    ------
    InputError
        If there is no preset of that name.
    """
    folder = as_path("folder", folder)
    known = preset_names(folder)
    if name not in known:
        raise unknown_name("preset", name, known)
    return load_toml(folder / f"{name}.toml")


@checked
def preset_names(folder: PathLike = FOLDER) -> list[str]:
    """Return the names of all presets, sorted."""
    return sorted(file.stem for file in as_path("folder", folder).glob("*.toml"))


def merge(base: Mapping[str, Any], over: Mapping[str, Any]) -> dict[str, Any]:
    """Return ``base`` with the keys of ``over`` put over it, tables key by key.

    A table that names another ``kind`` (of model) than the one below replaces it: their keys differ.
    """
    merged = dict(base)
    for key, value in over.items():
        below = merged.get(key)
        if isinstance(value, Mapping) and isinstance(below, Mapping):
            kind = kind_of(below)
            value = merge(below, value) if value.get("kind", kind) == kind else value
        merged[key] = value
    return merged
