"""Measures of what is learned when."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
from scipy.optimize import isotonic_regression

from theory.arrays import FloatArray
from theory.integrate.first_passage import first_passage
from validate.judge.bounds import Bound, Value, between, ends, greatest, least, magnitude
from validate.judge.ceiling import order_blind_ceiling
from validate.judge.condition import LARGE, SMALL, Seed
from validate.judge.measures.order import spearman
from validate.judge.times import (
    ALIGNMENTS,
    HALF,
    aligned,
    bias,
    chance_loss,
    curve,
    doublings_range,
    fitted_range,
    fitted_time,
    has_learned,
    is_fitted,
    log_ratio,
    passed,
)
from validate.observe import Observations


def loss_gap_aligned(run: Observations) -> Value:
    """Return the table's loss minus the training sums', over ln N_Z, a mean over the alignments.

    Where a run does not reach one of them nothing is known of the mean.
    """
    gaps = [
        (aligned(run, "loss", "mem", level), aligned(run, "loss", "rsn_train", level)) for level in ALIGNMENTS
    ]
    found = [slow - fast for slow, fast in gaps if math.isfinite(slow - fast)]
    return float(np.mean(found)) / chance_loss(run) if len(found) == len(gaps) else Bound()


def held_out_loss_change(run: Observations) -> Value:
    """Return the held-out loss at a training accuracy of 0.9 minus that before training, over ln N_Z."""
    reached = aligned(run, "loss", "rsn_test", ALIGNMENTS[-1])
    before = float(curve(run, "loss", "rsn_test")[1][0])
    return (reached - before) / chance_loss(run) if math.isfinite(reached) else Bound()


def fall_lead(run: Observations) -> Value:
    """Return log2 of the table's step over the training sums', each at a loss a tenth below ln N_Z.

    ln N_Z is reached by knowing which tokens are labels, which is the same for both.
    """
    level = 0.9 * chance_loss(run)
    steps = [passed(run, curve(run, "loss", part)[1] <= level) for part in ("mem", "rsn_train")]
    return log_ratio(*steps)


def lead(run: Observations, part: str = "rsn_train") -> Value:
    """Return between which values log2 of the steps to fit memory over those to fit another data set lies."""
    return doublings_range(run, "mem", part)


def window_lead(run: Observations) -> Value:
    """Return the same of F_mem,1, whose labels do not depend on the anchors, over F_mem,2."""
    return doublings_range(run, "mem1", "mem2")


def unlike_range(run: Observations) -> Value:
    """Return the doublings between fitting memory and the training sums, by the evaluations alone."""
    return magnitude(lead(run))


def unlike_learnable(run: Observations) -> Value:
    """Return the same where memory counts as fitted at half of what a model without order can learn of it."""
    ceiling = order_blind_ceiling(run.task)
    level = HALF * (1.0 if ceiling is None else ceiling)
    return magnitude(log_ratio(fitted_range(run, "mem", level), fitted_range(run, "rsn_train")))


def last_accuracy(run: Observations, part: str) -> float:
    """Return a data set's accuracy at the end."""
    return float(run.metrics[-1]["accuracy"][part])


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
    """Return the test accuracy at a training accuracy of one half, linear in time; NaN if not reached."""
    time = fitted_time(run, "rsn_train")
    times, accuracy = curve(run, "accuracy", "rsn_test")
    return math.nan if isinstance(time, Bound) else float(np.interp(time, times, accuracy))


def least_matched_rise(seed: Seed) -> float:
    """Return by how much it is higher at γ = 0.8 than at 0.3 at least, if accuracies only rise in between."""
    by: dict[float, tuple[float, float]] = {}
    for (_, rate), run in seed.items():
        time = fitted_time(run, "rsn_train")
        if isinstance(time, Bound):
            return math.nan
        times, accuracy = curve(run, "accuracy", "rsn_test")
        last, first = np.searchsorted(times, time, "right") - 1, np.searchsorted(times, time, "left")
        low, high = sorted((float(accuracy[last]), float(accuracy[first])))
        by[rate] = low, high
    return by[SMALL][0] - by[LARGE][1]


# --- the bias over a run, over γ and over learning rates --------------------------------------------------


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
    """Return the γ at which the bias becomes positive; NaN if a run learned nothing.

    The biases are first made monotone in γ by the least change (isotonic regression), so that there is at
    most one crossing. Where all biases have one sign, it lies beyond the least or the greatest γ: a bound.
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
    return first_passage(rates, fitted, 0.0) if fitted[0] <= 0 < fitted[-1] else math.nan


def bias_gap(seed: Seed) -> float:
    """Return how far the biases at γ = 0.8 and 0.3 of one variant are apart; NaN if a run learned nothing."""
    by = {rate: learned_bias(run) for (_, rate), run in seed.items()}
    return abs(by[SMALL] - by[LARGE])


def least_of_variants(measure: Callable[[Seed], float], seed: Seed) -> float:
    """Return the least value that a measure has over a seed's variants, each by itself, NaN left out."""
    names = sorted({name for name, _ in seed})
    found = [measure({key: run for key, run in seed.items() if key[0] == name}) for name in names]
    return min((value for value in found if math.isfinite(value)), default=math.nan)


def least_bias_gap(seed: Seed) -> float:
    """Return the least gap of biases over a seed's variants."""
    return least_of_variants(bias_gap, seed)


def learned_variants(seed: Seed) -> list[str]:
    """Return the variants whose run at γ = 0.8 fitted the reasoning training set, by peak learning rate."""
    found = [v for (v, rate), run in seed.items() if rate == SMALL and is_fitted(run, "rsn_train")]
    return sorted(found, key=lambda v: seed[v, SMALL].config.training.peak_learning_rate)


def learned_count(seed: Seed) -> float:
    """Return how many variants these are."""
    return float(len(learned_variants(seed)))


def least_lead(seed: Seed) -> Value:
    """Return the least doublings of memory over reasoning test at γ = 0.8, over variants that learned.

    A variant that fitted neither by its end may have any.
    """
    found = [lead(seed[v, SMALL], "rsn_test") for v in learned_variants(seed)]
    return least(Bound() if math.isnan(ends(value)[0]) else value for value in found)


def greatest_lead_at_large(seed: Seed) -> Value:
    """Return the greatest doublings of memory over reasoning test at γ = 0.3, where either was fitted."""
    return greatest(lead(run, "rsn_test") for (_, rate), run in seed.items() if rate == LARGE)


def gain_of_one(seed: Seed) -> float:
    """Return how much larger the bias is at γ = 0.8 than at 0.3; NaN if a run learned nothing."""
    by = {rate: learned_bias(run) for (_, rate), run in seed.items()}
    return by[SMALL] - by[LARGE]


def least_gain(seed: Seed) -> float:
    """Return the least excess of the bias at γ = 0.8 over that at γ = 0.3, where both runs learned."""
    learned = learned_variants(seed)
    return least_of_variants(gain_of_one, {key: run for key, run in seed.items() if key[0] in learned})
