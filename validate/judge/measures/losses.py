"""Measures of losses over a run: how far one lies above another, and how far they spike."""

from __future__ import annotations

import math

import numpy as np

from validate.judge.condition import Seed
from validate.judge.measures.learning import learned_variants
from validate.observe import Observations
from validate.observe.bounds import Bound, Value, ends, extreme
from validate.observe.times import chance_loss, curve, largest_rise, mean_over_run


def spike(run: Observations) -> Value:
    """Return the largest rise of a training loss above its lowest value before, in units of ln N_Z.

    A loss that overflowed after the first evaluation has lost all that was learned: at least one unit.
    """
    rises = (largest_rise(curve(run, "loss", part)[1]) for part in ("mem", "rsn_train"))
    low, high = ends(extreme(rises, max))
    largest = low / chance_loss(run)
    return Bound(low=max(largest, 1.0)) if math.isinf(high) else largest


def spike_at(seed: Seed, place: float, below: int = 0) -> Value:
    """Return the greatest spike, over γ, at a rate among those that learned: the middle (0.5), the top (1).

    ``below`` counts down from there. NaN for fewer than two such rates, which have no top and middle.
    """
    learned = learned_variants(seed)
    if len(learned) < 2:
        return math.nan
    chosen = learned[round(place * (len(learned) - 1)) - below]
    return extreme((spike(run) for (variant, _), run in seed.items() if variant == chosen), max)


def loss_lead(run: Observations, slow: str, fast: str, *, first: bool = False) -> Value:
    """Return by how much one loss exceeds another, averaged over a run, as a share of ln N_Z.

    A loss that overflowed is at least as high as any that was seen: a bound where one of them did, NaN where
    both did. ``first`` takes the losses before any training.
    """
    losses = np.stack([curve(run, "loss", part)[1] for part in (slow, fast)])[:, : 1 if first else None]
    finite = np.isfinite(losses)
    overflowed = [not part.all() for part in finite]
    if all(overflowed):
        return math.nan
    high, low = np.where(finite, losses, losses.max(where=finite, initial=-math.inf))
    excess = float(high[0] - low[0]) if first else mean_over_run(run, high - low)
    found = excess / chance_loss(run)
    if math.isnan(found) or not any(overflowed):
        return found
    return Bound(low=found) if overflowed[0] else Bound(high=found)
