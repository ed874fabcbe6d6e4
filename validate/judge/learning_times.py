"""When each thing is learned: what theory predicted, kept, against the runs; and what simpler guesses reach.

The protocol, written before any prediction was compared: docs/theory/learning_times.md.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, NamedTuple

import numpy as np

from sim.config.model import EmbMLPConfig
from sim.config.run import MemberConfig
from theory import TANH, AdamSettings, InputError, LearningCurves, SGDSettings, predict_learning
from theory.arrays import FloatArray
from theory.flows.learning_curves import training_size
from theory.flows.network import IDENTITY
from validate.judge.stats import UNDEFINED
from validate.observe import Observations
from validate.observe.bounds import Bound
from validate.observe.times import fitted_time

PREDICTIONS = Path(__file__).with_name("learning_times.json")
"""The predictions that are kept."""
PARTS = {"mem": "memory", "rsn_train": "reasoning train", "rsn_test": "reasoning test"}
"""A run's data sets, and what the prediction calls them."""
_ACTIVATIONS = {activation.name: activation for activation in (TANH, IDENTITY)}


@dataclass(frozen=True, eq=False)
class Kept:
    """A prediction that is kept, with its setting; without ``scatter`` its curves are the mean course's."""

    optimizer: str
    rate: float
    init_rate: float
    curves: LearningCurves
    scatter: bool = False


def predict_for(
    config: MemberConfig,
    seeds: Sequence[int],
    *,
    scatter: bool = True,
    report: Callable[[int], None] = lambda step: None,
) -> LearningCurves:
    """Return the predicted curves of a run's setting, from starts of their own.

    Without scatter they are those of the mean course. ``report`` is that of ``predict_learning``.

    Raises
    ------
    InputError
        If the run is not of an Emb-MLP at a constant rate, without momentum, on the whole population.
    """
    model, training = config.model, config.training
    if not isinstance(model, EmbMLPConfig) or model.activation not in _ACTIVATIONS:
        raise InputError("config", config.name, "no Emb-MLP with tanh", "choose another run")
    plain = training.schedule == "constant" and training.momentum == 0 and not training.frozen
    if not plain or training.batch_size == "full" or config.data.source != "enumerate":
        problem = "its training is not one that is predicted"
        raise InputError("config", config.name, problem, "see predict_learning")
    settings: AdamSettings | SGDSettings = SGDSettings(training.learning_rate, training.weight_decay)
    if training.optimizer == "adamw":
        betas = (training.beta1, training.beta2)
        settings = AdamSettings(training.learning_rate, betas, training.epsilon, training.weight_decay)
    task = config.build_task()
    return predict_learning(
        task,
        settings,
        init_rate=config.init_rate,
        n_epochs=training.epochs,
        d_m=model.d_m,
        d_f=model.d_f,
        batch_size=min(training.batch_size, training_size(task)),
        clip_norm=training.clip_norm,
        activation=_ACTIVATIONS[model.activation],
        seeds=seeds,
        scatter=scatter,
        report=report,
    )


def load_predictions(file: Path = PREDICTIONS) -> list[Kept]:
    """Read what is kept; of each setting, the prediction with scatter stands before the mean course."""
    found = []
    for entry in json.loads(file.read_text(encoding="utf-8")):
        accuracy, loss = (
            {name: np.array(rows) for name, rows in entry[kind].items()} for kind in ("accuracy", "loss")
        )
        curves = LearningCurves(np.array(entry["steps"]), accuracy, loss, entry["steps_per_epoch"])
        scatter = entry.get("scatter", False)
        found.append(Kept(entry["optimizer"], entry["rate"], entry["init_rate"], curves, scatter))
    return sorted(found, key=lambda kept: not kept.scatter)


def prediction_for(config: MemberConfig, predictions: Sequence[Kept]) -> Kept | None:
    """Return the first prediction for a run's setting; None without one."""
    own = (config.training.optimizer, config.training.learning_rate, config.init_rate)
    return next((p for p in predictions if (p.optimizer, p.rate, p.init_rate) == own), None)


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
    found = []
    for part, name in PARTS.items():
        time, predicted = fitted_time(run, part), kept.curves.half_time(name)
        steps = math.inf if isinstance(time, Bound) else time / training.learning_rate
        predicted = predicted if predicted <= end else math.inf
        # What is right before training counts with the first step.
        logs = (float(np.log2(max(value, 1.0))) for value in (steps, predicted, end))
        found.append(Time(part, training.optimizer, training.learning_rate, run.config.init_rate, *logs))
    return found


class Bias(NamedTuple):
    """log2 of memory's time over the training sums', NaN where these have none.

    ``least`` says that memory has none by the end: the bias is at least the value.
    """

    value: float
    least: bool

    def __str__(self) -> str:
        return UNDEFINED if math.isnan(self.value) else f"{'> ' if self.least else ''}{self.value:.2f}"


def bias_of(times: Sequence[Time], which: Literal["observed", "predicted"]) -> Bias:
    """Return the bias of a run, observed or predicted: positive where the training sums come first."""
    memory, sums = (next(t for t in times if t.part == part) for part in ("mem", "rsn_train"))
    late, early = getattr(memory, which), getattr(sums, which)
    return Bias(math.nan if math.isinf(early) else min(late, memory.end) - early, math.isinf(late))


def one_sided(times: Sequence[Time]) -> float:
    """Return the share of data sets that one of run and prediction fits by the end and the other does not."""
    apart = [math.isinf(t.observed) != math.isinf(t.predicted) for t in times]
    return float(np.mean(apart)) if times else math.nan


def explained(times: Sequence[Time]) -> float:
    """Return R² of the predicted log times; NaN with fewer than three that a run has."""
    seen = [t for t in times if math.isfinite(t.observed)]
    return r_squared([t.observed for t in seen], [min(t.predicted, t.end) for t in seen])


def r_squared(observed: Sequence[float] | FloatArray, predicted: Sequence[float]) -> float:
    """Return 1 − Σ(x − x̂)² / Σ(x − x̄)²."""
    x, guess = np.array(observed), np.array(predicted)
    spread = float(np.sum((x - x.mean()) ** 2)) if len(x) > 2 else 0.0
    return 1 - float(np.sum((x - guess) ** 2)) / spread if spread > 0 else math.nan


def matched_error(run: Observations, predictions: Sequence[Kept], observed: float) -> float:
    """Return |predicted − observed| of the test accuracy at which the training sums are half learned."""
    kept = prediction_for(run.config, predictions)
    if kept is None:
        return math.nan
    return abs(float(np.median(kept.curves.matched(PARTS["rsn_test"], at=PARTS["rsn_train"]))) - observed)


# --- rivals ---------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Guess:
    """A guess fitted on the other settings: terms of a linear model, and whether time is counted in rates."""

    name: str
    terms: Callable[[Time], dict[str, float]]
    in_rates: bool = False

    def explained(self, times: Sequence[Time]) -> float:
        """Return R² of the guess, each setting left out of its own fit."""
        seen = [t for t in times if math.isfinite(t.observed)]
        names = sorted({name for t in seen for name in self.terms(t)})
        terms = np.array([[self.terms(t).get(name, 0.0) for name in names] for t in seen])
        units = np.array([math.log2(t.rate) if self.in_rates else 0.0 for t in seen])
        observed, guesses = np.array([t.observed for t in seen]), []
        for own, (unit, time) in enumerate(zip(units, seen, strict=True)):
            others = [i for i, t in enumerate(seen) if t.setting != time.setting]
            values = (observed + units)[others]
            # Least norm would pull what the others do not fix to 0; it is pulled to their mean instead.
            mean = float(values.mean()) if others else math.nan
            fitted = np.linalg.lstsq(terms[others], values - mean, rcond=None)[0] if others else terms[own]
            guesses.append(mean + float(terms[own] @ fitted) - unit)
        return r_squared(observed, guesses)


GUESSES = (
    Guess("mean of the data set", lambda t: {t.part: 1.0}),
    Guess("time ∝ 1/rate", lambda t: {f"{t.part} {t.optimizer}": 1.0}, in_rates=True),
    Guess(
        "regression on γ and log rate",
        lambda t: {f"{t.part} {t.optimizer}": 1.0, "γ": t.init_rate, "rate": math.log2(t.rate)},
    ),
)
"""What the prediction has to beat."""


def best_guess(times: Sequence[Time]) -> float:
    """Return the greatest R² of the guesses."""
    return max((guess.explained(times) for guess in GUESSES), default=math.nan)
