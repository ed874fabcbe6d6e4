"""Numbers that a user sees, recorded: ``python -m tests.golden`` compares them with today's.

Each module of this package has a function ``entries()`` that yields (name, value) pairs computed through
public names and commands only. Of the numbers in a value, in order, their count and three sums are recorded:
plain, of squares, and against fixed random weights, so that a change of any, or of their order, is seen.
"""

import contextlib
import importlib
import io
import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import fields, is_dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np

from validate.cli import main

FOLDER = Path(__file__).parent
RTOL = 1e-9
"""Of entries that no part of a name in the module's ``RTOLS`` mentions: what processors leave of a double."""


def numbers(value: Any) -> Iterator[float]:
    """Yield the numbers in a value: of a text its bytes, of a dictionary by its sorted keys."""
    if hasattr(value, "detach"):
        value = value.detach().numpy()
    if hasattr(value, "toarray"):  # Sparse; that of SciPy 1.13 cannot be iterated over to its numbers.
        value = value.toarray()
    if isinstance(value, np.ndarray) and value.dtype != object:
        yield from value.astype(float).ravel().tolist()
    elif isinstance(value, Fraction):
        yield from (value.numerator, value.denominator)
    elif value is None or isinstance(value, (bool, int, float, np.generic)):
        yield np.nan if value is None else float(value)
    elif isinstance(value, str):
        yield from value.encode()
    elif isinstance(value, Mapping):
        yield from numbers([value[key] for key in sorted(value)])
    elif is_dataclass(value):
        yield from numbers([getattr(value, field.name) for field in fields(value)])
    else:
        for item in value:
            yield from numbers(item)


def summary(array: Any) -> list[float]:
    """Return the count of numbers and their sums; NaN counts as 1e9, infinity as 1e12."""
    array = np.nan_to_num(array, nan=1e9, posinf=1e12, neginf=-1e12)
    weights = np.random.default_rng(0).uniform(1, 2, array.size)
    return [array.size, float(array.sum()), float((array**2).sum()), float(array @ weights)]


def said(*arguments: str) -> str:
    """Return what a command prints that succeeds, whatever its verdicts."""
    with contextlib.redirect_stdout(io.StringIO()) as out, contextlib.redirect_stderr(io.StringIO()):
        code = main([*arguments])
    assert code in (0, 1), arguments
    return out.getvalue()


def leaves(value: Any, path: str = "") -> Iterator[tuple[str, float]]:
    """Yield every number in nested lists and dictionaries, as of a command's JSON, with its path."""
    if isinstance(value, dict | list | tuple):
        for key, item in value.items() if isinstance(value, dict) else enumerate(value):
            yield from leaves(item, f"{path}/{key}")
    elif isinstance(value, int | float) and not isinstance(value, bool):
        yield path, float(value)


def areas() -> list[str]:
    """Return the names of the modules that have a record."""
    return sorted(file.stem for file in FOLDER.glob("*.json"))


def compute(area: str) -> dict[str, Any]:
    """Return the numbers of one area's entries."""
    pairs: Iterable[tuple[str, Any]] = importlib.import_module(f"tests.golden.{area}").entries()
    return {name: np.fromiter(numbers(value), float) for name, value in pairs}


def tolerance(area: str, name: str) -> float:
    """Return the relative tolerance of an entry: of the first part of its name that has one."""
    own: Mapping[str, float] = getattr(importlib.import_module(f"tests.golden.{area}"), "RTOLS", {})
    return next((rtol for part, rtol in own.items() if part in name), RTOL)


def differences(area: str) -> list[str]:
    """Return one line for each entry of an area that is missing, new, or differs from what was recorded."""
    recorded, computed = json.loads((FOLDER / f"{area}.json").read_text()), compute(area)
    found = [f"{name}: in one of the two alone" for name in recorded.keys() ^ computed.keys()]
    for name in sorted(recorded.keys() & computed.keys()):
        was, now = recorded[name], summary(computed[name])
        finite = summary(np.where(np.isfinite(computed[name]), computed[name], 0.0))
        # Beside what is undefined, a large number, the others are known to its rounding.
        near = tolerance(area, name) * (np.abs(finite) + np.sqrt(finite[2])) + 1e-14 * np.abs(was)
        if np.any(np.abs(np.subtract(now, was)) > near):
            found.append(f"{name}: recorded {was}, now {now}")
    return [f"{area}: {line}" for line in found]
