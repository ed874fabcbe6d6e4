"""Measures of what models put out before they are right."""

from __future__ import annotations

from itertools import pairwise

import numpy as np

from validate.observe import Observations
from validate.times import curve

STILL_LOW = 0.25
"""Accuracy up to which a memory task counts as barely learned: half of where it counts as fitted."""


def before_memorising(run: Observations) -> int | None:
    """Return the last snapshot in training at which the memory accuracy is still low; None without one."""
    _, accuracy = curve(run, "accuracy", "mem")
    epochs = [line["epoch"] for line in run.metrics]
    low = [e for e in run.epochs[1:] if np.interp(e, epochs, accuracy) <= STILL_LOW]
    return low[-1] if low else None


def least_own_mass(run: Observations, epoch: int | None) -> float:
    """Return the least mass, over mappings, of a mapping's mean output on its own label range."""
    if epoch is None:
        return float("nan")
    return min(float(run.at(f"label_mass/{m.name}", epoch)) for m in run.task.mappings)


def greatest_foreign_mass(run: Observations, epoch: int | None) -> float:
    """Return the greatest mass of a mapping's mean output on the next narrower mapping's label range."""
    if epoch is None:
        return float("nan")
    task = run.task
    ordered = sorted(task.mappings, key=lambda m: len(task.label_range(m)))
    masses = []
    for narrow, wide in pairwise(ordered):
        labels = task.label_range(narrow)
        masses.append(float(run.at(f"outputs/{wide.name}", epoch)[labels.start : labels.stop].sum()))
    return max(masses)
