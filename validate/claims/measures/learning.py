"""Measures of what is learned when."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping

import numpy as np
import numpy.typing as npt

from validate.claims.measures.order import isotonic, scrambled, spearman
from validate.claims.statements import LARGE, SMALL, Cell
from validate.observe import Observations
from validate.times import bias, chance_loss, curve, doublings, is_fitted, mean_over_run

FloatArray = npt.NDArray[np.float64]
Seed = Mapping[Cell, Observations]
"""One seed's runs, by variant and γ."""


def unlike(run: Observations) -> float:
    """Return how many doublings lie between fitting memory and fitting reasoning; NaN if one never is."""
    both = all(is_fitted(run, part) for part in ("mem", "rsn_train"))
    return abs(doublings(run, "mem", "rsn_train")) if both else math.nan


def unlike_at_least(run: Observations) -> float:
    """Return the same, or its least value if only one of the two is fitted by the end; NaN if none is."""
    either = any(is_fitted(run, part) for part in ("mem", "rsn_train"))
    return abs(doublings(run, "mem", "rsn_train")) if either else math.nan


def best_test_accuracy(run: Observations) -> float:
    """Return the highest accuracy on the reasoning test set that any evaluation found."""
    return float(curve(run, "accuracy", "rsn_test")[1].max())


def by_rate(seed: Seed) -> tuple[FloatArray, FloatArray]:
    """Return γ, ascending, and the bias of a seed's runs."""
    runs = sorted(seed.values(), key=lambda run: run.config.init_rate)
    return np.array([run.config.init_rate for run in runs]), np.array([bias(run) for run in runs])


def trend(seed: Seed) -> float:
    """Return Spearman's correlation of γ and bias."""
    return spearman(*by_rate(seed))


def scrambled_trend(seed: Seed) -> float:
    """Return the same with the values of γ dealt out in an order that has nothing to do with them."""
    rates, biases = by_rate(seed)
    return spearman(rates[scrambled(len(rates))], biases)


def crossover(seed: Seed) -> float:
    """Return the γ at which the bias changes sign; NaN if it does not.

    The biases are first made monotone in γ by the least change (isotonic regression), so that there is at
    most one crossing; it is interpolated between the two values of γ that enclose it.
    """
    rates, biases = by_rate(seed)
    fitted = isotonic(biases)
    above = np.flatnonzero(fitted > 0)
    if not above.size or above[0] == 0:
        return math.nan
    k = int(above[0])
    share = -fitted[k - 1] / (fitted[k] - fitted[k - 1])
    return float(rates[k - 1] + share * (rates[k] - rates[k - 1]))


def learned_variants(seed: Seed) -> list[str]:
    """Return the variants whose run at γ = 0.8 fitted the reasoning training set."""
    return [variant for (variant, rate), run in seed.items() if rate == SMALL and is_fitted(run, "rsn_train")]


def least_lead(seed: Seed) -> float:
    """Return the least doublings of memory over reasoning test at γ = 0.8, over variants that learned."""
    found = [doublings(seed[v, SMALL], "mem", "rsn_test") for v in learned_variants(seed)]
    return min(found, default=math.nan)


def greatest_lead_at_large(seed: Seed) -> float:
    """Return the greatest doublings of memory over reasoning test at γ = 0.3, over all variants."""
    found = [doublings(run, "mem", "rsn_test") for (_, rate), run in seed.items() if rate == LARGE]
    return max(found, default=math.nan)


def least_gain(seed: Seed) -> float:
    """Return the least excess of the bias at γ = 0.8 over that at γ = 0.3, over variants that learned."""
    gains = [bias(seed[v, SMALL]) - bias(seed[v, LARGE]) for v in learned_variants(seed)]
    return min(gains, default=math.nan)


def share_gaining(seed: Seed) -> float:
    """Return the share of variants that learned in which γ = 0.8 has the greater bias."""
    gains = [bias(seed[v, SMALL]) > bias(seed[v, LARGE]) for v in learned_variants(seed)]
    return float(np.mean(gains)) if gains else math.nan


def spike(run: Observations) -> float:
    """Return the largest rise of a training loss above its lowest value before, in units of ln N_Z."""
    rises = []
    for part in ("mem", "rsn_train"):
        loss = curve(run, "loss", part)[1]
        rises.append(float(np.max(loss - np.minimum.accumulate(loss))))
    return max(rises) / chance_loss(run)


def spike_at(quantile: float) -> Callable[[Seed], float]:
    """Return the measure of a seed's greatest spike, over γ, at a quantile of the learning rates tried."""

    def measure(seed: Seed) -> float:
        rates = sorted({run.config.training.learning_rate for run in seed.values()})
        chosen = rates[round(quantile * (len(rates) - 1))]
        return max(spike(run) for run in seed.values() if run.config.training.learning_rate == chosen)

    return measure


def loss_lead(run: Observations, slow: str, fast: str) -> float:
    """Return how far a loss lies above another on average over a run, as a share of ln N_Z."""
    difference = curve(run, "loss", slow)[1] - curve(run, "loss", fast)[1]
    return mean_over_run(run, difference) / chance_loss(run)


def first_loss_lead(run: Observations, slow: str, fast: str) -> float:
    """Return the same before any training."""
    losses = [curve(run, "loss", part)[1][0] for part in (slow, fast)]
    return float(losses[0] - losses[1]) / chance_loss(run)


def bias_gap(seed: Seed) -> float:
    """Return how far the biases at γ = 0.8 and 0.3 of one variant are apart."""
    by = {rate: bias(run) for (_, rate), run in seed.items()}
    return abs(by[SMALL] - by[LARGE])
