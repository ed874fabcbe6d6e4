"""Measures of what is learned when."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
from scipy.optimize import isotonic_regression

from theory.arrays import FloatArray
from theory.integrate.first_passage import first_passage
from validate.claims.measures.order import spearman
from validate.claims.statements import LARGE, SMALL, Seed
from validate.judge.bounds import Bound, Value, between, ends, greatest, least, magnitude
from validate.judge.ceiling import order_blind_ceiling
from validate.judge.times import (
    HALF,
    bias,
    chance_loss,
    curve,
    doublings,
    doublings_range,
    fitted_range,
    fitted_time,
    has_learned,
    is_fitted,
    largest_rise,
    log_ratio,
    mean_over_run,
)
from validate.observe import Observations


def unlike(run: Observations) -> Value:
    """Return how many doublings lie between fitting memory and reasoning; NaN if neither is fitted."""
    return magnitude(doublings(run, "mem", "rsn_train"))


def unlike_range(run: Observations) -> Value:
    """Return between which values that lies, by the evaluations alone."""
    return magnitude(doublings_range(run, "mem", "rsn_train"))


def unlike_learnable(run: Observations) -> Value:
    """Return the same where memory counts as fitted at half of what a model without order can learn of it."""
    ceiling = order_blind_ceiling(run.task)
    level = HALF * (1.0 if ceiling is None else ceiling)
    return magnitude(log_ratio(fitted_range(run, "mem", level), fitted_range(run, "rsn_train")))


def highest_test_accuracy(run: Observations) -> float:
    """Return the highest accuracy on the reasoning test set over all evaluations."""
    return float(curve(run, "accuracy", "rsn_test")[1].max())


def highest_train_accuracy(run: Observations) -> float:
    """Return the same of the reasoning training set."""
    return float(curve(run, "accuracy", "rsn_train")[1].max())


def best_test_accuracy(run: Observations) -> Value:
    """Return that of the test set; a lower bound as long as the reasoning training set is not fitted."""
    best = highest_test_accuracy(run)
    return best if is_fitted(run, "rsn_train") else between(best, 1.0)


def matched_test_accuracy(run: Observations) -> float:
    """Return the test accuracy at the time at which the reasoning training set is fitted; NaN if it never is.

    Linear between two evaluations. It depends on what was learned by then and not on how fast.
    """
    time = fitted_time(run, "rsn_train")
    times, accuracy = curve(run, "accuracy", "rsn_test")
    return math.nan if isinstance(time, Bound) else float(np.interp(time, times, accuracy))


def matched_range(run: Observations) -> Value:
    """Return between which values that accuracy lies if it only rises between two evaluations."""
    time = fitted_time(run, "rsn_train")
    if isinstance(time, Bound):
        return math.nan
    times, accuracy = curve(run, "accuracy", "rsn_test")
    last, first = np.searchsorted(times, time, "right") - 1, np.searchsorted(times, time, "left")
    return between(*sorted((float(accuracy[last]), float(accuracy[first]))))


def matched_rise(seed: Seed) -> float:
    """Return by how much that accuracy is higher at γ = 0.8 than at 0.3, linear between evaluations."""
    by = {rate: matched_test_accuracy(run) for (_, rate), run in seed.items()}
    return by[SMALL] - by[LARGE]


def least_matched_rise(seed: Seed) -> float:
    """Return by how much it is higher at least, if accuracies only rise between two evaluations."""
    by = {rate: ends(matched_range(run)) for (_, rate), run in seed.items()}
    return by[SMALL][0] - by[LARGE][1]


def learned_bias(run: Observations) -> float:
    """Return the reasoning bias of a run that fitted a training set, NaN for one that learned nothing."""
    return bias(run) if has_learned(run) else math.nan


def by_rate(seed: Seed, measure: Callable[[Observations], float]) -> tuple[FloatArray, FloatArray]:
    """Return γ, ascending, and a measure of a seed's runs."""
    runs = sorted(seed.values(), key=lambda run: run.config.init_rate)
    return np.array([run.config.init_rate for run in runs]), np.array([measure(run) for run in runs])


def trend(seed: Seed) -> float:
    """Return Spearman's correlation of γ and bias; NaN if a run learned nothing."""
    rates, biases = by_rate(seed, learned_bias)
    return spearman(rates, biases) if np.isfinite(biases).all() else math.nan


def first_trend(seed: Seed) -> float:
    """Return the same before training: of γ and test minus memory accuracy of the drawn weights."""

    def before(run: Observations) -> float:
        return float(np.subtract(*(curve(run, "accuracy", part)[1][0] for part in ("rsn_test", "mem"))))

    return spearman(*by_rate(seed, before))


def crossover(seed: Seed) -> Value:
    """Return the γ at which the bias becomes positive; NaN if it does not, or if a run learned nothing.

    The biases are first made monotone in γ by the least change (isotonic regression), so that there is at
    most one crossing; it is interpolated between the two values of γ that enclose it. Where all biases have
    one sign, it lies beyond the least or the greatest γ: a bound.
    """
    rates, biases = by_rate(seed, learned_bias)
    if not np.isfinite(biases).all():
        return math.nan
    apart = float(np.diff(rates).max())
    if (biases > 0).all():
        return Bound(high=float(rates[0]), step=apart)
    if (biases <= 0).all():
        return Bound(low=float(rates[-1]), step=apart)
    fitted = isotonic_regression(biases).x
    changes = fitted[0] <= 0 < fitted[-1]
    return first_passage(rates, fitted, 0.0) if changes else math.nan


def learned_variants(seed: Seed) -> list[str]:
    """Return the variants whose run at γ = 0.8 fitted the reasoning training set, by peak learning rate."""
    found = [v for (v, rate), run in seed.items() if rate == SMALL and is_fitted(run, "rsn_train")]
    return sorted(found, key=lambda v: seed[v, SMALL].config.training.peak_learning_rate)


def least_lead(seed: Seed) -> Value:
    """Return the least doublings of memory over reasoning test at γ = 0.8, over variants that learned.

    A variant that fitted neither by its end may have any.
    """
    found = [doublings_range(seed[v, SMALL], "mem", "rsn_test") for v in learned_variants(seed)]
    return least(Bound() if math.isnan(ends(value)[0]) else value for value in found)


def greatest_lead_at_large(seed: Seed) -> Value:
    """Return the greatest doublings of memory over reasoning test at γ = 0.3, where either was fitted."""
    return greatest(
        doublings_range(run, "mem", "rsn_test") for (_, rate), run in seed.items() if rate == LARGE
    )


def least_gain(seed: Seed) -> float:
    """Return the least excess of the bias at γ = 0.8 over that at γ = 0.3, where both runs learned."""
    gains = [_gain(seed, variant) for variant in learned_variants(seed)]
    return min((gain for gain in gains if math.isfinite(gain)), default=math.nan)


def gain_of_one(seed: Seed) -> float:
    """Return that excess at a variant by itself; NaN if a run learned nothing."""
    (variant,) = {name for name, _ in seed}
    return _gain(seed, variant)


def _gain(seed: Seed, variant: str) -> float:
    return learned_bias(seed[variant, SMALL]) - learned_bias(seed[variant, LARGE])


def spike(run: Observations) -> Value:
    """Return the largest rise of a training loss above its lowest value before, in units of ln N_Z.

    A loss that overflowed after the first evaluation has lost all that was learned: at least one unit.
    """
    low, high = ends(greatest(largest_rise(curve(run, "loss", part)[1]) for part in ("mem", "rsn_train")))
    largest = low / chance_loss(run)
    return Bound(low=max(largest, 1.0)) if math.isinf(high) else largest


def spike_at(quantile: float) -> Callable[[Seed], Value]:
    """Return the measure of a seed's greatest spike, over γ, at a quantile of the rates that learned.

    NaN where fewer than two learned: a range needs a top and a middle.
    """
    return lambda seed: _spike(seed, lambda n: round(quantile * (n - 1)))


def spike_below_top(seed: Seed) -> Value:
    """Return the same at the second highest of these rates."""
    return _spike(seed, lambda n: n - 2)


def _spike(seed: Seed, place: Callable[[int], int]) -> Value:
    learned = learned_variants(seed)
    if len(learned) < 2:
        return math.nan
    chosen = learned[place(len(learned))]
    return greatest(spike(run) for (variant, _), run in seed.items() if variant == chosen)


def loss_lead(run: Observations, slow: str, fast: str) -> Value:
    """Return by how much one loss exceeds another, averaged over a run, as a share of ln N_Z.

    A bound where one of them overflowed, NaN where both did.
    """
    losses = np.stack([curve(run, "loss", part)[1] for part in (slow, fast)])
    return _excess(losses, lambda excess: mean_over_run(run, excess) / chance_loss(run))


def first_loss_lead(run: Observations, slow: str, fast: str) -> Value:
    """Return the same before any training."""
    losses = np.stack([curve(run, "loss", part)[1][:1] for part in (slow, fast)])
    return _excess(losses, lambda excess: float(excess[0]) / chance_loss(run))


def _excess(losses: FloatArray, mean: Callable[[FloatArray], float]) -> Value:
    """Return the mean of the first loss minus the second, a bound where one of them overflowed."""
    finite = np.isfinite(losses)
    first, second = (not np.isfinite(loss).all() for loss in losses)
    if first and second:
        return math.nan
    # A loss that overflowed is at least as high as any that was seen.
    slow, fast = np.where(finite, losses, losses.max(where=finite, initial=-math.inf))
    found = mean(slow - fast)
    if math.isnan(found) or not (first or second):
        return found
    return Bound(low=found) if first else Bound(high=found)


def bias_gap(seed: Seed) -> float:
    """Return how far the biases at γ = 0.8 and 0.3 of one variant are apart; NaN if a run learned nothing."""
    by = {rate: learned_bias(run) for (_, rate), run in seed.items()}
    return abs(by[SMALL] - by[LARGE])


def least_of_variants(measure: Callable[[Seed], float]) -> Callable[[Seed], float]:
    """Return the measure of the least value that another one has over a seed's variants, each by itself.

    Variants at which it is NaN do not count; where all are, the least is NaN too.
    """

    def least_value(seed: Seed) -> float:
        names = sorted({name for name, _ in seed})
        found = [measure({key: run for key, run in seed.items() if key[0] == name}) for name in names]
        return min((value for value in found if math.isfinite(value)), default=math.nan)

    return least_value
