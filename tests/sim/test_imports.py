"""Modules of the engine import each other one way, also inside functions and for annotations alone."""

from __future__ import annotations

import ast
import graphlib
from pathlib import Path

import pytest

import sim

FOLDER = Path(sim.__file__).parent


def _modules() -> dict[str, Path]:
    """Return the engine's modules, without the package's own list of public names."""
    files = [file for file in FOLDER.rglob("*.py") if file != FOLDER / "__init__.py"]
    named = {".".join(("sim", *file.relative_to(FOLDER).with_suffix("").parts)): file for file in files}
    return {name.removesuffix(".__init__"): file for name, file in named.items()}


def _imported(file: Path, known: dict[str, Path]) -> set[str]:
    found: set[str] = set()
    for node in ast.walk(ast.parse(file.read_text())):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            inside = {f"{node.module}.{alias.name}" for alias in node.names}
            found |= (inside & known.keys()) or {node.module}
    return found & known.keys()


def test_no_module_imports_itself_through_others() -> None:
    known = _modules()
    assert len(known) > 40
    graph = {name: _imported(file, known) for name, file in known.items()}
    assert "sim.training.state" in graph["sim.training.device_steps"]
    order = list(graphlib.TopologicalSorter(graph).static_order())
    assert order.index("sim.training.state") < order.index("sim.training.trainer")


@pytest.mark.parametrize(
    ("package", "above"),
    [
        ("config", ("data", "models", "fast", "runs", "training")),
        ("data", ("models", "fast", "runs", "training")),
        ("models", ("fast", "runs", "training")),
        ("fast", ("runs", "training")),
        ("runs", ("training",)),
    ],
)
def test_packages_are_in_layers(package: str, above: tuple[str, ...]) -> None:
    known = _modules()
    for name, file in known.items():
        if name.split(".")[1] == package:
            wrong = {m for m in _imported(file, known) if m.split(".")[1] in above}
            assert not wrong, (name, wrong)
