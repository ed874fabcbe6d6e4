"""The three packages beside this one; another folder of the same name is recognised."""

from __future__ import annotations

import importlib
import sys
from importlib.util import find_spec
from pathlib import Path
from types import ModuleType

ROOT = Path(__file__).resolve().parent.parent
NAMES = {"theory": "Task", "sim": "RunConfig", "validate": "judge_claims"}
"""The packages, each after those that it needs, and a public name of each."""


def load(name: str) -> ModuleType:
    """Return one of the packages.

    Raises
    ------
    ImportError
        If Python would find, or has loaded, a different package by its name or by the name of one it needs,
        or if another project, such as ``configobj``, was installed into the same folder.
    """
    for package, public in NAMES.items():
        loaded = sys.modules.get(package)
        spec = find_spec(package) if loaded is None else loaded.__spec__
        if spec is None:
            raise ImportError(f"anchorflow's package {package} is not installed: install anchorflow again")
        folders = spec.submodule_search_locations
        place = Path(next(iter(folders)) if folders else str(spec.origin))
        if place.resolve() != ROOT / package:
            raise ImportError(
                f"{place} hides anchorflow's package {package!r}: rename it, or start Python with -P, which "
                "does not search the current or the script's folder (the command anchorflow never does)"
            )
        if public not in dir(importlib.import_module(package)):
            from importlib.metadata import packages_distributions

            others = sorted({*packages_distributions().get(package, ())} - {"anchorflow"})
            raise ImportError(
                f"{place} is not anchorflow's package {package!r} any more: "
                f"{' and '.join(others) or 'another'} was installed over it, "
                "or removed with it; give anchorflow an environment of its own"
            )
        if package == name:
            break
    return sys.modules[name]
