"""A measure of the ledger over any two axes of a sweep; what is undefined or only bounded is told apart."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from sim.config.run import MemberConfig
from sim.runs.files import finite
from sim.runs.table import axes_of, settings_of
from theory.errors import unknown_name
from validate.figures.panels.heat_map import HeatMap
from validate.judge.bounds import Bound, Value, between, ends
from validate.judge.stats import estimate_text
from validate.sweeps.maps import in_order
from validate.sweeps.searching.measures import Measure
from validate.sweeps.spread import NO_SPREAD, Placed, Spread, as_grids, notes_of, placed, spread_of

Evaluated = tuple[MemberConfig, Sequence[Mapping[str, Any]]]
"""A run's configuration and its metrics, one entry for each evaluation."""
UNDEFINED, NO_RUN = "undefined", "–"
NOTES = {
    UNDEFINED: "no run there has a value, as where nothing was learned",
    NO_RUN: "no complete run is there",
    "≥": "at least; a run ended before its value was decided",
    "≤": "at most; a run ended before its value was decided",
    "?": "open; runs ended before their values were decided",
    "*": "the mean of some of the runs there, since the others have no value",
}
"""What the texts of cells mean."""


@dataclass(frozen=True)
class Cell:
    """What the runs at one pair of values of two axes show together.

    Attributes
    ----------
    values : tuple of float or Bound
        The measure of each run; NaN where it is undefined.
    spread : Spread
        How sure their mean is.
    """

    values: tuple[Value, ...]
    spread: Spread = NO_SPREAD

    @property
    def defined(self) -> tuple[Value, ...]:
        """The values of the runs that have one."""
        return tuple(value for value in self.values if not math.isnan(ends(value)[0]))

    @property
    def mean(self) -> Value:
        """The mean over the runs that have a value; a bound if one of them is, NaN if none has."""
        if not self.defined:
            return math.nan
        lows, highs = zip(*map(ends, self.defined), strict=True)
        return between(sum(lows) / len(lows), sum(highs) / len(highs))

    @property
    def number(self) -> float:
        """The mean, of a bound its finite end; NaN without any."""
        return next((end for end in ends(self.mean) if math.isfinite(end)), math.nan)

    @property
    def full_text(self) -> str:
        """The mean with its interval and the number of seeds, marked like ``text``."""
        if not self.defined:
            return self.text()
        low, high, mark = self.spread.low, self.spread.high, self.text(3)
        if low is not None:
            mean, _, interval = estimate_text(self.number, low, high).partition(" ")
            mark = f"{mean}{'*' * mark.endswith('*')} {interval}"
        return f"{mark} {self.spread.text}"

    def text(self, decimals: int = 2) -> str:
        """Return the mean as text, marked if it is a bound or leaves runs out."""
        if not self.values:
            return NO_RUN
        if not self.defined:
            return UNDEFINED
        side = ""
        if isinstance(self.mean, Bound):
            side = "≥" if math.isfinite(self.mean.low) else "≤"
        # Adding 0 makes −0 a plain 0.
        number = "?" if math.isnan(self.number) else f"{side}{round(self.number, decimals) + 0:.{decimals}f}"
        return number + "*" * (len(self.defined) < len(self.values))


@dataclass(frozen=True)
class MeasureMap:
    """A measure over two axes.

    Attributes
    ----------
    title : str
    x, y : (str, sequence)
        Each axis: its name and its values.
    cells : tuple of tuple of Cell
        Row by row, a row for each value of y.
    """

    title: str
    x: tuple[str, Sequence[object]]
    y: tuple[str, Sequence[object]]
    cells: tuple[tuple[Cell, ...], ...]

    def texts(self, decimals: int = 2) -> list[list[str]]:
        """Return the text of every cell, row by row."""
        return [[cell.text(decimals) for cell in row] for row in self.cells]

    @property
    def full_texts(self) -> list[list[str]]:
        """The text of every cell with its interval and its seeds, row by row."""
        return [[cell.full_text for cell in row] for row in self.cells]

    @property
    def notes(self) -> list[str]:
        """What the texts of the cells mean, those that occur."""
        shown = "".join(text for row in self.texts() for text in row)
        own = [f"{mark}: {meaning}" for mark, meaning in NOTES.items() if mark in shown]
        return [*own, *notes_of(self.full_texts)]

    def as_dict(self) -> dict[str, Any]:
        """Return plain data: of each cell the number, its two ends, the runs with a value, the interval."""
        kinds: dict[str, Callable[[Cell], Any]] = {
            "values": lambda cell: finite(cell.number),
            "low": lambda cell: finite(ends(cell.mean)[0]),
            "high": lambda cell: finite(ends(cell.mean)[1]),
            "runs": lambda cell: len(cell.values),
            "defined": lambda cell: len(cell.defined),
        }
        grids = {name: [[of(cell) for cell in row] for row in self.cells] for name, of in kinds.items()}
        spreads = as_grids([cell.spread for cell in row] for row in self.cells)
        return {"measure": self.title, "x": list(self.x[1]), "y": list(self.y[1])} | grids | spreads

    @property
    def panel(self) -> HeatMap:
        """The map as a picture: hatched where it is undefined, blank where there is no run."""
        numbers = np.array([[cell.number for cell in row] for row in self.cells])
        hatched = [[bool(cell.values) and math.isnan(cell.number) for cell in row] for row in self.cells]
        return HeatMap(self.title, self.x, self.y, numbers, texts=self.texts(), hatched=np.array(hatched))


def measure_map(runs: Sequence[Evaluated], measure: Measure, x: str, y: str) -> MeasureMap:
    """Return a measure over two axes, each cell over all runs that agree in both.

    Parameters
    ----------
    runs : sequence of (MemberConfig, list of dict)
        The configuration and the metrics of complete runs.
    measure : Measure
    x, y : str
        Two settings in which the runs may differ, by their columns in the table.

    Raises
    ------
    InputError
        If the runs have no such axis, or one of them lacks a data set that the measure needs.
    """
    for axis in (x, y):
        # Also one in which these runs do not differ: of a sweep that has only begun, say.
        if not any(axis in settings_of(config) for config, _ in runs):
            raise unknown_name("axis", axis, axes_of(config for config, _ in runs))
    at: dict[tuple[Any, Any], list[tuple[Value, Placed]]] = defaultdict(list)
    for config, metrics in runs:
        measure.check_parts("measure", metrics[0]["accuracy"])
        settings = settings_of(config)
        at[settings.get(x), settings.get(y)].append(
            (measure.of_complete(config, metrics), placed(settings, x, y))
        )
    xs, ys = (in_order({pair[i] for pair in at}) for i in (0, 1))
    cells = tuple(tuple(_cell(at.get((a, b), []), measure.within) for a in xs) for b in ys)
    return MeasureMap(measure.name, (x, xs), (y, ys), cells)


def _cell(found: Sequence[tuple[Value, Placed]], within: tuple[float, float]) -> Cell:
    values, runs = [value for value, _ in found], [run for _, run in found]
    return Cell(tuple(values), spread_of(values, runs, within))
