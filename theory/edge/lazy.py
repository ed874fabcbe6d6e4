"""Public names that load their module at first use, so that reading help does not wait for torch."""

from __future__ import annotations

import ast
import importlib
from collections.abc import Callable
from importlib.util import find_spec
from typing import Any


def lazy_names(package: str) -> tuple[Callable[[str], Any], Callable[[], list[str]], list[str]]:
    """Return a package's ``__getattr__``, ``__dir__`` and ``__all__``, from its imports for type checkers.

    ``package`` is the name of a package that lists its public names once, as ``from package.module import
    name as name`` under ``if TYPE_CHECKING``. Its source comes from its loader, which may read it from a zip.
    """
    loader: Any = getattr(find_spec(package), "loader", None)
    tree = ast.parse(loader.get_source(package))
    imports = [node for part in tree.body if isinstance(part, ast.If) for node in part.body]
    home_of = {
        alias.name: str(node.module)
        for node in imports
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
    }

    def load(name: str) -> Any:
        if name not in home_of:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        return getattr(importlib.import_module(home_of[name]), name)

    return load, lambda: sorted(home_of), sorted(home_of)
