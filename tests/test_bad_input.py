"""Bad calls and bad command lines are refused in one sentence: every public function, every command."""

from __future__ import annotations

import importlib
from pathlib import Path

import pytest

from sim import make_run_config, train
from sim.config.task_files import as_task
from tests.fuzz.command_lines import TINY, cases
from tests.fuzz.report import CALLS, command_lines, walk
from theory import InputError
from validate import load_study


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


@pytest.mark.slow
def test_bad_command_lines_are_refused(tmp_path: Path) -> None:
    found = list(command_lines(tmp_path, 30))
    assert [str(ending) for ending in found if ending.failed] == []


def test_the_long_suite_has_thousands_of_command_lines() -> None:
    assert len(cases()) >= 2000


def test_a_configuration_that_names_itself_is_refused(tmp_path: Path) -> None:
    (tmp_path / "own.toml").write_text('task = "own.toml"\n')
    with pytest.raises(InputError, match="a configuration in place of a task"):
        as_task(str(tmp_path / "own.toml"))


@pytest.mark.parametrize("variants", ["1", '"x"', "[1]"])
def test_variants_that_are_no_table_are_refused(tmp_path: Path, variants: str) -> None:
    (tmp_path / "mine.toml").write_text(f'purpose = "None."\nvariants = {variants}\n')
    with pytest.raises(InputError, match="variants = "):
        load_study(tmp_path / "mine.toml")


@pytest.mark.parametrize(
    ("section", "key", "value"),
    [
        ("model", "d_m", 10_000_000),
        ("model", "n_layers", 1000),
        ("data", "n_sequences", 10**9),
        ("task", "vocab_size", 10**7),
    ],
)
def test_a_run_that_does_not_fit_into_memory_is_refused_first(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, section: str, key: str, value: int
) -> None:
    monkeypatch.setattr("theory.memory.machine_memory", lambda: 2**30)
    table = {name: dict(TINY[name]) for name in ("task", "model", "data", "training")}
    table["data"]["source"] = "draw"
    table["model"] |= {"d_m": 512, "d_f": 2048, "d_k": 64}
    table[section][key] = value
    with pytest.raises(InputError, match=r"training needs about .* GiB of memory and this machine has 1 GiB"):
        train(make_run_config(table), tmp_path / "runs")
    assert not (tmp_path / "runs").exists()
