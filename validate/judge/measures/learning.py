"""Measures of what is learned when, of losses over a run, and of the bias over γ and learning rates."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Literal

import numpy as np

from theory import token_ratio
from theory.edge.arrays import FloatArray
from validate.judge.claim import Seed
from validate.judge.measures.agreement import spearman
from validate.judge.settings import LARGE, SMALL
from validate.observe import Observations
from validate.observe.bounds import Bound, Value, between, ends, extreme
from validate.observe.times import (
    ALIGNMENTS,
    HALF,
    aligned,
    bias,
    chance_loss,
    curve,
    fitted_sets,
    is_fitted,
    largest_rise,
    learned_part,
    log_ratio,
    mean_over_run,
    passed,
)
from validate.predict.predictors import training_labels

OfRun = Callable[[Observations], float]


def loss_gap_aligned(run: Observations) -> Value:
    """Return the table's loss minus the training sums', over ln N_Z, a mean over the alignments."""
    losses = [[aligned(run, "loss", part, level) for level in ALIGNMENTS] for part in ("mem", "rsn_train")]
    gap = float(np.mean(np.array(losses[0]) - losses[1])) / chance_loss(run)
    return gap if math.isfinite(gap) else Bound()


def held_out_loss_change(run: Observations, since: Literal["start", "guess"] = "start") -> Value:
    """Return the held-out loss at training accuracy 0.9 less that at the start (or a guess's) over ln N_Z."""
    reached = aligned(run, "loss", "rsn_test", ALIGNMENTS[-1])
    before = chance_loss(run) if since == "guess" else float(curve(run, "loss", "rsn_test")[1][0])
    return (reached - before) / chance_loss(run) if math.isfinite(reached) else Bound()


def fall_lead(run: Observations, fast: str = "rsn_train") -> Value:
    """Return log2 of the table's step over that of the sums, each at a loss a tenth below ln N_Z."""
    level = 0.9 * chance_loss(run)
    return log_ratio(*(passed(run, curve(run, "loss", part)[1] <= level) for part in ("mem", fast)))


def lead(run: Observations, fast: str = "rsn_train", slow: str = "mem") -> Value:
    """Return log2 of the steps to fit one data set over those to fit another; see ``log_ratio``."""
    return log_ratio(*(passed(run, curve(run, "accuracy", part)[1] >= HALF) for part in (slow, fast)))


def last_accuracy(run: Observations, part: str) -> float:
    """Return a data set's accuracy at the end."""
    return float(run.metrics[-1]["accuracy"][part])


def highest_accuracy(run: Observations, part: str = "rsn_test") -> float:
    """Return the highest accuracy on a data set, the held-out one by default, over all evaluations."""
    return float(curve(run, "accuracy", part)[1].max())


def best_test_accuracy(run: Observations) -> Value:
    """Return the highest test accuracy; a lower bound as long as the reasoning training set is not fitted."""
    best = highest_accuracy(run)
    return best if is_fitted(run, "rsn_train") else between(best, 1.0)


def above_guessing(run: Observations, accuracy: float | None = None) -> float:
    """Return a training accuracy, by default the best, scaled so that guessing the commonest label is 0."""
    task, part = run.task, learned_part(run)
    if accuracy is None:
        accuracy = float(np.nanmax(curve(run, "accuracy", part)[1]))
    kind = task.reasoning_anchors if part == "rsn_train" else task.memory_anchors
    shares = [(s in kind) * token_ratio(task, s, held_out=True) for s in task.anchors]
    guess = float(np.average(training_labels(task, task.anchors), axis=0, weights=shares).max())
    return (accuracy - guess) / (1 - guess) if guess < 1 else math.nan


def matched_test_accuracy(run: Observations) -> float:
    """Return the test accuracy at a training accuracy of one half, linear in time; NaN if not reached."""
    return aligned(run, "accuracy", "rsn_test", HALF)


def loss_lead(run: Observations, slow: str, fast: str, *, first: bool = False) -> Value:
    """Return by how much one loss exceeds another over a run, or at ``first``, as a share of ln N_Z.

    A loss that overflowed is at least as high as any that was seen: a bound, or NaN where both overflowed.
    """
    losses = np.stack([curve(run, "loss", part)[1] for part in (slow, fast)])[:, : 1 if first else None]
    finite = np.isfinite(losses)
    overflowed = [not part.all() for part in finite]
    if all(overflowed):
        return math.nan
    high, low = np.where(finite, losses, losses.max(where=finite, initial=-math.inf))
    excess = float(high[0] - low[0]) if first else mean_over_run(run, high - low)
    gap = excess / chance_loss(run)
    if math.isnan(gap) or not any(overflowed):
        return gap
    return Bound(low=gap) if overflowed[0] else Bound(high=gap)


# --- the bias over a run, over γ and over learning rates ------------------------------------------------


def learned_bias(run: Observations) -> float:
    """Return the reasoning bias of a run that fitted a training set, NaN for one that learned nothing."""
    return bias(run) if fitted_sets(run) else math.nan


def _by_rate(seed: Seed, of: OfRun) -> tuple[FloatArray, FloatArray]:
    """Return γ, ascending, and a measure of a seed's runs."""
    runs = sorted(seed.values(), key=lambda run: run.config.init_rate)
    values = [of(run) for run in runs]
    return np.array([run.config.init_rate for run in runs]), np.array(values)


def trend(seed: Seed, of: OfRun = learned_bias) -> float:
    """Return Spearman's correlation of γ and a measure; NaN if it is undefined for a run."""
    rates, values = _by_rate(seed, of)
    return spearman(rates, values) if np.isfinite(values).all() else math.nan


def least_rise(seed: Seed, of: OfRun) -> float:
    """Return the least rise of a measure from one γ of a seed to the next, below 0 if it falls anywhere.

    NaN for a single γ.
    """
    return float(np.diff(_by_rate(seed, of)[1]).min(initial=math.inf)) if len(seed) > 1 else math.nan


def least_gain(seed: Seed, of: OfRun = learned_bias, absolute: bool = False, learned: bool = False) -> float:
    """Return a measure at γ = 0.8 minus that at 0.3, the least over variants, or over those that learned.

    NaN for a single undefined variant; beside others it is left out.
    """
    gains = []
    for name in learned_variants(seed) if learned else {name for name, _ in seed}:
        gain = of(seed[name, SMALL]) - of(seed[name, LARGE])
        gains.append(abs(gain) if absolute else gain)
    return min(filter(math.isfinite, gains), default=math.nan)


def learned_variants(seed: Seed) -> list[str]:
    """Return the variants whose run at γ = 0.8 fitted the reasoning training set, by peak learning rate."""
    variants = [v for (v, rate), run in seed.items() if rate == SMALL and is_fitted(run, "rsn_train")]
    return sorted(variants, key=lambda v: seed[v, SMALL].config.training.peak_learning_rate)


def spike(run: Observations) -> Value:
    """Return the largest rise of a training loss above its lowest value before, in units of ln N_Z.

    A loss that overflowed after the first evaluation has lost all that was learned: at least one unit.
    """
    rises = (largest_rise(curve(run, "loss", part)[1]) for part in ("mem", "rsn_train"))
    low, high = ends(extreme(rises, max))
    largest = low / chance_loss(run)
    return Bound(low=max(largest, 1.0)) if math.isinf(high) else largest


def spike_at(seed: Seed, place: float) -> Value:
    """Return the greatest spike over γ at the middle (0.5) or the top (1) of the rates that learned.

    NaN for fewer than two such rates.
    """
    learned = learned_variants(seed)
    if len(learned) < 2:
        return math.nan
    chosen = learned[round(place * (len(learned) - 1))]
    return extreme((spike(run) for (variant, _), run in seed.items() if variant == chosen), max)
