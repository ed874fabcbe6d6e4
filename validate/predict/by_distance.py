"""Means over the pairs of tokens at each distance |s − t|, as tables show them."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence

import numpy as np
import numpy.typing as npt

from theory.arrays import FloatArray
from validate.predict.predictors import Tokens

MOST_DISTANCES = 9
"""The smallest distances that are shown."""
NOTE = 'If distances are missing between the anchors, means are written with theirs, as "55:-0.770".'
CUT = (
    f"Where anchors have more than {MOST_DISTANCES} distances, the means at the {MOST_DISTANCES} smallest "
    "are shown; --json has the cosine of every pair."
)


def pairs_apart(tokens: Tokens) -> dict[int, npt.NDArray[np.bool_]]:
    """Return which entries above the diagonal are pairs at each distance; the smallest distances alone."""
    apart = np.abs(np.subtract.outer(tokens, tokens))
    return {int(distance): np.triu(apart == distance, 1) for distance in _distances(tokens)[:MOST_DISTANCES]}


def has_gaps(distances: Iterable[int]) -> bool:
    """Whether ascending distances are other than 1, 2, ..."""
    return any(distance != place for place, distance in enumerate(distances, start=1))


def means_text(distances: Sequence[int], means: Iterable[str]) -> str:
    """Return means in one cell: alone at distances 1, 2, ..., else each behind its distance."""
    if not has_gaps(distances):
        return " ".join(means)
    return " ".join(f"{distance}:{mean}" for distance, mean in zip(distances, means, strict=True))


def known_mean(values: FloatArray) -> float:
    """Return the mean of what is no NaN; NaN of nothing."""
    known = values[~np.isnan(values)]
    return float(known.mean()) if known.size else math.nan


def distance_notes(groups: Iterable[Tokens]) -> list[str]:
    """Return the sentences on distances that do not occur or are not shown, as these groups need them."""
    listed = list(groups)
    gaps = any(has_gaps(pairs_apart(tokens)) for tokens in listed)
    cut = any(len(_distances(tokens)) > MOST_DISTANCES for tokens in listed)
    return [NOTE] * gaps + [CUT] * cut


def _distances(tokens: Tokens) -> npt.NDArray[np.int_]:
    apart = np.abs(np.subtract.outer(tokens, tokens))
    return np.unique(apart[np.triu_indices(len(tokens), 1)])
