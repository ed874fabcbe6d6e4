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
    _check(records, shown)
    values = _by_run(records, shown, shown.data_set)
    if shown.minus:
        less = _by_run(records, shown, shown.minus)
        values = {run: value - less[run] for run, value in values.items()}
    at = {record["run"]: (record[shown.x], record[shown.y]) for record in records}
    cells = defaultdict(list)
    for run, value in values.items():
        cells[at[run]].append(value)
    xs, ys = (in_order({pair[i] for pair in cells}) for i in (0, 1))
    grid = [[float(np.mean(cells[x, y])) if (x, y) in cells else math.nan for x in xs] for y in ys]
    found: FloatArray = np.array(grid)
    return HeatMap(shown.title, (shown.x, xs), (shown.y, ys), found)


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
    columns = list(records[0]) if records else []
    axes = columns[1 : columns.index("epoch")] if records else []
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
