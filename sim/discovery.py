"""Folders whose files register what they define, and which no module names: architectures and optimisers."""

import importlib
import pkgutil
from collections.abc import Collection


def import_files(package: str, *, but: Collection[str] = ()) -> None:
    """Import the files of a folder, apart from some, so that they register themselves."""
    for module in pkgutil.iter_modules(importlib.import_module(package).__path__):
        if module.name not in but:
            importlib.import_module(f"{package}.{module.name}")
