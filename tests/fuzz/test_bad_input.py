"""Whatever is given, or put in the way, a command works or refuses in one sentence, and loses nothing."""

from __future__ import annotations

import importlib
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sim import make_run_config, train
from sim.config.task_files import as_task
from tests.fuzz.command_lines import TINY
from tests.fuzz.kinds import CALLS, ran_cases
from theory import InputError, Task
from theory.task.task import task_from_dict
from validate import load_study


@pytest.mark.filterwarnings("ignore::theory.OutsideValidityWarning")
@pytest.mark.parametrize("package", CALLS)
def test_every_public_callable_has_a_valid_call(
    package: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    module, known = importlib.import_module(package), importlib.import_module(f"tests.fuzz.{CALLS[package]}")
    public = {name for name in module.__all__ if callable(getattr(module, name))}
    assert public <= known.calls().keys() | known.RESULTS
    for function, arguments in known.calls().values():
        function(**arguments)


@pytest.mark.parametrize(
    ("kind", "every", "least"),
    [
        # Primes, so that a small share still has every variant somewhere.
        ("calls of theory", 11, 900),
        ("calls of sim", 7, 300),
        ("calls of validate", 5, 200),
        ("names_like_temporaries", 41, 5),
        ("identity_files", 47, 4),
        ("hostile_tokens", 17, 2),
        ("unusual_tokenizers", 11, 2),
        pytest.param("command lines", 29, 70, marks=pytest.mark.slow),
        pytest.param("edited_outputs", 5, 6, marks=pytest.mark.slow),
        pytest.param("followed_remedies", 2, 10, marks=pytest.mark.slow),
    ],
)
def test_bad_input_is_refused_and_what_stands_in_the_way_is_left_alone(
    kind: str, every: int, least: int
) -> None:
    found = ran_cases(kind, every)
    assert len(found) >= least
    assert [str(ending) for ending in found if ending.failed] == []


VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-5, 300)
    | st.floats()
    | st.sampled_from(["", "1..3", "sum", "x", "9..2"]),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(["1", "a", "rule"]), inner, max_size=2)
    ),
    max_leaves=5,
)
GOOD: dict[str, Any] = {
    "keys": "20..25",
    "n_anchors": 2,
    "length": 3,
    "vocab_size": 60,
    "mappings": [
        {"name": "a", "anchors": "1..3", "rule": "sum", "held_out": [[1, 2]]},
        {"name": "b", "anchors": [4, 5], "rule": "shift", "table": {"4": 2, "5": -1}},
        {"name": "c", "anchors": [6], "rule": "lookup", "low": 20, "high": 30},
        {"name": "d", "anchors": [7], "rule": "window"},
    ],
}
OF_MAPPINGS = ("name", "anchors", "rule", "held_out", "table", "low", "high")
PLACES = [*((key,) for key in GOOD), *(("mappings", i, key) for i in range(4) for key in OF_MAPPINGS)]
SECTIONS = ("init_rates", "seeds", "task", "model", "data", "training")
KEYS = st.sampled_from(["epochs", "batch_size", "d_m", "source", "kind"])


def _with(place: tuple[Any, ...], value: Any) -> dict[str, Any]:
    """Return the good task with one value replaced or added."""
    if len(place) == 1:
        return GOOD | {place[0]: value}
    mappings = [dict(m) for m in GOOD["mappings"]]
    mappings[place[1]][place[2]] = value
    return GOOD | {"mappings": mappings}


def _is_made(make: Any, argument: Any) -> bool:
    try:
        return bool(make(argument))
    except InputError:
        return False


@given(st.sampled_from(PLACES), VALUES)
@settings(max_examples=300)
def test_any_value_in_any_place_of_a_task(place: tuple[Any, ...], value: Any) -> None:
    _is_made(lambda table: isinstance(task_from_dict(table), Task), _with(place, value))


@given(st.sampled_from(SECTIONS), VALUES | st.dictionaries(KEYS, VALUES, max_size=3))
@settings(max_examples=200)
def test_any_value_in_any_place_of_a_configuration(key: str, value: Any) -> None:
    _is_made(lambda table: make_run_config(table).members(), {"task": GOOD, key: value})


def test_the_good_task_is_good() -> None:
    assert _is_made(lambda table: task_from_dict(table).anchors == (1, 2, 3, 4, 5, 6, 7), GOOD)


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
    monkeypatch.setattr("theory.errors.machine_memory", lambda: 2**30)
    table = {name: dict(TINY[name]) for name in ("task", "model", "data", "training")}
    table["data"]["source"] = "draw"
    table["model"] |= {"d_m": 512, "d_f": 2048, "d_k": 64}
    table[section][key] = value
    with pytest.raises(InputError, match=r"training needs about .* GiB of memory and this machine has 1 GiB"):
        train(make_run_config(table), tmp_path / "runs")
    assert not (tmp_path / "runs").exists()
