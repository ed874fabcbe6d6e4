"""Bad calls and bad command lines are refused in one sentence: every public function, every command."""

from __future__ import annotations

import importlib
from pathlib import Path

import pytest

from tests.fuzz.command_lines import cases
from tests.fuzz.report import CALLS, command_lines, walk


@pytest.mark.parametrize("package", CALLS)
def test_every_public_callable_has_a_valid_call(package: str) -> None:
    module, known = importlib.import_module(package), importlib.import_module(f"tests.fuzz.{CALLS[package]}")
    public = {name for name in module.__all__ if callable(getattr(module, name))}
    assert public <= known.calls().keys() | known.RESULTS


@pytest.mark.parametrize("package", CALLS)
def test_bad_arguments_are_refused(package: str) -> None:
    every = {"theory": 12, "sim": 8, "validate": 6}[package]
    found = list(walk(package, every))
    assert len(found) > 100
    assert [str(ending) for ending in found if ending.failed] == []


def test_bad_command_lines_are_refused(tmp_path: Path) -> None:
    found = list(command_lines(tmp_path, 100))
    assert [str(ending) for ending in found if ending.failed] == []


def test_the_long_suite_has_thousands_of_command_lines() -> None:
    assert len(cases()) >= 2000
