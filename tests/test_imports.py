"""No module imports another in a circle; an import for types alone or inside a function counts too."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Mapping
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PACKAGES = ("theory", "sim", "validate")


def imports_of(root: Path, packages: Iterable[str]) -> dict[str, set[str]]:
    """Return which modules each module imports, those within functions and for type checkers included."""
    files = {
        ".".join(file.relative_to(root).with_suffix("").parts).removesuffix(".__init__"): file
        for package in packages
        for file in (root / package).rglob("*.py")
    }
    found: dict[str, set[str]] = {}
    for module, file in files.items():
        named = set()
        for node in ast.walk(ast.parse(file.read_text())):
            if isinstance(node, ast.Import):
                named |= {alias.name for alias in node.names}
            elif isinstance(node, ast.ImportFrom) and node.module:
                # A name may be a module of the package it is imported from, or be defined in it.
                inside = [f"{node.module}.{alias.name}" for alias in node.names]
                named |= {name if name in files else node.module for name in inside}
        found[module] = named & files.keys() - {module}
    return found


def circle_in(imports: Mapping[str, set[str]]) -> list[str]:
    """Return modules that import each other in a circle, or nothing."""
    try:
        tuple(TopologicalSorter(imports).static_order())
    except CycleError as error:
        return list(error.args[1])
    return []


def test_no_modules_import_each_other() -> None:
    assert circle_in(imports_of(ROOT, PACKAGES)) == []


def test_a_circle_is_seen_wherever_its_imports_are(tmp_path: Path) -> None:
    (tmp_path / "a").mkdir()
    (tmp_path / "a" / "__init__.py").write_text("")
    (tmp_path / "a" / "b.py").write_text("def f():\n    from a import c\n")
    (tmp_path / "a" / "c.py").write_text("if TYPE_CHECKING:\n    from a.b import f\n")
    assert set(circle_in(imports_of(tmp_path, ["a"]))) == {"a.b", "a.c"}
    (tmp_path / "a" / "c.py").write_text("")
    assert circle_in(imports_of(tmp_path, ["a"])) == []
