"""What every test may use: the largest error seen for each equation, and the data beside the project."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import settings

settings.register_profile("repeatable", derandomize=True, deadline=None)
settings.load_profile("repeatable")

_LARGEST = pytest.StashKey[dict[str, float]]()


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--equation-errors",
        type=Path,
        default=None,
        help="write the largest error that the tests saw for each equation to this JSON file",
    )
    parser.addoption("--long", action="store_true", help="run the tests that take minutes too")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    if not config.getoption("--long"):
        for item in items:
            if item.get_closest_marker("long"):
                item.add_marker(pytest.mark.skip(reason="takes minutes: make test-long"))


def pytest_configure(config: pytest.Config) -> None:
    config.stash[_LARGEST] = {}


@pytest.fixture
def record_error(request: pytest.FixtureRequest) -> Callable[[str, float], None]:
    """Remember the largest error seen for an equation, for the table in docs/equations.md."""
    largest = request.config.stash[_LARGEST]

    def record(equation: str, error: float) -> None:
        largest[equation] = max(float(error), largest.get(equation, 0.0))

    return record


def pytest_sessionfinish(session: pytest.Session) -> None:
    path = session.config.getoption("--equation-errors")
    if path is not None:
        path.write_text(json.dumps(session.config.stash[_LARGEST], indent=2, sort_keys=True) + "\n")
