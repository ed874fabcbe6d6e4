"""Measures of interventions: one seed's intervened runs beside its plain one.

They look at the reasoning anchors alone: over all anchors the contrast of the two kinds, which no
intervention touches, would decide a correlation.
"""

from __future__ import annotations

import numpy as np

from theory import off_diagonal
from validate.judge.condition import SMALL, Seed
from validate.judge.measures.geometry import When, correlation, skill
from validate.judge.measures.rivals import skill_over_best
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


def same_geometry(seed: Seed, variant: str) -> float:
    """Return Pearson's correlation between a variant's and the plain run's cosines."""
    return correlation(*_of_plain(seed, variant))


def same_beyond_rivals(seed: Seed, variant: str) -> float:
    """Return the skill of the plain run's cosines, in predicting a variant's, over the best rival."""
    return skill_over_best(*_of_plain(seed, variant))


def geometry_change(seed: Seed, variant: str) -> float:
    """Return the root mean square difference of a variant's and the plain run's cosines."""
    run, predict, _, when = _of_plain(seed, variant)
    plain = predict(run, run.task.reasoning_anchors, 0)
    change = run.cosines(run.task.reasoning_anchors, when(run)) - plain
    return float(np.sqrt(np.mean(off_diagonal(change) ** 2)))


def follows_own_labels(seed: Seed, variant: str) -> float:
    """Return Pearson's correlation of a variant's cosines with those that its own task's labels predict."""
    run, _, tokens, when = _of_plain(seed, variant)
    return correlation(run, from_uniform, tokens, when)


def beyond_rivals(seed: Seed, variant: str) -> float:
    """Return the skill of that prediction over the best rival."""
    run, _, tokens, when = _of_plain(seed, variant)
    return skill_over_best(run, from_uniform, tokens, when)


def changed_labels_better(seed: Seed, variant: str, changed: str) -> float:
    """Return by how much the changed labels predict a variant's cosines better than the plain ones.

    The difference of the two skills (``geometry.skill``) of P^s − u.
    """
    run, _, tokens, when = _of_plain(seed, variant)

    def labels_of(name: str) -> Predict:
        return lambda _, named, epoch: from_uniform(seed[name, SMALL], named, epoch)

    return skill(run, labels_of(changed), tokens, when) - skill(run, labels_of("plain"), tokens, when)


def _of_plain(seed: Seed, variant: str) -> tuple[Observations, Predict, str, When]:
    """Return a variant's run, the plain run's early cosines as a prediction of it, of what and when."""
    plain, epoch = seed["plain", SMALL], matched_epoch(seed, variant)
    early = early_epoch(plain)
    return (
        seed[variant, SMALL],
        lambda run, tokens, _: plain.cosines(tokens, early),
        "reasoning anchors",
        lambda _: epoch,
    )
