"""One small valid call of every public callable, and the bad ones that differ from it in one argument.

An argument's value follows from its name; where a name means two things, ``otherwise`` says which of them a
function takes. A new function is called at once if its parameters have names that are known.
"""

import importlib
import inspect
from collections.abc import Callable, Iterator
from functools import partial
from operator import attrgetter
from pathlib import Path
from typing import Any

import numpy as np

from tests.fuzz.driver import Case, Ending, called

Call = tuple[Callable[..., Any], dict[str, Any]]


def valid_calls(package: str) -> dict[str, Call]:
    """Return a package's public callables, but for results, with the values that their parameters have."""
    module, known = importlib.import_module(package), importlib.import_module(f"tests.fuzz.of_{package}")
    values, otherwise = known.arguments()
    public = (name for name in module.__all__ if callable(getattr(module, name)))
    found: dict[str, Call] = {}
    for name in sorted({*public, *otherwise} - known.RESULTS):
        function, given = attrgetter(name)(module), values | otherwise.get(name, {})
        named = [p for p in inspect.signature(function).parameters.values() if p.kind is not p.VAR_KEYWORD]
        used = {p.name: given[p.name] for p in named if p.name in given or p.default is p.empty}
        options = otherwise.get(name, {}) if len(named) < len(inspect.signature(function).parameters) else {}
        found[name] = function, used | options
    return found


def bad_calls(package: str, folder: Path) -> Iterator[Case]:
    """Call a package's public functions with one bad argument after another."""
    for name, (function, arguments) in valid_calls(package).items():
        for argument, value in arguments.items():
            for variant, bad in variants(value):
                case, changed = f"{name}({argument} = {variant})", arguments | {argument: bad}
                must = must_refuse(variant, value) and (name, argument) not in ALLOWED
                yield partial(_ending, case, partial(function, **changed), must)


def _ending(case: str, call: Callable[[], object], must: bool) -> Ending:
    ending = called(case, call)
    return ending.of(case, "taken" if must and ending.how == "accepted" else "")


calls_of_theory, calls_of_sim, calls_of_validate = (
    partial(bad_calls, package) for package in ("theory", "sim", "validate")
)


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
    for name, number in (("negative", -1), ("foreign", 10**4), ("huge", 2**62)):
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
