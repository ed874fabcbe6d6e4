"""Means over the pairs of tokens at each distance |s − t|, as tables show them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np
import numpy.typing as npt

from validate.predict.predictors import Tokens

MOST_DISTANCES = 9
"""The smallest distances that are shown."""
NOTE = (
    "Where some distance from 1 on does not occur between the anchors, a mean is shown behind its distance "
    "and a colon."
)


def pairs_apart(tokens: Tokens) -> dict[int, npt.NDArray[np.bool_]]:
    """Return which entries above the diagonal are pairs at each distance; the smallest distances alone."""
    apart = np.abs(np.subtract.outer(tokens, tokens))
    found = np.unique(apart[np.triu_indices(len(tokens), 1)])[:MOST_DISTANCES]
    return {int(distance): np.triu(apart == distance, 1) for distance in found}


def has_gaps(distances: Iterable[int]) -> bool:
    """Whether ascending distances are other than 1, 2, ..."""
    return any(distance != place for place, distance in enumerate(distances, start=1))


def means_text(distances: Sequence[int], means: Iterable[str]) -> str:
    """Return means in one cell: alone at distances 1, 2, ..., else each behind its distance."""
    if not has_gaps(distances):
        return " ".join(means)
    return " ".join(f"{distance}:{mean}" for distance, mean in zip(distances, means, strict=True))


def gap_notes(groups: Iterable[Tokens]) -> list[str]:
    """Return the sentence on distances that do not occur, if a table of these groups needs it."""
    return [NOTE] if any(has_gaps(pairs_apart(tokens)) for tokens in groups) else []
