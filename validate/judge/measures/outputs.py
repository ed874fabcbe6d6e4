"""Measures of outputs: what a mapping's outputs say about its labels."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

from validate.observe import Observations
from validate.observe.observables import FARTHEST
from validate.observe.times import early_epoch, last_epoch


def least_own_mass(run: Observations) -> float:
    """Return the least mass, over mappings, of a mapping's early mean output on its own label range."""
    return min(float(run.at(f"label_mass/{m.name}", early_epoch(run))) for m in run.task.mappings)


def greatest_foreign_mass(run: Observations) -> float:
    """Return the greatest mass of a mapping's early mean output on the next narrower one's label range."""
    masses = []
    for narrow, wide in pairwise(sorted(run.task.mappings, key=lambda m: len(run.task.label_range(m)))):
        labels = run.task.label_range(narrow)
        masses.append(run.at(f"outputs/{wide.name}", early_epoch(run))[labels.start : labels.stop].sum())
    return float(max(masses))


def held_out_share(run: Observations, deviations: Sequence[int]) -> float:
    """Return the share of answers to held-out combinations, at the end, that are off by the given numbers."""
    shares = run.at("held_out_deviations", last_epoch(run))
    return float(sum(shares[FARTHEST + deviation] for deviation in deviations))
