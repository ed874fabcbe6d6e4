"""What a search can maximise and a map can show: the ledger's measures of a run's evaluations alone."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from sim.config.run import MemberConfig
from sim.data.dataset import build_dataset
from theory import InputError
from theory.errors import unknown_name
from validate.claims.measures.learning import (
    highest_test_accuracy,
    learned_bias,
    matched_test_accuracy,
    unlike,
)
from validate.judge.bounds import Value, ends
from validate.judge.stats import ANY, SHARE, SIZE
from validate.judge.times import bias
from validate.observe import Observations
from validate.search import held_out_lag, reasoning_lead

_TRAIN, _TEST, _MEMORY = "rsn_train", "rsn_test", "mem"


@dataclass(frozen=True)
class Measure:
    """A number of one run, at any time of its training.

    Attributes
    ----------
    name : str
    of : callable
        From observations to a number; NaN if it is undefined, a bound if the run was too short.
    parts : tuple of str
        The data sets that it needs.
    of_learned : callable, optional
        The same of a complete run, where the measure is undefined if nothing was learned.
    within : tuple of float, optional
        The values that the measure can take.
    """

    name: str
    of: Callable[[Observations], Value]
    parts: tuple[str, ...]
    of_learned: Callable[[Observations], Value] | None = None
    within: tuple[float, float] = ANY

    def of_complete(self, config: MemberConfig, metrics: Sequence[Mapping[str, Any]]) -> Value:
        """Return the measure of a complete run, from all its evaluations; NaN where it is undefined."""
        return (self.of_learned or self.of)(_observed(config, metrics))

    def value(self, config: MemberConfig, metrics: Sequence[dict[str, Any]]) -> float:
        """Return the measure after some evaluations: of a bound the low end, NaN if that is not finite."""
        low = ends(self.of(_observed(config, metrics)))[0]
        return low if math.isfinite(low) else math.nan

    def check(self, config: MemberConfig) -> None:
        """Refuse to maximise it for a run whose task lacks a data set.

        Raises
        ------
        InputError
            If it does.
        """
        self.check_parts("maximise", build_dataset(config).parts)

    def check_parts(self, argument: str, known: Iterable[str]) -> None:
        """Refuse the measure where a data set that it needs is not known.

        Raises
        ------
        InputError
            If one is missing; it names the argument that chose the measure.
        """
        found = set(known)
        missing = [part for part in self.parts if part not in found]
        if missing:
            problem = f"needs the data set {missing[0]}, which the task does not have"
            raise InputError(argument, self.name, problem, "choose another measure or another task")


def _observed(config: MemberConfig, metrics: Sequence[Mapping[str, Any]]) -> Observations:
    return Observations(config, {}, [dict(line) for line in metrics], (0,), {})


_MEASURES = (
    Measure("bias", bias, (_TEST, _MEMORY), learned_bias, within=(-1.0, 1.0)),
    Measure("highest_test_accuracy", highest_test_accuracy, (_TEST,), within=SHARE),
    Measure("matched_test_accuracy", matched_test_accuracy, (_TRAIN, _TEST), within=SHARE),
    Measure("reasoning_lead", reasoning_lead, (_TRAIN, _TEST, _MEMORY)),
    Measure("held_out_lag", held_out_lag, (_TRAIN, _TEST)),
    Measure("unlike", unlike, (_TRAIN, _MEMORY), within=SIZE),
)
MEASURES = {measure.name: measure for measure in _MEASURES}
"""The measures by their names."""


def measure_of(name: str, argument: str = "maximise") -> Measure:
    """Return a measure by its name, which an argument gave.

    Raises
    ------
    InputError
        If there is none of that name.
    """
    if name not in MEASURES:
        raise unknown_name(argument, name, MEASURES)
    return MEASURES[name]
