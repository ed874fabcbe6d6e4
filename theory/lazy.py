"""Public names that load their module at first use, so that reading help does not wait for torch."""

from __future__ import annotations

import ast
import importlib
from collections.abc import Callable
from pathlib import Path
from typing import Any


def lazy_names(package: str, file: str) -> tuple[Callable[[str], Any], Callable[[], list[str]], list[str]]:
    """Return a package's ``__getattr__``, ``__dir__`` and ``__all__``: what it imports for type checkers.

    Parameters
    ----------
    package, file : str
        ``__name__`` and ``__file__`` of a package that lists its public names once, as
        ``from package.module import name as name`` under ``if TYPE_CHECKING``. A name under another one,
        ``name as former_name``, can be imported and is not listed.
    """
    blocks = [
        node for node in ast.parse(Path(file).read_text(encoding="utf-8")).body if isinstance(node, ast.If)
    ]
    imports = [node for block in blocks for node in block.body if isinstance(node, ast.ImportFrom)]
    home_of = {
        alias.asname or alias.name: (str(node.module), alias.name) for node in imports for alias in node.names
    }

    def load(name: str) -> Any:
        if name not in home_of:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        module, own_name = home_of[name]
        return getattr(importlib.import_module(module), own_name)

    names = sorted(name for name, (_, own_name) in home_of.items() if name == own_name)
    return load, lambda: names, names
