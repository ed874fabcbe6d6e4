"""Measures of interventions: one seed's intervened runs beside its plain one."""

from __future__ import annotations

import numpy as np

from theory import off_diagonal
from validate.claims.measures.geometry import FloatArray, at, correlation, from_counts, shuffled, skill
from validate.claims.measures.learning import Seed
from validate.claims.measures.order import scrambled
from validate.claims.measures.times import early_epoch
from validate.claims.statements import SMALL
from validate.compare import measures
from validate.observe import Observations


def matched_epoch(seed: Seed, variant: str) -> int:
    """Return the snapshot of a variant at the time when the plain run of the same seed is early.

    The rule for "early" asks for reasoning accuracy, which an intervention may take away: time is taken
    from the plain run, and the last snapshot up to it is used.
    """
    early = early_epoch(seed["plain", SMALL])
    return max(epoch for epoch in seed[variant, SMALL].epochs if epoch <= early)


def same_geometry(seed: Seed, variant: str, *, scramble: bool = False) -> float:
    """Return Pearson's correlation between a variant's and the plain run's cosines of all anchors."""
    plain, changed = seed["plain", SMALL], seed[variant, SMALL]
    tokens = plain.task.anchors
    order = scrambled(len(tokens)) if scramble else np.arange(len(tokens))
    ours = changed.cosines(tokens, matched_epoch(seed, variant))[np.ix_(order, order)]
    theirs = plain.cosines(tokens, early_epoch(plain))
    return float(measures(off_diagonal(ours), off_diagonal(theirs))["pearson"])


def geometry_change(seed: Seed, variant: str) -> float:
    """Return the root mean square difference of a variant's and the plain run's cosines of all anchors."""
    plain, changed = seed["plain", SMALL], seed[variant, SMALL]
    tokens = plain.task.anchors
    difference = changed.cosines(tokens, matched_epoch(seed, variant)) - plain.cosines(
        tokens, early_epoch(plain)
    )
    return float(np.sqrt(np.mean(off_diagonal(difference) ** 2)))


def follows_own_labels(seed: Seed, variant: str, *, scramble: bool = False) -> float:
    """Return Pearson's correlation of a variant's cosines with those that its own label counts predict."""
    run = seed[variant, SMALL]
    predict = shuffled(from_counts) if scramble else from_counts
    return correlation(run, predict, run.task.anchors, at(matched_epoch(seed, variant)))


def own_labels_better(seed: Seed, variant: str, other: str) -> float:
    """Return by how much a variant's own labels predict its cosines better than another variant's do.

    The difference of the two skills, of ``geometry.skill``.
    """
    run = seed[variant, SMALL]

    def theirs(_: Observations, tokens: tuple[int, ...]) -> FloatArray:
        return from_counts(seed[other, SMALL], tokens)

    skills = [
        skill(run, predict, run.task.anchors, at(matched_epoch(seed, variant)))
        for predict in (from_counts, theirs)
    ]
    return skills[0] - skills[1]
