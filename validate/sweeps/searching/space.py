"""What a search chooses from: the settings of a sweep, each of them one point of independent axes."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from theory import InputError
from validate.sweeps.sweep import Sweep

Choice = bool | int | float | str | None
Point = tuple[Choice, ...]


@dataclass(frozen=True)
class Space:
    """The settings of a sweep, without the seed.

    Attributes
    ----------
    choices : mapping of str to sequence
        The values of each axis that is chosen by itself, in the order of the sweep's file.
    runs : mapping of tuple to tuple of str
        The runs of each point, one for each seed.
    """

    choices: Mapping[str, Sequence[Choice]]
    runs: Mapping[Point, tuple[str, ...]]

    def point(self, chosen: Mapping[str, Any]) -> Point:
        """Return the point with these values."""
        return tuple(chosen[axis] for axis in self.choices)

    def named(self, point: Point) -> dict[str, Choice]:
        """Return the values of a point by their axes."""
        return dict(zip(self.choices, point, strict=True))


def space_of(sweep: Sweep) -> Space:
    """Return what can be chosen in a sweep.

    An axis that another one determines, as q does the length, is no choice of its own. If what is left is
    not a product, as in a zip, whole settings are chosen, by the name of their first run.

    Raises
    ------
    InputError
        If there is a single setting.
    """
    axes = [axis for axis in sweep.axes if axis != "seed"]
    rows = {name: tuple(row[axis] for axis in axes) for name, row in sweep.settings.items()}
    groups: dict[Point, tuple[str, ...]] = {}
    for name, row in rows.items():
        groups[row] = (*groups.get(row, ()), name)
    if len(groups) < 2:
        remedy = "give an axis several values; seeds are not searched over"
        raise InputError("sweep", sweep.name, "has a single setting", remedy)
    kept = _independent(list(groups), len(axes))
    choices = {axes[i]: list(dict.fromkeys(row[i] for row in groups)) for i in kept}
    if math.prod(map(len, choices.values())) == len(groups):
        return Space(choices, {tuple(row[i] for i in kept): runs for row, runs in groups.items()})
    return Space({"run": [runs[0] for runs in groups.values()]}, {(r[0],): r for r in groups.values()})


def _independent(rows: Sequence[Point], n_axes: int) -> list[int]:
    """Return the axes that vary and that no axis before them determines."""
    kept: list[int] = []
    for axis in range(n_axes):
        varies = len({row[axis] for row in rows}) > 1
        if varies and not any(_determines(rows, other, axis) for other in kept):
            kept.append(axis)
    return kept


def _determines(rows: Sequence[Point], one: int, other: int) -> bool:
    return len({(row[one], row[other]) for row in rows}) == len({row[one] for row in rows})
