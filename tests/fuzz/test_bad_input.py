"""Whatever is given, or put in the way, a command works or refuses in one sentence, and loses nothing."""

import contextlib
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sim import make_run_config, train
from sim.config.task_files import as_task
from tests.fuzz.calls import valid_calls
from tests.fuzz.command_lines import TINY, changed, places
from tests.fuzz.driver import ran_cases
from theory import InputError


@pytest.mark.filterwarnings("ignore::theory.OutsideValidityWarning")
@pytest.mark.parametrize("package", ["theory", "sim", "validate"])
def test_every_public_callable_has_a_valid_call(package: str, here: Path) -> None:
    for function, arguments in valid_calls(package).values():
        function(**arguments)


@pytest.mark.parametrize(
    ("kind", "every", "least"),
    [
        # Primes, so that a small share still has every variant somewhere.
        ("calls of theory", 11, 900),
        ("calls of sim", 7, 300),
        ("calls of validate", 5, 200),
        pytest.param("command lines", 29, 70, marks=pytest.mark.slow),
        pytest.param("edited outputs", 5, 6, marks=pytest.mark.slow),
        pytest.param("followed remedies", 2, 10, marks=pytest.mark.slow),
        pytest.param("strangers folders", 97, 100, marks=pytest.mark.slow),
    ],
)
def test_bad_input_is_refused_and_what_is_in_the_way_is_left_alone(kind: str, every: int, least: int) -> None:
    found = ran_cases(kind, every)
    assert len(found) >= least
    assert [str(ending) for ending in found if ending.failed] == []


LEAVES = st.none() | st.booleans() | st.integers(-5, 300) | st.floats()
VALUES = st.recursive(
    LEAVES | st.sampled_from(["", "1..3", "sum", "x", "9..2"]),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(["1", "a", "rule"]), inner, max_size=2)
    ),
    max_leaves=5,
)
MAPPINGS: list[dict[str, Any]] = [
    {"name": "a", "anchors": "1..3", "rule": "sum", "held_out": [[1, 2]]},
    {"name": "b", "anchors": [4, 5], "rule": "shift", "table": {"4": 2, "5": -1}},
    {"name": "c", "anchors": [6], "rule": "lookup", "low": 20, "high": 30},
    {"name": "d", "anchors": [7], "rule": "window"},
]
TASK = {"keys": "20..25", "n_anchors": 2, "length": 3, "vocab_size": 60, "mappings": MAPPINGS}
PLACES = [
    *places(TINY | {"task": TASK}),
    *(("task", "mappings", i, key) for i in range(4) for key in ("held_out", "table", "low", "label")),
]


@given(st.sampled_from(PLACES), VALUES)
@settings(max_examples=400)
def test_any_value_in_any_place_of_a_configuration(place: tuple[Any, ...], value: Any) -> None:
    assert make_run_config(TINY | {"task": TASK}).members()
    table = changed(TINY | {"task": TASK}, place, value)
    with contextlib.suppress(InputError):
        assert make_run_config(table).members()


def test_a_configuration_that_names_itself_is_refused(tmp_path: Path) -> None:
    (tmp_path / "own.toml").write_text('task = "own.toml"\n')
    with pytest.raises(InputError, match="a configuration in place of a task"):
        as_task(str(tmp_path / "own.toml"))


@pytest.mark.parametrize(
    ("section", "key", "value"),
    [
        *(("model", "d_m", 10_000_000), ("model", "n_layers", 1000)),
        *(("data", "n_sequences", 10**9), ("task", "vocab_size", 10**7)),
    ],
)
def test_a_run_that_does_not_fit_into_memory_is_refused_first(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, section: str, key: str, value: int
) -> None:
    monkeypatch.setattr("theory.edge.errors.machine_memory", lambda: 2**30)
    model = TINY["model"] | {"d_m": 512, "d_f": 2048, "d_k": 64}
    table = changed(TINY | {"model": model, "data": {"source": "draw"}}, (section, key), value)
    with pytest.raises(InputError, match=r"training needs about .* GiB of memory and this machine has 1 GiB"):
        train(make_run_config(table), tmp_path / "runs")
    assert not (tmp_path / "runs").exists()
