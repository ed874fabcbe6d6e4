"""What a search has tried, and what it found."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Tried:
    """One trial.

    Attributes
    ----------
    setting : dict
        The value of each axis that was chosen.
    runs : tuple of str
        Its runs, by the names of their folders.
    value : float or None
        The mean over the runs; None if the trial was pruned or the measure is undefined.
    state : str
        "complete", "pruned", or "undefined": diverged, or without a value.
    steps : int
        The steps that it took; none for runs that were there before.
    """

    setting: dict[str, Any]
    runs: tuple[str, ...]
    value: float | None
    state: str
    steps: int


@dataclass(frozen=True)
class Search:
    """What a search has found so far.

    Attributes
    ----------
    measure : str
    n_settings : int
        How many settings there are to choose from.
    budget : int
        Steps.
    tried : tuple of Tried
        In the order in which they were tried.
    """

    measure: str
    n_settings: int
    budget: int
    tried: tuple[Tried, ...]

    @property
    def steps(self) -> int:
        """The steps of all trials."""
        return sum(trial.steps for trial in self.tried)

    @property
    def best(self) -> Tried | None:
        """The trial with the highest value, None if none has a value."""
        known = [(trial.value, trial) for trial in self.tried if trial.value is not None]
        return max(known, key=lambda each: each[0])[1] if known else None
