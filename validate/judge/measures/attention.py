"""Measures of attention, of the value matrix, and of outputs."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import numpy as np

from theory.edge.arrays import FloatArray
from validate.judge.measures.agreement import scrambled, spearman
from validate.judge.measures.geometry import When
from validate.observe import Observations
from validate.observe.bounds import Value, between
from validate.observe.observables import FARTHEST, LEMMA1_EPSILONS
from validate.observe.times import early_epoch, first_epoch, last_epoch
from validate.predict.predictors import predicted_average_share


def lemma1_share(run: Observations, epsilon: float, when: When = early_epoch) -> float:
    """Return the share of first attention entries within ε of 1/i."""
    return float(run.at("lemma1_share", when(run))[LEMMA1_EPSILONS.index(epsilon)])


def lemma1_excess(run: Observations, epsilon: float) -> float:
    """Return that share at initialisation minus the theory's prediction for these weights."""
    return lemma1_share(run, epsilon, first_epoch) - predicted_average_share(run.config, epsilon)


def value_gap(run: Observations, when: When = early_epoch) -> float:
    """Return the first singular value of W_V over the second."""
    values = run.at("singular/0.W_V", when(run))
    return float(values[0] / values[1])


def alignment(run: Observations, kind: str, when: When = early_epoch) -> float:
    """Return the mean |cosine| of the "reasoning" or "memory" anchors with W_V's top left singular vector."""
    tokens = run.task.reasoning_anchors if kind == "reasoning" else run.task.memory_anchors
    cosines = run.at("wv_direction", when(run))
    return float(np.mean([abs(cosines[run.tokens.index(token)]) for token in tokens]))


def preference(run: Observations) -> float:
    """Return the early difference of the two kinds of anchors in that alignment."""
    return abs(alignment(run, "reasoning") - alignment(run, "memory"))


def _last_rows(run: Observations, scramble: bool) -> FloatArray:
    """Return the early mean logits for each key position but the last, or for another in its place."""
    rows = run.at("last_logits", early_epoch(run))
    return (rows[scrambled(len(rows))] if scramble else rows)[:-1]


def cliff_share(run: Observations, *, scramble: bool = False) -> float:
    """Return the share of key positions, but the last, with the steepest fall right after the window."""
    rows = _last_rows(run, scramble)
    return float(np.mean(np.diff(rows).argmin(axis=1) == np.arange(len(rows)) + run.task.n_anchors))


def gentle_share(run: Observations, *, scramble: bool = False) -> float:
    """Return the share of key positions at which the logits fall slightly in the window and sharply after it.

    Slightly: by more than 0, and by less per position than in the step after the last anchor (App. D).
    """
    q, rows = run.task.n_anchors, _last_rows(run, scramble)
    p = np.arange(len(rows))
    inside, after = (rows[p, p] - rows[p, p + q]) / q, rows[p, p + q] - rows[p, p + q + 1]
    return float(np.mean((inside > 0) & (inside < after)))


def key_mass(run: Observations, when: When = early_epoch) -> Value:
    """Return the attention of the last position to the key alone, on reasoning sequences, over key positions.

    A bound where only the mean over all sequences was observed, with equally many of each mapping.
    """
    if "key_attention" in run.arrays:
        return float(run.at("key_attention", when(run)).mean())
    mean = float(np.diagonal(run.at("last_attention", when(run))).mean())
    share = float(np.mean([not mapping.is_table for mapping in run.task.mappings]))
    return between(max(0.0, 1 - (1 - mean) / share), min(1.0, mean / share))


def rise(run: Observations, *, scramble: bool = False) -> float:
    """Return Spearman's correlation of logit and position up to the key, a mean over key positions."""
    correlations = []
    for p, row in enumerate(run.at("last_logits", early_epoch(run))[2:], 2):
        places = scrambled(p + 1) if scramble else np.arange(p + 1)
        correlations.append(spearman(places, row[: p + 1]))
    return float(np.mean(correlations))


def positions_rise(run: Observations, when: When = early_epoch) -> float:
    """Return Spearman's correlation of position and logit, from positions alone, the last one left out."""
    logits = run.at("last_logits_positions", when(run))[:-1]
    return spearman(np.arange(len(logits)), logits)


# --- outputs ------------------------------------------------------------------------------------------------


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
