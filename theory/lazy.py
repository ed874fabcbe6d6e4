"""Public names that load their module at first use, so that reading help does not wait for torch."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Mapping, Sequence
from typing import Any


def lazy_names(package: str, homes: Mapping[str, Sequence[str]]) -> Callable[[str], Any]:
    """Return a module's ``__getattr__`` that finds each public name in its home module.

    Parameters
    ----------
    package : str
        The package that re-exports the names, for the error message.
    homes : mapping of str to sequence of str
        For each module the names that come from it.
    """
    home_of = {name: home for home, names in homes.items() for name in names}

    def load(name: str) -> Any:
        if name not in home_of:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        return getattr(importlib.import_module(home_of[name]), name)

    return load
