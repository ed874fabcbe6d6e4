"""When each thing is learned: the theory's kept predictions, and simpler guesses, against the runs.

The protocol was written before any prediction was compared: docs/theory/learning_times.md. Claim 39 uses it.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import permutations
from pathlib import Path

import numpy as np

from sim.config.run import MemberConfig
from theory import LearningCurves
from validate.judge.claim import Seed
from validate.judge.measures.agreement import r_squared
from validate.judge.measures.learning import matched_test_accuracy
from validate.judge.stats import jackknife_of_pairs
from validate.observe import Observations
from validate.observe.bounds import Bound
from validate.observe.times import fitted_time

PREDICTIONS = Path(__file__).parents[1] / "learning_times.json"
PARTS = {"mem": "memory", "rsn_train": "reasoning train", "rsn_test": "reasoning test"}
"""A run's data sets, and what the prediction calls them."""


@dataclass(frozen=True, eq=False)
class Kept:
    """A kept prediction and its setting; without ``scatter`` its curves follow the mean course."""

    optimizer: str
    rate: float
    init_rate: float
    curves: LearningCurves
    scatter: bool = False


@cache
def load_predictions(file: Path = PREDICTIONS) -> list[Kept]:
    """Read the kept predictions; for each setting, the one with scatter comes before the mean course."""
    predictions = []
    for entry in json.loads(file.read_text(encoding="utf-8")):
        accuracy, loss = (
            {name: np.array(rows) for name, rows in entry[kind].items()} for kind in ("accuracy", "loss")
        )
        curves = LearningCurves(np.array(entry["steps"]), accuracy, loss, entry["steps_per_epoch"])
        scatter = entry.get("scatter", False)
        predictions.append(Kept(entry["optimizer"], entry["rate"], entry["init_rate"], curves, scatter))
    return sorted(predictions, key=lambda kept: not kept.scatter)


def prediction_for(config: MemberConfig, predictions: Sequence[Kept]) -> Kept | None:
    """Return the first prediction for a run's setting; None without one."""
    setting = (config.training.optimizer, config.training.learning_rate, config.init_rate)
    return next((p for p in predictions if (p.optimizer, p.rate, p.init_rate) == setting), None)


@dataclass(frozen=True)
class Time:
    """When one data set of one run is fitted, in log2 of the number of steps; ∞ if not by the end."""

    part: str
    optimizer: str
    rate: float
    init_rate: float
    observed: float
    predicted: float
    end: float

    @property
    def setting(self) -> tuple[str, float, float]:
        """Optimiser, rate and γ: a rival must not have seen the setting that it guesses."""
        return self.optimizer, self.rate, self.init_rate


def times_of(run: Observations, predictions: Sequence[Kept]) -> list[Time]:
    """Return a run's times beside the predicted ones; none for a setting without a prediction."""
    kept = prediction_for(run.config, predictions)
    if kept is None:
        return []
    training, end = run.config.training, run.metrics[-1]["step"]
    times = []
    for part, name in PARTS.items():
        time, predicted = fitted_time(run, part), kept.curves.half_time(name)
        steps = math.inf if isinstance(time, Bound) else time / training.learning_rate
        predicted = predicted if predicted <= end else math.inf
        # A data set that is fitted before training counts as fitted at the first step.
        logs = (float(np.log2(max(value, 1.0))) for value in (steps, predicted, end))
        times.append(Time(part, training.optimizer, training.learning_rate, run.config.init_rate, *logs))
    return times


def one_sided(times: Sequence[Time]) -> float:
    """Return the share of data sets that only one of run and prediction fits by the end."""
    apart = [math.isinf(t.observed) != math.isinf(t.predicted) for t in times]
    return float(np.mean(apart)) if times else math.nan


def explained(times: Sequence[Time]) -> float:
    """Return R² of the predicted log times where the run has one; NaN with fewer than three."""
    seen = [t for t in times if math.isfinite(t.observed)]
    return r_squared([t.observed for t in seen], [min(t.predicted, t.end) for t in seen])


# --- rivals ---------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Guess:
    """A guess fitted on the other settings: terms of a linear model, and whether time is counted in rates."""

    terms: Callable[[Time], dict[str, float]]
    in_rates: bool = False

    def explained(self, times: Sequence[Time]) -> float:
        """Return R² of the guess, each setting left out of its own fit."""
        seen = [t for t in times if math.isfinite(t.observed)]
        names = sorted({name for t in seen for name in self.terms(t)})
        terms = np.array([[self.terms(t).get(name, 0.0) for name in names] for t in seen])
        units = np.array([math.log2(t.rate) if self.in_rates else 0.0 for t in seen])
        observed, guesses = np.array([t.observed for t in seen]), []
        for row, (unit, time) in enumerate(zip(units, seen, strict=True)):
            others = [i for i, t in enumerate(seen) if t.setting != time.setting]
            values = (observed + units)[others]
            # Least norm sets undetermined terms to 0, which is the mean once the mean is taken out.
            mean = float(values.mean()) if others else math.nan
            fitted = np.linalg.lstsq(terms[others], values - mean, rcond=None)[0] if others else terms[row]
            guesses.append(mean + float(terms[row] @ fitted) - unit)
        return r_squared(observed, guesses)


GUESSES = (
    Guess(lambda t: {t.part: 1.0}),
    Guess(lambda t: {f"{t.part} {t.optimizer}": 1.0}, in_rates=True),
    Guess(lambda t: {f"{t.part} {t.optimizer}": 1.0, "γ": t.init_rate, "rate": math.log2(t.rate)}),
)
"""The guesses to be beaten: the data set's mean, time ∝ 1/rate, regression on γ and log rate."""


def best_guess(times: Sequence[Time]) -> float:
    """Return the greatest R² of the guesses, which are fitted on the other settings."""
    return max(guess.explained(times) for guess in GUESSES)


# --- the measures of claim 39 -----------------------------------------------------------------------------

SCORES = {"explained": explained, "one-sided": one_sided, "best guess": best_guess}


def times_score(seed: Seed, score: str) -> float:
    """Return one of ``SCORES`` of the times of a seed's settings and data sets."""
    return SCORES[score]([time for run in seed.values() for time in times_of(run, load_predictions())])


def times_by_other_seed(runs: Sequence[Sequence[Observations]]) -> list[float]:
    """Return jackknife values of the R² with which one seed's log times predict another's."""
    times = [[time for run in of_seed for time in times_of(run, load_predictions())] for of_seed in runs]
    seen = [{(t.setting, t.part): t.observed for t in of_seed} for of_seed in times]
    shares = np.full((len(runs), len(runs)), math.nan)
    for a, b in permutations(range(len(runs)), 2):
        both = [k for k in seen[a] if math.isfinite(seen[a][k]) and math.isfinite(seen[b].get(k, math.inf))]
        shares[a, b] = r_squared([seen[a][k] for k in both], [seen[b][k] for k in both])
    return jackknife_of_pairs(shares)


def matched_off(run: Observations, predictions: Sequence[Kept] | None = None) -> float:
    """Return |predicted − observed| of the test accuracy at which the training sums are half learned."""
    kept = prediction_for(run.config, load_predictions() if predictions is None else predictions)
    if kept is None:
        return math.nan
    predicted = float(np.median(kept.curves.matched(PARTS["rsn_test"], at=PARTS["rsn_train"])))
    return abs(predicted - matched_test_accuracy(run))
