"""The training step of each checkpoint of a series, read from its path."""

from __future__ import annotations

import re
from collections.abc import Sequence

import numpy as np

from theory import InputError

KINDS = {
    "step": "global_?steps?|steps?",
    "iteration": "iterations?|iters?",
    "checkpoint": "checkpoints?|ckpts?",
    "epoch": "epochs?",
}
"""The words that a number may belong to, in the order in which they are believed."""
_FACTORS = {"": 1, "k": 10**3, "m": 10**6, "b": 10**9}
_NUMBER = r"(\d+\.\d+(?=[kKmMbB](?![a-zA-Z]))|\d+)([kKmMbB](?![a-zA-Z]))?"
_HASH = re.compile(r"(?<![0-9A-Za-z])(?=[0-9a-f]*[a-f])(?=[0-9a-f]*\d)[0-9a-f]{7,64}(?![0-9A-Za-z])")
_START = re.compile(r"(?<![a-z])(init(ial)?(ised|ized|isation|ization)?|random)(?![a-z])", re.IGNORECASE)


def steps_of(paths: Sequence[str]) -> list[int]:
    """Return the step of each path.

    It is the number beside "step", "iter", "checkpoint" or "epoch", or else the number in which the paths
    differ; k, M and B are understood, and "init" is step 0. Paths without any number keep their order; runs
    that share steps are numbered by name.

    Raises
    ------
    InputError
        If numbers disagree about the order, or a path has none.
    """
    plain = [_HASH.sub("", path) for path in paths]
    if not any(re.search(r"\d", path) for path in plain):
        return list(range(len(paths)))
    readings = dict[str, list[int]]()
    for kind, word in KINDS.items():
        for pattern in (rf"(?:{word})[-_=.: ]*{_NUMBER}", rf"{_NUMBER}[-_ ]?(?:{word})(?![a-z])"):
            found = [re.findall(pattern, path, re.IGNORECASE) for path in plain]
            complete = all(f or _START.search(p) for f, p in zip(found, plain, strict=True))
            if any(found) and complete and kind not in readings:
                readings[kind] = [_value(*numbers[-1]) if numbers else 0 for numbers in found]
    readings = readings or _unnamed(plain)
    distinct = {kind: numbers for kind, numbers in readings.items() if len(set(numbers)) == len(paths)}
    if len(readings) == 1 and not distinct and len({len(path.split("/")) for path in paths}) == 1:
        # Several runs under one pattern have the same steps: their places in order, 83 before 166.
        natural = sorted(
            paths, key=lambda path: [int(p) if p.isdigit() else p for p in re.split(r"(\d+)", path)]
        )
        return [natural.index(path) for path in paths]
    orders = {tuple(np.argsort(numbers)): kind for kind, numbers in distinct.items()}
    if len(orders) != 1:
        told = [
            f"by {kind}: {', '.join(map(str, readings[kind][:6]))}" for kind in orders.values() or readings
        ]
        problem = f"their names give no single order ({'; '.join(told[:2]) or 'some have no step'})"
        raise InputError("checkpoints", list(paths)[:6], problem, "give the steps (--steps)")
    return next(iter(distinct.values()))


def _value(digits: str, unit: str) -> int:
    return round(float(digits) * _FACTORS[unit.lower()])


def _unnamed(paths: Sequence[str]) -> dict[str, list[int]]:
    """Return each column of numbers in which the paths differ, the last first; "init" alone is 0."""
    rows = [[_value(*number) for number in re.findall(_NUMBER, path)][-12:] for path in paths]
    length = max(map(len, rows))
    rows = [
        [0] * length if len(r) < length and _START.search(p) else r for r, p in zip(rows, paths, strict=True)
    ]
    if min(map(len, rows)) < length:
        return {}
    columns = {f"number {i + 1}": [row[i] for row in rows] for i in reversed(range(length))}
    return {name: column for name, column in columns.items() if len(set(column)) == len(paths)}
