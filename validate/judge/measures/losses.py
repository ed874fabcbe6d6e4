"""Measures of losses over a run: how far one lies above another, and how far they spike."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from theory.arrays import FloatArray
from validate.judge.bounds import Bound, Value, ends, greatest
from validate.judge.condition import Seed
from validate.judge.measures.learning import learned_variants
from validate.judge.times import chance_loss, curve, largest_rise, mean_over_run
from validate.observe import Observations


def spike(run: Observations) -> Value:
    """Return the largest rise of a training loss above its lowest value before, in units of ln N_Z.

    A loss that overflowed after the first evaluation has lost all that was learned: at least one unit.
    """
    low, high = ends(greatest(largest_rise(curve(run, "loss", part)[1]) for part in ("mem", "rsn_train")))
    largest = low / chance_loss(run)
    return Bound(low=max(largest, 1.0)) if math.isinf(high) else largest


def spike_at_top(seed: Seed, below: int = 0) -> Value:
    """Return the greatest spike, over γ, at the highest rate that learned, or so many below it."""
    return _spike(seed, lambda n: n - 1 - below)


def spike_at_middle(seed: Seed) -> Value:
    """Return the same at the middle one of these rates."""
    return _spike(seed, lambda n: round(0.5 * (n - 1)))


def _spike(seed: Seed, place: Callable[[int], int]) -> Value:
    learned = learned_variants(seed)
    if len(learned) < 2:  # A range needs a top and a middle.
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
