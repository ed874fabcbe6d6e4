"""Measures of claim 39: the times and accuracies that theory predicts without training."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import cache

from validate.judge import learning_times as judged
from validate.judge.condition import Seed
from validate.judge.measures.learning import matched_test_accuracy
from validate.observe import Observations

_predictions = cache(judged.load_predictions)


def _times(seed: Seed) -> list[judged.Time]:
    return [time for run in seed.values() for time in judged.times_of(run, _predictions())]


def times_explained(seed: Seed) -> float:
    """Return R² of the predicted log times over a seed's settings and data sets."""
    return judged.explained(_times(seed))


def times_by_other_seed(runs: Sequence[Sequence[Observations]]) -> list[float]:
    """Return R² of each seed's log times where the next seed's runs are the prediction."""
    times = [[t for run in own for t in judged.times_of(run, _predictions())] for own in runs]
    seen = [{(t.setting, t.part): t.observed for t in own} for own in times]
    found = []
    for own, other in zip(seen, [*seen[1:], *seen[:1]], strict=True):
        both = [k for k, time in own.items() if math.isfinite(time) and math.isfinite(other.get(k, math.inf))]
        found.append(judged.r_squared([own[k] for k in both], [other[k] for k in both]))
    return found


def times_guessed(seed: Seed) -> float:
    """Return the greatest R² of guesses that are fitted on the other settings."""
    return judged.best_guess(_times(seed))


def times_one_sided(seed: Seed) -> float:
    """Return the share of data sets that only one of run and prediction fits by the end."""
    return judged.one_sided(_times(seed))


def matched_off(run: Observations) -> float:
    """Return |predicted − observed| test accuracy at a training accuracy of one half."""
    return judged.matched_error(run, _predictions(), matched_test_accuracy(run))
