"""The packages of the engine are in layers; tests/test_imports.py sees circles."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.test_imports import imports_of

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="module")
def imports() -> dict[str, set[str]]:
    """Return which modules of the engine each of them imports, also inside functions and for types alone."""
    return imports_of(ROOT, ("sim",))


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
def test_packages_are_in_layers(package: str, above: tuple[str, ...], imports: dict[str, set[str]]) -> None:
    assert "sim.training.device_steps" in imports["sim.training.trainer"]
    below = [name for name in imports if name.startswith(f"sim.{package}.")]
    assert below
    for name in below:
        wrong = {other for other in imports[name] if other.split(".")[1] in above}
        assert not wrong, (name, wrong)
