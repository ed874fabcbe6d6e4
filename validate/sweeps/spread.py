"""How sure the mean of a map's cell is: the seeds behind it, and the interval over them."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from validate.judge.bounds import Bound, Value, ends
from validate.judge.stats import ANY, estimate_text, over_seeds

Placed = tuple[Hashable, Hashable]
"""A run's seed, and its other settings that a map does not show."""
NO_RUN, OVERFLOWED, NO_INTERVAL = "–", "overflowed", "[–]"
NOTES = {
    "[low, high]": "the 95 % interval over the n seeds (Student's t)",
    OVERFLOWED: "the loss of a run there is not finite",
    NO_INTERVAL: "no interval: one seed, equal values, a bound, or not the same settings for every seed",
}
"""What the texts behind a mean say."""


@dataclass(frozen=True)
class Spread:
    """How sure a mean over runs is.

    Attributes
    ----------
    seeds : int
        Seeds with a value.
    low, high : float or None
        The 95 % interval over seeds; None without one.
    """

    seeds: int = 0
    low: float | None = None
    high: float | None = None

    @property
    def text(self) -> str:
        """The number of seeds, behind a dash in brackets where there is no interval."""
        return f"n={self.seeds}" if self.low is not None else f"{NO_INTERVAL} n={self.seeds}"


NO_SPREAD = Spread()
"""That of no run, or of a mean that is not finite."""


def spread_of(values: Sequence[Value], runs: Sequence[Placed], within: tuple[float, float] = ANY) -> Spread:
    """Return how sure the mean of a value of some runs is, undefined ones left out.

    The values of a seed are averaged first: its runs are not independent of each other. There is no interval
    for one seed, for equal values, for a bound, and where the seeds differ in their settings, which would
    count as scatter.

    Parameters
    ----------
    values : sequence of float or Bound
    runs : sequence of (seed, settings)
        The run of each value.
    within : tuple of float, optional
        The values that the measure can take (``over_seeds``).
    """
    by_seed: dict[Hashable, dict[Hashable, Value]] = defaultdict(dict)
    for value, (seed, settings) in zip(values, runs, strict=True):
        if not math.isnan(ends(value)[0]):
            by_seed[seed][settings] = value
    defined = [value for each in by_seed.values() for value in each.values()]
    if (
        any(isinstance(value, Bound) for value in defined)
        or len({frozenset(e) for e in by_seed.values()}) > 1
    ):
        return Spread(len(by_seed))
    found = over_seeds(
        [float(np.mean([ends(v)[0] for v in each.values()])) for each in by_seed.values()], within
    )
    return Spread(len(by_seed), found.low, found.high)


def placed(settings: Mapping[str, Any], x: str, y: str) -> Placed:
    """Return a run's seed and its settings but those of a map's two axes."""
    others = {name: value for name, value in settings.items() if name not in {"seed", x, y}}
    return settings["seed"], tuple(others.items())


def as_grids(spreads: Iterable[Iterable[Spread | None]]) -> dict[str, Any]:
    """Return plain data: the seeds of each cell and the ends of its interval, row by row."""
    kinds: dict[str, Callable[[Spread], Any]] = {
        "seeds": lambda each: each.seeds,
        "interval_low": lambda each: each.low,
        "interval_high": lambda each: each.high,
    }
    rows = [[each or NO_SPREAD for each in row] for row in spreads]
    return {name: [[of(each) for each in row] for row in rows] for name, of in kinds.items()}


def mean_text(mean: float, spread: Spread | None) -> str:
    """Return a mean, its interval and the number of seeds as text; "–" without a run."""
    if spread is None or math.isnan(mean):
        return NO_RUN if spread is None else OVERFLOWED
    return f"{estimate_text(mean, spread.low, spread.high)} {spread.text}"


def notes_of(texts: Iterable[Iterable[str]]) -> list[str]:
    """Return what the intervals in a map's texts mean, those that occur."""
    shown = "".join(text for row in texts for text in row)
    occurs = ("[" in shown.replace(NO_INTERVAL, ""), OVERFLOWED in shown, NO_INTERVAL in shown)
    return [
        f"{mark}: {meaning}" for (mark, meaning), there in zip(NOTES.items(), occurs, strict=True) if there
    ]
