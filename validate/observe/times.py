"""Times: the rule for "early", the times at which data sets are fitted, and means and rises over a run.

Times of learning are counted in steps and known to lie between two evaluations. Means over a run are over
Σ learning rate, the time of the gradient flow. *Early* is the first snapshot at or after the evaluation at
which the reasoning training accuracy first reaches ``HALF``, or the last snapshot if it never does. Where a
task has no rule to learn, the memory accuracy takes its place. The definition is the same for all claims and
every report, and was fixed before there were runs.
"""

from __future__ import annotations

import math
from typing import Literal

import numpy as np
import numpy.typing as npt

from sim.config.training import HALF as HALF
from theory import InputError
from theory.edge.arrays import FloatArray
from theory.integrate.trajectory import first_passage
from validate.observe.bounds import Bound, Value, between, ends
from validate.observe.observations import NotObservedError, Observations

ALIGNMENTS = (0.1, 0.3, 0.5, 0.9)
"""Training accuracies at which runs that learn at different speeds are compared."""
Kind = Literal["accuracy", "loss"]


def curve(run: Observations, kind: Kind, part: str) -> tuple[FloatArray, FloatArray]:
    """Return Σ learning rate and a data set's accuracy or loss (NaN where it is not finite)."""
    lines = run.metrics
    if part not in lines[0][kind]:
        known = ", ".join(lines[0][kind])
        raise NotObservedError("observable", part, "not a data set of the run", f"choose one of {known}")
    values = [math.nan if line[kind][part] is None else line[kind][part] for line in lines]
    return np.array([line["sum_learning_rate"] for line in lines]), np.array(values)


def time_at(run: Observations, epoch: int) -> float:
    """Return Σ learning rate at the end of an epoch; one outside the run is refused.

    Between two evaluations it is interpolated, which is exact for a constant learning rate.
    """
    epochs = [line["epoch"] for line in run.metrics]
    if not epochs[0] <= epoch <= epochs[-1]:
        raise InputError("epoch", epoch, "outside the run", "choose an epoch of the run")
    return float(np.interp(epoch, epochs, [line["sum_learning_rate"] for line in run.metrics]))


def accuracy_at(run: Observations, epoch: int) -> float:
    """Return the training accuracy at the end of an epoch; linear between two evaluations."""
    epochs = [line["epoch"] for line in run.metrics]
    return float(np.interp(epoch, epochs, curve(run, "accuracy", learned_part(run))[1]))


# --- snapshots ------------------------------------------------------------------------------------------


def learned_part(run: Observations) -> str:
    """Return the data set that measures a run's progress: reasoning training, or memory without it."""
    parts: list[str] = [*run.metrics[0]["accuracy"]]
    return next(part for part in ("rsn_train", "mem", *parts) if part in parts)


def first_epoch(run: Observations) -> int:
    """Return the epoch of the first snapshot: before training."""
    return run.epochs[0]


def last_epoch(run: Observations) -> int:
    """Return the epoch of the last snapshot."""
    return run.epochs[-1]


def early_epoch(run: Observations) -> int:
    """Return the epoch of the early snapshot."""
    reached = np.flatnonzero(curve(run, "accuracy", learned_part(run))[1] >= HALF)
    first = run.metrics[reached[0]]["epoch"] if reached.size else math.inf
    return next((epoch for epoch in run.epochs if epoch >= first), run.epochs[-1])


# --- times of learning ----------------------------------------------------------------------------------


def is_fitted(run: Observations, part: str) -> bool:
    """Return whether a data set is fitted at any evaluation."""
    return bool((curve(run, "accuracy", part)[1] >= HALF).any())


def fitted_sets(run: Observations) -> list[str]:
    """Return the data sets that a run fitted, without those that are held out."""
    evaluated = run.metrics[0]["accuracy"]
    return [part for part in evaluated if run.config.trains_on(part) and is_fitted(run, part)]


def fitted_time(run: Observations, part: str) -> Value:
    """Return when a data set's accuracy first reaches ``HALF``; a bound, "after the end", if it never does.

    The time is Σ learning rate. Between two evaluations the accuracy is taken to be linear.
    """
    times, accuracy = curve(run, "accuracy", part)
    time = first_passage(times, accuracy, HALF)
    return time if math.isfinite(time) else Bound(low=float(times[-1]))


def aligned(run: Observations, kind: Kind, part: str, level: float) -> float:
    """Return an accuracy or a loss where the training accuracy first reaches a level, interpolated linearly.

    NaN where it never does.
    """
    times, training = curve(run, "accuracy", learned_part(run))
    time = first_passage(times, training, level)
    return float(np.interp(time, times, curve(run, kind, part)[1])) if math.isfinite(time) else math.nan


def passed(run: Observations, reached: npt.NDArray[np.bool_]) -> Value:
    """Return between which evaluations, in steps, something is first reached; a bound if it never is.

    All that is assumed between two evaluations is that it is not left and reached again.
    """
    steps = [float(line["step"]) for line in run.metrics]
    if not reached.any():
        return Bound(low=steps[-1])
    first = int(np.flatnonzero(reached)[0])
    return between(steps[max(first - 1, 0)], steps[first])


def log_ratio(slow: Value, fast: Value) -> Value:
    """Return log2 of the ratio of two times, NaN if neither was reached or one was reached at the start.

    Seeds that reach both between the same evaluations agree no closer than to the bound's step.
    """
    (low_slow, high_slow), (low_fast, high_fast) = ends(slow), ends(fast)
    if min(high_slow, high_fast) <= 0 or math.isinf(min(high_slow, high_fast)):
        return math.nan
    steps = [_log2_ratio(high, low) for low, high in (ends(slow), ends(fast)) if math.isfinite(high)]
    step = sum(step for step in steps if math.isfinite(step))
    low, high = -_log2_ratio(high_fast, low_slow), _log2_ratio(high_slow, low_fast)
    return between(low, high, step) if step or math.isinf(high - low) else high


def _log2_ratio(large: float, small: float) -> float:
    return math.inf if math.isinf(large) or small <= 0 else math.log2(large / small)


# --- means and rises over a run -------------------------------------------------------------------------


def mean_over_run(run: Observations, values: FloatArray) -> float:
    """Return the mean over the run, in Σ learning rate, of values at its evaluations."""
    times = np.array([line["sum_learning_rate"] for line in run.metrics])
    span = times[-1] - times[0]
    return float(np.trapezoid(values, times) / span) if span > 0 else math.nan


def bias(run: Observations) -> float:
    """Return the reasoning bias of a run: the mean over it of reasoning test minus memory accuracy.

    In [−1, 1]: positive where held-out sums are solved before the table is memorised.
    """
    return mean_over_run(run, curve(run, "accuracy", "rsn_test")[1] - curve(run, "accuracy", "mem")[1])


def largest_rise(values: FloatArray) -> Value:
    """Return the largest rise of a curve above its lowest value before, 0 where it only falls.

    A value that is not finite has overflowed. After the first value that is an unlimited rise, and the rise
    seen is a lower bound. The first value has nothing before it and then is left out; NaN if none is left.
    """
    seen = values[np.isfinite(values)]
    rise = float(np.max(seen - np.minimum.accumulate(seen), initial=0.0))
    if not np.isfinite(values[1:]).all():
        return Bound(low=rise)
    return rise if seen.size else math.nan


def chance_loss(run: Observations) -> float:
    """Return ln N_Z, the loss of a model that knows which tokens are labels and nothing else."""
    return math.log(len(run.task.keys))
