"""A statistic of a sweep over any two of its axes."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from theory import InputError
from theory.arrays import FloatArray
from theory.errors import unknown_name
from validate.figures.panels.heat_map import HeatMap
from validate.judge.stats import ANY, SHARE, SIZE
from validate.sweeps.spread import NO_SPREAD, Placed, Spread, placed, spread_of


@dataclass(frozen=True)
class Shown:
    """What a map shows.

    Attributes
    ----------
    x, y : str
        Two axes of the table.
    statistic : str
        "accuracy" or "loss".
    data_set : str
    minus : str
        Another data set, whose statistic is subtracted; none if empty.
    epoch : float or None
        When; by default at the last evaluation of each run.
    """

    x: str
    y: str
    statistic: str = "accuracy"
    data_set: str = "rsn_test"
    minus: str = ""
    epoch: float | None = None

    @property
    def title(self) -> str:
        """What the map shows, in words."""
        when = "at the end" if self.epoch is None else f"at epoch {self.epoch:g}"
        return f"{self.statistic} {self.data_set}{f' − {self.minus}' if self.minus else ''}, {when}"

    @property
    def within(self) -> tuple[float, float]:
        """The values that it can take."""
        if self.statistic == "loss":
            return ANY if self.minus else SIZE
        return (-1.0, 1.0) if self.minus else SHARE


def map_of(records: Sequence[Mapping[str, Any]], shown: Shown) -> HeatMap:
    """Return the mean of a statistic over the runs at each pair of values of two axes.

    Parameters
    ----------
    records : sequence of dict
        A long table.
    shown : Shown

    Raises
    ------
    InputError
        If the table has no such axis, statistic, data set or epoch.
    """
    return mean_map(records, shown)[0]


def mean_map(records: Sequence[Mapping[str, Any]], shown: Shown) -> tuple[HeatMap, list[list[Spread | None]]]:
    """Return the same with how sure each mean is; none where no run is.

    Raises
    ------
    InputError
        As ``map_of``.
    """
    _check(records, shown)
    cells = _cells(records, shown)
    xs, ys = (in_order({pair[i] for pair in cells}) for i in (0, 1))
    means: FloatArray = np.full((len(ys), len(xs)), math.nan)
    spreads: list[list[Spread | None]] = [[None for _ in xs] for _ in ys]
    for (x, y), found in cells.items():
        row, column = ys.index(y), xs.index(x)
        values, runs = [value for value, _ in found], [run for _, run in found]
        means[row, column] = np.mean(values)
        is_finite = math.isfinite(means[row, column])
        spreads[row][column] = spread_of(values, runs, shown.within) if is_finite else NO_SPREAD
    return HeatMap(shown.title, (shown.x, xs), (shown.y, ys), means), spreads


def _cells(
    records: Sequence[Mapping[str, Any]], shown: Shown
) -> dict[tuple[Any, Any], list[tuple[float, Placed]]]:
    """Return the statistic of the runs at each pair of values, each with the run's seed and settings."""
    values = _by_run(records, shown, shown.data_set)
    less = _by_run(records, shown, shown.minus) if shown.minus else dict.fromkeys(values, 0.0)
    axes = _axes(records)
    settings = {record["run"]: {axis: record[axis] for axis in axes} for record in records}
    cells = defaultdict(list)
    for run, value in values.items():
        own = settings[run]
        cells[own[shown.x], own[shown.y]].append((value - less[run], placed(own, shown.x, shown.y)))
    return cells


def _axes(records: Sequence[Mapping[str, Any]]) -> list[str]:
    columns = list(records[0]) if records else []
    return columns[1 : columns.index("epoch")] if records else []


def _by_run(records: Sequence[Mapping[str, Any]], shown: Shown, data_set: str) -> dict[str, float]:
    """Return a statistic of every run at the epoch that is shown; a loss that is not finite is NaN."""
    found: dict[str, float] = {}
    for record in records:
        if record["statistic"] != shown.statistic or record["data_set"] != data_set:
            continue
        if shown.epoch is None or record["epoch"] == shown.epoch:
            found[record["run"]] = math.nan if record["value"] is None else float(record["value"])
    if not found:
        raise InputError("epoch", shown.epoch, "no run was evaluated then", "choose an epoch of the table")
    return found


def _check(records: Sequence[Mapping[str, Any]], shown: Shown) -> None:
    axes = _axes(records)
    for axis in (shown.x, shown.y):
        if axis not in axes:
            raise unknown_name("axis", axis, axes)
    for name in ("statistic", "data_set"):
        known = {record[name] for record in records} - {"", "sum_learning_rate"}
        wanted = [getattr(shown, name), *([shown.minus] if name == "data_set" and shown.minus else [])]
        for value in wanted:
            if value not in known:
                raise unknown_name(name, value, known)


def in_order(values: Iterable[Any]) -> list[Any]:
    """Return the values of an axis: what is missing first, numbers by size, words by the alphabet."""
    return sorted(values, key=_order)


def _order(value: Any) -> tuple[str, Any]:
    if value is None:
        return "", 0
    return ("number", value) if isinstance(value, int | float) else ("word", value)
