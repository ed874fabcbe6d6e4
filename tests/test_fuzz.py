"""Whatever a TOML file may hold, a task is either built or refused in one sentence: no other exception."""

from __future__ import annotations

import contextlib
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from sim import make_run_config
from theory import InputError, Task
from theory.task.task import task_from_dict

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
PLACES = [
    *((key,) for key in GOOD),
    *(
        ("mappings", i, key)
        for i in range(4)
        for key in ("name", "anchors", "rule", "held_out", "table", "low", "high")
    ),
]


def _with(place: tuple[Any, ...], value: Any) -> dict[str, Any]:
    """Return the good task with one value replaced or added."""
    if len(place) == 1:
        return GOOD | {place[0]: value}
    mappings = [dict(m) for m in GOOD["mappings"]]
    mappings[place[1]][place[2]] = value
    return GOOD | {"mappings": mappings}


@given(st.sampled_from(PLACES), VALUES)
@settings(max_examples=600)
def test_any_value_in_any_place_of_a_task(place: tuple[Any, ...], value: Any) -> None:
    with contextlib.suppress(InputError):
        assert isinstance(task_from_dict(_with(place, value)), Task)


@given(
    st.sampled_from(["init_rates", "seeds", "task", "model", "data", "training"]),
    VALUES
    | st.dictionaries(st.sampled_from(["epochs", "batch_size", "d_m", "source", "kind"]), VALUES, max_size=3),
)
@settings(max_examples=400)
def test_any_value_in_any_place_of_a_configuration(key: str, value: Any) -> None:
    with contextlib.suppress(InputError):
        assert make_run_config({"task": GOOD, key: value}).members()


def test_the_good_task_is_good() -> None:
    assert task_from_dict(GOOD).anchors == (1, 2, 3, 4, 5, 6, 7)
