"""What may stand in an argument's position and should not: made from one valid value."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

NAN, INF = float("nan"), float("inf")
GENERIC: dict[str, Any] = {
    **{"None": None, "text": "zzz", "empty text": "", "control characters": "a\x00b\n", "bytes": b"x"},
    **{"object": object(), "complex": 1j, "table": {"zzz": 1}, "empty table": {}, "true": True},
    **{"NaN": NAN, "infinity": INF, "minus infinity": -INF, "half": 0.5, "zero": 0, "minus one": -1},
    **{"huge": 10**30, "minus huge": -(10**30), "huge float": 1e300, "empty list": []},
    **{"list of text": ["zzz"], "list of None": [None], "list of NaN": [NAN], "list of huge": [10**30]},
    **{"ragged list": [[1, 2], [3]], "nested list": [[[1]]], "array of NaN": np.full((3, 3), NAN)},
    **{"empty array": np.zeros((0,)), "empty matrix": np.zeros((2, 0))},
    **{"array of objects": np.array([object(), object()]), "array of text": np.array(["zzz", "y"])},
}
WRONG_TYPE = frozenset(
    {"bytes", "object", "complex", "list of None", "ragged list", "array of objects"} | {"control characters"}
)
"""No argument of the toolkit takes these, whatever its type."""
NO_NUMBER = frozenset({"text", "empty text", "true", "as text", "table", "empty table", "empty list"})
"""Nor does an argument that is a number."""
UNDEFINED = frozenset({"NaN", "infinity", "minus infinity", "list of NaN", "array of NaN"})
"""Numbers that are none."""
NUMBERS = (int, float, np.integer, np.floating)


def variants(value: Any) -> Iterator[tuple[str, Any]]:
    """Return names and values that differ from a valid one in type, range, shape or content."""
    yield from GENERIC.items()
    if isinstance(value, NUMBERS) and not isinstance(value, bool):
        yield from {"negated": -value, "as text": str(value), "in a list": [value]}.items()
    numbers = _numbers(value)
    if numbers is not None:
        yield from _arrays(numbers)


ALLOWED: dict[tuple[str, str], str] = {
    ("off_diagonal", "matrix"): "the cosines of a zero vector are NaN",
    ("measures", "predicted"): "the cosines of a zero vector are NaN",
    ("measures", "observed"): "the cosines of a zero vector are NaN",
    ("over_seeds", "values"): "a measure may be undefined for a seed",
    ("over_seeds", "within"): "a measure may have no bound",
    ("Mapping", "held_out"): "how long a combination is, only the task knows",
    ("Tabulated", "labels"): "how many keys and combinations there are, only the task knows",
    **{
        (name, "sequences"): "the sequences of a corpus have lengths of their own"
        for name in (
            *("context_operator", "corpus_associations", "corpus_counts"),
            *("corpus_geometry", "nearest_tokens", "shuffled_tokens"),
        )
    },
    ("RunConfig", "task"): "a name is looked up when the runs are made",
}
"""Arguments that take what others do not, and why."""


def must_refuse(name: str, value: Any) -> bool:
    """Return whether no valid argument can look like that where ``value`` is one."""
    if isinstance(value, NUMBERS) and not isinstance(value, bool) and name in NO_NUMBER:
        return True
    return name in WRONG_TYPE or name in UNDEFINED or name.startswith("array with")


def _numbers(value: Any) -> Any:
    """Return an argument's numbers as an array, or None if it has none."""
    if not isinstance(value, (np.ndarray, list, tuple, range)) or len(value) == 0:
        return None
    try:
        array = np.asarray(value)
    except ValueError:
        return None
    return array if array.dtype.kind in "iuf" else None


def _arrays(array: Any) -> Iterator[tuple[str, Any]]:
    """Return variants of an array of numbers: content, type, shape."""
    for name, number in (("NaN", NAN), ("infinity", INF)):
        changed = array.astype(np.float64)
        changed.flat[-1] = number
        yield f"array with {name}", changed
    yield "array with complex entries", array.astype(np.complex128)
    yield "array with object entries", array.astype(object)[..., None]
    yield "array with text entries", array.astype(str)
    for name, number in (("negative", -1), ("foreign", 10**5), ("huge", 2**62)):
        changed = array.copy()
        changed.flat[0] = number
        yield f"{name} entry", changed
    yield "one axis more", array[None]
    yield "one axis fewer", array[0]
    yield "one row fewer", array[:-1]
    yield "one row more", np.concatenate([array, array[-1:]])
    yield "no rows", array[:0]
    yield "reversed", array[::-1]
    if array.ndim > 1:
        yield "one column fewer", array[..., :-1]
        yield "no columns", array[..., :0]
        yield "transposed", array.T
