"""The three packages, found beside this one: another folder of the same name is recognised."""

from __future__ import annotations

import importlib
import sys
from importlib.util import find_spec
from pathlib import Path
from types import ModuleType

ROOT = Path(__file__).resolve().parent.parent
NEEDS = {"theory": ("theory",), "sim": ("theory", "sim"), "validate": ("theory", "sim", "validate")}
"""Each package, and those that it imports."""


def load(name: str) -> ModuleType:
    """Return one of the packages.

    Raises
    ------
    ImportError
        If Python would find, or has loaded, another package under its name or under that of one it needs.
    """
    for package in NEEDS[name]:
        _check(package)
    return importlib.import_module(name)


def _check(package: str) -> None:
    place = _place(package)
    if place is None:
        raise ImportError(f"anchorflow's package {package} is not installed: install anchorflow again")
    if place.resolve() != ROOT / package:
        raise ImportError(
            f"{place} hides anchorflow's package {package!r}: rename it, or start Python with -P, which "
            "does not search the current or the script's folder (the command anchorflow never does)"
        )


def _place(package: str) -> Path | None:
    """Return the folder of a package, or the file of a module, without importing it."""
    loaded = sys.modules.get(package)
    spec = loaded.__spec__ if loaded is not None else find_spec(package)
    if spec is None:
        return None
    if spec.submodule_search_locations:
        return Path(next(iter(spec.submodule_search_locations)))
    return Path(spec.origin) if spec.origin else None
