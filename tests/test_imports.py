"""The packages' text: who imports whom, and that a refusal names an argument first, its value second."""

import ast
import re
from functools import cache
from graphlib import TopologicalSorter
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PACKAGES = ("theory", "sim", "validate")
"""The lowest first."""
LAYERS = {
    "theory": ("edge", "task", "labels", "shapes", "integrate", "flows", "transformer", "corpus", "derive"),
    "sim": ("config", "optimizers", "data", "models", "fast", "architectures", "runs", "training"),
}
"""Folders of a package, the lowest first."""


@cache
def imports_of() -> dict[str, set[str]]:
    """Return which modules each module imports, those within functions and for type checkers included."""
    files = {
        ".".join(file.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__"): file
        for package in PACKAGES
        for file in (ROOT / package).rglob("*.py")
    }
    modules: dict[str, set[str]] = {}
    for module, file in files.items():
        named = set()
        for node in ast.walk(ast.parse(file.read_text())):
            if isinstance(node, ast.Import):
                named |= {alias.name for alias in node.names}
            elif isinstance(node, ast.ImportFrom) and node.module:
                # A name may be a module of the package it is imported from, or be defined in it.
                inside = [f"{node.module}.{alias.name}" for alias in node.names]
                named |= {name if name in files else node.module for name in inside}
        modules[module] = named & files.keys() - {module}
    return modules


def test_no_modules_import_each_other() -> None:
    tuple(TopologicalSorter(imports_of()).static_order())  # or a CycleError with the modules


def test_packages_import_only_those_below() -> None:
    for module, named in imports_of().items():
        above = PACKAGES[PACKAGES.index(module.split(".")[0]) + 1 :]
        assert not {name.split(".")[0] for name in named} & {*above}, module


def test_folders_import_only_those_below() -> None:
    """From a task to a prediction, and from a configuration to training: nothing climbs back up."""
    assert "sim.training.device_steps" in imports_of()["sim.training.trainer"]
    for module, named in imports_of().items():
        package, folder, *_ = [*module.split("."), ""]
        layers = LAYERS.get(package, ())
        if folder in layers:
            above = {f"{package}.{other}" for other in layers[layers.index(folder) + 1 :]}
            assert not {".".join(name.split(".")[:2]) for name in named} & above, module


ERRORS = {
    *("InputError", "UnwritableError", "BusyError", "NoRunsError", "NotObservedError"),
    "TooManyEntriesError",
}
NO_ARGUMENTS = {
    *("standard", "output", "working", "directory", "configuration", "manifest", "FILE", "import"),
    *("observable", "holds", "sha256", "print_completion"),
}
"""What refusals name that is no argument of a function."""


def test_the_argument_comes_first() -> None:
    names, calls = set(NO_ARGUMENTS), []
    for file in (file for package in PACKAGES for file in sorted((ROOT / package).rglob("*.py"))):
        for node in ast.walk(ast.parse(file.read_text())):
            if isinstance(node, ast.arg):
                names.add(node.arg)
            elif isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
                names.add(node.target.id)
            elif isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in ERRORS:
                calls.append((f"{file.relative_to(ROOT)}:{node.lineno}", node.args[:2]))
    wrong = []
    for where, (first, second) in calls:
        if isinstance(first, ast.Constant):
            parts = {part.replace("-", "_") for part in re.split(r"[., ]+|^--", first.value) if part}
            wrong += [where] * (not parts <= names)
        elif not isinstance(first, ast.JoinedStr):
            # A name is passed on; its value is no text that is written here.
            wrong += [where] * (
                isinstance(second, ast.JoinedStr) or isinstance(getattr(second, "value", 0), str)
            )
    assert len(calls) > 300
    assert wrong == []
