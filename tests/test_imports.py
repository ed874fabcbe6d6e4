"""No package imports itself in a circle; an import for types alone or inside a function counts too."""

from __future__ import annotations

import ast
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent


def _modules(package: str) -> dict[str, Path]:
    files = (ROOT / package).rglob("*.py")
    names = {".".join(file.relative_to(ROOT).with_suffix("").parts): file for file in files}
    return {name.removesuffix(".__init__"): file for name, file in names.items()}


def _imported(file: Path, modules: dict[str, Path]) -> set[str]:
    """Return the modules of the package that a file imports from."""
    found = set()
    for node in ast.walk(ast.parse(file.read_text())):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            full = {f"{node.module}.{alias.name}" for alias in node.names}
            found |= (full & set(modules)) or {node.module}
    return found & set(modules)


@pytest.mark.parametrize("package", ["theory"])
def test_no_module_imports_itself_by_way_of_others(package: str) -> None:
    modules = _modules(package)
    try:
        TopologicalSorter({name: _imported(file, modules) for name, file in modules.items()}).prepare()
    except CycleError as error:
        pytest.fail(" → ".join(error.args[1]))
