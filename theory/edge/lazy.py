"""Public names that load their module at first use, so that reading help does not wait for torch."""

from __future__ import annotations

import ast
import importlib
from collections.abc import Callable
from pathlib import Path
from typing import Any


def lazy_names(package: str, file: str) -> tuple[Callable[[str], Any], Callable[[], list[str]], list[str]]:
    """Return a package's ``__getattr__``, ``__dir__`` and ``__all__``, from its imports for type checkers.

    ``package`` and ``file`` are ``__name__`` and ``__file__`` of a package that lists its public names once,
    as ``from package.module import name as name`` under ``if TYPE_CHECKING``.
    """
    tree = ast.parse(Path(file).read_text(encoding="utf-8"))
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
