"""Observations grouped by setting: what every figure takes its means and intervals from."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from validate.observe.errors import NotObservedError
from validate.predictors import Tokens
from validate.settings import Group, by_setting
from validate.stats import ANY, over_seeds

if TYPE_CHECKING:
    from validate.observe import Observations

FloatArray = npt.NDArray[np.float64]
SMALL = 0.8
"""The γ of small initial weights that most of the paper's figures show."""
KINDS = {"emb-mlp": "Emb-MLP", "one-layer": "one-layer Transformer", "transformer": "Transformer"}


class Members(Group["Observations"]):
    """Observations that differ in nothing but the seed."""

    @property
    def kind(self) -> str:
        """What kind of model was trained."""
        return self.runs[0].config.model.kind

    def epochs(self) -> list[int]:
        """Return the snapshot epochs that all runs have."""
        return sorted(set.intersection(*(set(run.epochs) for run in self.runs)))

    def nearest(self, epoch: float) -> int:
        """Return the common snapshot epoch nearest to one that is wished for."""
        return min(self.epochs(), key=lambda have: abs(have - epoch))

    def array(self, name: str, epoch: int | None = None) -> FloatArray:
        """Return an array of every seed, at an epoch unless it has no epochs, shape (n_seeds, ...).

        Raises
        ------
        InputError
            If a run lacks it.
        """
        return np.array([_array(run, name, epoch) for run in self.runs])

    def has(self, name: str) -> bool:
        """Return whether every run has an array."""
        return all(name in run.arrays for run in self.runs)

    def cosines(self, tokens: Tokens, epoch: int) -> FloatArray:
        """Return every seed's cosine matrix of some anchors, shape (n_seeds, n, n)."""
        return np.array([run.cosines(tokens, epoch=epoch) for run in self.runs])


def _array(run: Observations, name: str, epoch: int | None) -> FloatArray:
    if epoch is not None:
        return np.asarray(run.at(name, epoch), dtype=np.float64)
    if name not in run.arrays:
        raise NotObservedError(
            "observable", name, f"not observed in the run {run.label}", "give runs that have it"
        )
    return np.asarray(run.arrays[name], dtype=np.float64)


def group_observations(observations: Sequence[Observations]) -> list[Members]:
    """Group observations by all but the seed, small γ first.

    Raises
    ------
    InputError
        If there is none, or one configuration and seed comes twice.
    """
    return [Members(label, runs) for label, runs in by_setting(observations, lambda o: o.label)]


def of_kind(observations: Sequence[Observations], *kinds: str) -> list[Members]:
    """Group the observations of some kinds of model; none is an empty list."""
    found = [o for o in observations if o.config.model.kind in kinds]
    return group_observations(found) if found else []


def small_scale(settings: Sequence[Members]) -> Members:
    """Return the setting whose γ is nearest to the paper's small scale, 0.8."""
    return min(settings, key=lambda s: abs(s.init_rate - SMALL))


def large_scales(settings: Sequence[Members]) -> list[Members]:
    """Return the settings of larger initial weights, or the only one there is."""
    small = small_scale(settings)
    return [s for s in settings if s.init_rate < small.init_rate] or [small]


def band(values: npt.ArrayLike, within: tuple[float, float] = ANY) -> FloatArray:
    """Return mean, low and high over seeds of each entry, shape (3, ...) from (n_seeds, ...).

    The interval is that of ``over_seeds``; low and high are NaN for a single seed.
    """
    array = np.asarray(values, dtype=np.float64)
    estimates = [over_seeds(column, within) for column in array.reshape(len(array), -1).T.tolist()]
    none = float("nan")
    rows = [(e.mean, none if e.low is None else e.low, none if e.high is None else e.high) for e in estimates]
    return np.array(rows).T.reshape(3, *array.shape[1:])


def estimate_text(triple: FloatArray) -> str:
    """Return mean, low and high as text: three decimals, or two digits where that would leave nothing."""
    mean, low, high = (float(x) for x in triple)
    form = ".3f" if abs(mean) >= 0.01 or mean == 0 else ".2g"
    return f"{mean:{form}}" if np.isnan(low) else f"{mean:{form}} [{low:{form}}, {high:{form}}]"
