"""Measures of interventions: one seed's intervened runs beside its plain one.

They look at the reasoning anchors alone: over all anchors the contrast of the two kinds, which no
intervention touches, would decide a correlation.
"""

from __future__ import annotations

import numpy as np

from theory import off_diagonal
from theory.arrays import FloatArray
from validate.claims.measures.geometry import at, correlation, skill
from validate.claims.measures.rivals import skill_over_best
from validate.claims.statements import SMALL, Seed
from validate.judge.times import early_epoch
from validate.observe import Observations
from validate.predict.predictors import Predict, from_uniform


def matched_epoch(seed: Seed, variant: str) -> int:
    """Return the snapshot of a variant at the time when the plain run of the same seed is early.

    The rule for "early" asks for reasoning accuracy, which an intervention may take away: time is taken
    from the plain run, and the last snapshot up to it is used.
    """
    early = early_epoch(seed["plain", SMALL])
    return max(epoch for epoch in seed[variant, SMALL].epochs if epoch <= early)


def of_plain(seed: Seed) -> Predict:
    """Return the plain run's early cosines as a prediction for the other runs of its seed."""
    plain = seed["plain", SMALL]
    return lambda run, tokens, epoch: plain.cosines(tokens, early_epoch(plain))


def same_geometry(seed: Seed, variant: str) -> float:
    """Return Pearson's correlation between a variant's and the plain run's cosines."""
    run = seed[variant, SMALL]
    return correlation(run, of_plain(seed), run.task.reasoning_anchors, at(matched_epoch(seed, variant)))


def same_beyond_rivals(seed: Seed, variant: str) -> float:
    """Return the skill of the plain run's cosines, in predicting a variant's, over the best rival."""
    run = seed[variant, SMALL]
    return skill_over_best(run, of_plain(seed), run.task.reasoning_anchors, at(matched_epoch(seed, variant)))


def geometry_change(seed: Seed, variant: str) -> float:
    """Return the root mean square difference of a variant's and the plain run's cosines."""
    plain, changed = seed["plain", SMALL], seed[variant, SMALL]
    tokens = plain.task.reasoning_anchors
    difference = changed.cosines(tokens, matched_epoch(seed, variant)) - plain.cosines(
        tokens, early_epoch(plain)
    )
    return float(np.sqrt(np.mean(off_diagonal(difference) ** 2)))


def follows_own_labels(seed: Seed, variant: str) -> float:
    """Return Pearson's correlation of a variant's cosines with those that its own task's labels predict."""
    run = seed[variant, SMALL]
    return correlation(run, from_uniform, run.task.reasoning_anchors, at(matched_epoch(seed, variant)))


def beyond_rivals(seed: Seed, variant: str) -> float:
    """Return the skill of that prediction over the best rival."""
    run = seed[variant, SMALL]
    return skill_over_best(run, from_uniform, run.task.reasoning_anchors, at(matched_epoch(seed, variant)))


def own_labels_better(seed: Seed, variant: str, other: str) -> float:
    """Return by how much P^s − u of a variant's own task predicts its cosines better than another task's.

    The difference of the two skills, of ``geometry.skill``.
    """
    run = seed[variant, SMALL]

    def theirs(_: Observations, tokens: tuple[int, ...], epoch: int) -> FloatArray:
        return from_uniform(seed[other, SMALL], tokens, epoch)

    skills = [
        skill(run, predict, run.task.reasoning_anchors, at(matched_epoch(seed, variant)))
        for predict in (from_uniform, theirs)
    ]
    return skills[0] - skills[1]
