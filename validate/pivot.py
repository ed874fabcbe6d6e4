"""A measure of a sweep's runs over two of its axes: the mean in each cell, and its interval."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from sim.config.run import MemberConfig
from sim.runs.files import finite
from sim.runs.table import axes_of, settings_of
from theory import InputError
from theory.edge.errors import unknown_name
from validate.figures.heat_map import HeatMap
from validate.judge.measures.learning import highest_accuracy, learned_bias, matched_test_accuracy
from validate.judge.stats import ANY, SHARE, SIZE, estimate_text, over_seeds
from validate.observe import Observations
from validate.observe.bounds import Bound, Value, ends, extreme
from validate.studies.axes import ALIASES

Evaluated = tuple[MemberConfig, Sequence[Mapping[str, Any]]]
"""A run's configuration and its metrics, one entry for each evaluation."""
UNDEFINED, NO_RUN, NO_INTERVAL = "undefined", "–", "[–]"
NOTES = {
    UNDEFINED: "no run there has a value, for example because nothing was learned or the loss overflowed",
    NO_RUN: "no complete run is there",
    "≥": "at least; a run ended before its value was decided",
    "≤": "at most; a run ended before its value was decided",
    "?": "undecided; runs ended before their values were decided",
    "*": "the mean of some of the runs there, since the others have no value",
    "[low, high]": "the 95 % interval over the n seeds (Student's t)",
    NO_INTERVAL: "no interval: one seed, equal values, a bound, or not the same settings for every seed",
}
"""The meaning of the texts in cells."""


@dataclass(frozen=True)
class Measure:
    """A number of one complete run.

    Attributes
    ----------
    name : str
    of : callable
        Takes a run's observations, of which only configuration and metrics are set, and returns a number: NaN
        if it is undefined, a bound if the run was too short, None if the run was not evaluated at that epoch.
    parts : tuple of str
        The data sets that it needs.
    within : tuple of float, optional
        The values that it can take.
    """

    name: str
    of: Callable[[Observations], Value | None]
    parts: tuple[str, ...]
    within: tuple[float, float] = ANY

    def of_run(self, config: MemberConfig, metrics: Sequence[Mapping[str, Any]]) -> Value | None:
        """Return the measure of a run; refuse one whose task lacks a data set."""
        known = metrics[0]["accuracy"]
        for part in (part for part in self.parts if part not in known):
            if self.name in MEASURES:
                problem = f"needs the data set {part}, and a run has {', '.join(known)}"
                raise InputError("measure", self.name, problem, "choose another one, or other runs")
            raise unknown_name("data set", part, known, "data_set" if part == self.parts[0] else "minus")
        return self.of(Observations(config, {}, [dict(line) for line in metrics], (0,), {}))


_TRAIN, _TEST, _MEMORY = "rsn_train", "rsn_test", "mem"
MEASURES = {
    measure.name: measure
    for measure in (
        Measure("bias", learned_bias, (_TEST, _MEMORY), (-1.0, 1.0)),
        Measure("highest_test_accuracy", highest_accuracy, (_TEST,), SHARE),
        Measure("matched_test_accuracy", matched_test_accuracy, (_TRAIN, _TEST), SHARE),
    )
}
"""The ledger's measures of a run's evaluations alone, by their names."""


def statistic(name: str, data_set: str, minus: str = "", epoch: float | None = None) -> Measure:
    """Return the "accuracy" or "loss" of a data set as a measure.

    Parameters
    ----------
    name, data_set : str
    minus : str, optional
        Another data set, whose statistic is subtracted.
    epoch : float, optional
        When; by default at the last evaluation of each run.
    """
    parts = (data_set, minus) if minus else (data_set,)

    def at(run: Observations) -> float | None:
        lines = run.metrics[-1:] if epoch is None else [m for m in run.metrics if m["epoch"] == epoch]
        if not lines:
            return None
        values = [lines[-1][name].get(part) for part in parts]
        return math.nan if None in values else values[0] - sum(values[1:])

    within = (ANY if minus else SIZE) if name == "loss" else ((-1.0, 1.0) if minus else SHARE)
    when = "at the end" if epoch is None else f"at epoch {epoch:g}"
    return Measure(f"{name} {' − '.join(parts)}, {when}", at, parts, within)


@dataclass(frozen=True)
class Cell:
    """The runs at one pair of values of two axes.

    ``values`` are the measure of each run, NaN where undefined; ``seeds`` counts the seeds with a value;
    ``low`` and ``high`` are the 95 % interval of the mean over seeds, None without one.
    """

    values: tuple[Value, ...] = ()
    seeds: int = 0
    low: float | None = None
    high: float | None = None

    @property
    def defined(self) -> tuple[Value, ...]:
        """The values of the runs that have one."""
        return tuple(value for value in self.values if not math.isnan(ends(value)[0]))

    @property
    def mean(self) -> Value:
        """The mean over the runs that have a value; a bound if one of the values is, NaN if there is none."""
        return extreme(self.values, lambda found: float(np.mean([*found])))

    @property
    def number(self) -> float:
        """The mean, or the finite end of a bound; NaN if there is neither."""
        return next((end for end in ends(self.mean) if math.isfinite(end)), math.nan)

    def text(self, *, full: bool = False) -> str:
        """Return the mean, marked if it is a bound or leaves runs out; in full with interval and seeds."""
        if not self.defined:
            return UNDEFINED if self.values else NO_RUN
        some = "*" * (len(self.defined) < len(self.values))
        interval = ""
        if math.isnan(self.number):
            shown = "?"
        elif isinstance(self.mean, Bound):
            shown = f"{'≥' if math.isfinite(self.mean.low) else '≤'}{self.number:z.{3 if full else 2}f}"
        elif full:
            shown, _, interval = estimate_text(self.number, self.low, self.high).partition(" ")
        else:
            shown = f"{self.number:z.2f}"
        return f"{shown}{some} {interval or NO_INTERVAL} n={self.seeds}" if full else shown + some


@dataclass(frozen=True)
class Pivot:
    """A measure over two axes, each a name and its values; a row of cells for each value of y.

    ``others`` are the axes, other than the seed, in which the runs of some cell differ.
    """

    title: str
    x: tuple[str, Sequence[object]]
    y: tuple[str, Sequence[object]]
    cells: tuple[tuple[Cell, ...], ...]
    others: tuple[str, ...] = ()

    def grid(self, of: Callable[[Cell], Any]) -> list[list[Any]]:
        """Return something of every cell, row by row."""
        return [[of(cell) for cell in row] for row in self.cells]

    @property
    def texts(self) -> list[list[str]]:
        """The text of every cell with its interval and its seeds, row by row."""
        return self.grid(lambda cell: cell.text(full=True))

    @property
    def notes(self) -> list[str]:
        """The meaning of the marks that occur in the cells, and the axes over which they are means."""
        full = "".join(text for row in self.texts for text in row)
        rest = full.replace(NO_INTERVAL, "")
        occurs = {mark: mark in rest for mark in NOTES}
        occurs |= {"[low, high]": "[" in rest, NO_INTERVAL: NO_INTERVAL in full}
        notes = [f"{mark}: {meaning}" for mark, meaning in NOTES.items() if occurs[mark]]
        over = f"each cell is a mean over its values of {', '.join(self.others)}"
        return [*notes, *[over] * bool(self.others)]

    def as_dict(self) -> dict[str, Any]:
        """Return plain data: each cell's number, its two ends, its runs and seeds, and its interval."""
        return {
            "measure": self.title,
            "x": list(self.x[1]),
            "y": list(self.y[1]),
            "values": self.grid(lambda cell: finite(cell.number)),
            "low": self.grid(lambda cell: finite(ends(cell.mean)[0])),
            "high": self.grid(lambda cell: finite(ends(cell.mean)[1])),
            "runs": self.grid(lambda cell: len(cell.values)),
            "defined": self.grid(lambda cell: len(cell.defined)),
            "seeds": self.grid(lambda cell: cell.seeds),
            "interval_low": self.grid(lambda cell: cell.low),
            "interval_high": self.grid(lambda cell: cell.high),
        }

    @property
    def panel(self) -> HeatMap:
        """The pivot as a picture: hatched where it is undefined, blank where there is no run."""
        numbers = np.array(self.grid(lambda cell: cell.number))
        hatched = np.array(self.grid(lambda cell: bool(cell.values) and math.isnan(cell.number)))
        return HeatMap(self.title, self.x, self.y, numbers, texts=self.grid(Cell.text), hatched=hatched)


def pivot_of(runs: Sequence[Evaluated], measure: Measure, x: str, y: str) -> Pivot:
    """Return a measure over two axes, each cell over all runs that agree in both.

    Parameters
    ----------
    runs : sequence of (MemberConfig, list of dict)
        The configuration and the metrics of complete runs.
    measure : Measure
    x, y : str
        Two settings in which the runs may differ, by their columns in the table, or as a sweep's file
        calls them: "gamma", "N_Z".
    """
    settings_of_runs = [settings_of(config) for config, _ in runs]
    known = set[str]().union(*settings_of_runs)
    # "model" is a column of the table, but in a sweep's file another name of "kind".
    x, y = (axis if axis in known else ALIASES.get(axis, axis) for axis in (x, y))
    at: dict[tuple[Any, Any], list[tuple[Value, dict[str, Any]]]] = defaultdict(list)
    for (config, metrics), settings in zip(runs, settings_of_runs, strict=True):
        value = measure.of_run(config, metrics)
        if value is not None:
            at[settings.get(x), settings.get(y)].append((value, settings))
    axes = axes_of(config for config, _ in runs)
    for axis in (x, y):
        # An axis may be one in which these runs do not differ, for instance if a sweep has only begun.
        if axis not in known:
            raise unknown_name("axis", axis, axes)
    if not at:
        raise InputError("epoch", measure.name, "no run was evaluated then", "choose an epoch of the table")
    # Missing values come first, then numbers by size, then words.
    xs, ys = (
        sorted({pair[i] for pair in at}, key=lambda v: (v is not None, isinstance(v, str), v)) for i in (0, 1)
    )
    cells = tuple(tuple(_cell(at.get((a, b), []), {x, y}, measure.within) for a in xs) for b in ys)
    others = tuple(
        axis
        for axis in axes
        if axis not in {x, y, "seed"}
        and any(len({str(own.get(axis)) for _, own in runs_there}) > 1 for runs_there in at.values())
    )
    return Pivot(measure.name, (x, xs), (y, ys), cells, others)


def _cell(
    runs: Sequence[tuple[Value, Mapping[str, Any]]], shown: set[str], within: tuple[float, float]
) -> Cell:
    """Return a cell, with an interval only if all seeds have the same settings: else these add scatter."""
    values = tuple(value for value, _ in runs)
    by_seed: dict[int, dict[Hashable, Value]] = defaultdict(dict)
    for value, settings in runs:
        if not math.isnan(ends(value)[0]):
            others = tuple(v for name, v in settings.items() if name not in {"seed", *shown})
            of_seed = by_seed[settings["seed"]]
            if others in of_seed:
                raise InputError("seed", settings["seed"], "two runs of one configuration", "name one")
            of_seed[others] = value
    alike = len({frozenset(of_seed) for of_seed in by_seed.values()}) == 1
    if not alike or any(isinstance(value, Bound) for value in values):
        return Cell(values, len(by_seed))
    # The runs of a seed are not independent of each other.
    means = [float(np.mean([ends(v)[0] for v in of_seed.values()])) for of_seed in by_seed.values()]
    estimate = over_seeds(means, within)
    return Cell(values, len(by_seed), estimate.low, estimate.high)
