"""What a search can maximise: the ledger's measures that need a run's evaluations and nothing else."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from sim.config.run import MemberConfig
from sim.data.dataset import build_dataset
from theory import InputError
from theory.errors import unknown_name
from validate.bounds import Value, ends
from validate.claims.measures.learning import highest_test_accuracy, matched_test_accuracy, unlike
from validate.observe import Observations
from validate.search import held_out_lag, reasoning_lead
from validate.times import bias

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
    """

    name: str
    of: Callable[[Observations], Value]
    parts: tuple[str, ...]

    def value(self, config: MemberConfig, metrics: Sequence[dict[str, Any]]) -> float:
        """Return the measure after some evaluations: of a bound the low end, NaN if that is not finite."""
        run = Observations(config, {}, list(metrics), (0,), {})
        low = ends(self.of(run))[0]
        return low if math.isfinite(low) else math.nan

    def check(self, config: MemberConfig) -> None:
        """Refuse a run that lacks a data set.

        Raises
        ------
        InputError
            If it does.
        """
        known = build_dataset(config).parts
        missing = [part for part in self.parts if part not in known]
        if missing:
            problem = f"needs the data set {missing[0]}, which the task does not have"
            raise InputError("maximise", self.name, problem, "choose another measure or another task")


_MEASURES = (
    Measure("bias", bias, (_TEST, _MEMORY)),
    Measure("highest_test_accuracy", highest_test_accuracy, (_TEST,)),
    Measure("matched_test_accuracy", matched_test_accuracy, (_TRAIN, _TEST)),
    Measure("reasoning_lead", reasoning_lead, (_TRAIN, _TEST, _MEMORY)),
    Measure("held_out_lag", held_out_lag, (_TRAIN, _TEST)),
    Measure("unlike", unlike, (_TRAIN, _MEMORY)),
)
MEASURES = {measure.name: measure for measure in _MEASURES}
"""The measures by their names."""


def measure_of(name: str) -> Measure:
    """Return a measure by its name.

    Raises
    ------
    InputError
        If there is none of that name.
    """
    if name not in MEASURES:
        raise unknown_name("maximise", name, MEASURES)
    return MEASURES[name]
