"""Predicted numbers as text: with their standard errors, and as means over pairs at each distance |s − t|."""

from __future__ import annotations

import math
from collections.abc import Iterable

import numpy as np
import numpy.typing as npt

from theory import off_diagonal
from theory.arrays import FloatArray
from validate.observe.observations import UNDEFINED
from validate.predict.predictors import Tokens
from validate.predict.statistics import Cosines

MOST_DISTANCES = 9
"""The smallest distances that are shown."""


def summary(cosines: Cosines, tokens: Tokens) -> list[str]:
    """Return the mean over pairs of tokens, the extreme pairs, and the means at each distance, as text."""
    distances, apart = _distances(tokens)[:MOST_DISTANCES], np.abs(np.subtract.outer(tokens, tokens))
    masks = [np.triu(apart == distance, 1) for distance in distances]

    def mean_pairs(matrix: FloatArray) -> list[float]:
        known = [pairs[~np.isnan(pairs)] for pairs in (off_diagonal(matrix), *(matrix[at] for at in masks))]
        return [float(pairs.mean()) if pairs.size else math.nan for pairs in known]

    means = cosines.over(mean_pairs)
    cells = [*map(known_digits, means.value[1:], means.standard_error[1:])]
    if _have_gaps(distances):
        cells = [f"{distance}:{cell}" for distance, cell in zip(distances, cells, strict=True)]
    found = cosines.over(off_diagonal)
    ends = [UNDEFINED, UNDEFINED]
    if not np.isnan(found.value).all():
        at = [int(np.nanargmin(found.value)), int(np.nanargmax(found.value))]
        ends = [with_error(found.value[i], found.standard_error[i]) for i in at]
    return [with_error(means.value[0], means.standard_error[0]), *ends, " ".join(cells)]


def distance_notes(groups: Iterable[Tokens]) -> list[str]:
    """Return the sentences on distances that do not occur or are not shown, as these groups need them."""
    distances = [_distances(tokens) for tokens in groups]
    notes = []
    if any(_have_gaps(each[:MOST_DISTANCES]) for each in distances):
        shown = 'means are written with theirs, as "55:-0.770".'
        notes.append(f"If distances are missing between the anchors, {shown}")
    if any(len(each) > MOST_DISTANCES for each in distances):
        shown = f"the means at the {MOST_DISTANCES} smallest are shown; --json has the cosine of every pair."
        notes.append(f"Where anchors have more than {MOST_DISTANCES} distances, {shown}")
    return notes


def with_error(value: float, error: float, exact: str = ".3f") -> str:
    """Return an estimate and its standard error to two digits; in the given format if exact; NaN is "–"."""
    if math.isnan(value):
        return UNDEFINED
    if error == 0:
        return f"{value:z{exact}}"
    if max(abs(value), error) < 1e-3:
        power = math.floor(math.log10(max(abs(value), error)))
        return f"({_plain(value / 10**power, error / 10**power)})e{power}"
    return _plain(value, error)


def known_digits(value: float, error: float) -> str:
    """Return an estimate in the decimals that its standard error leaves, three at most; NaN is "–"."""
    if math.isnan(value):
        return UNDEFINED
    decimals = 3 if error == 0 else min(3, max(0, -math.floor(math.log10(2 * error))))
    return f"{value:z.{decimals}f}"


def _plain(value: float, error: float) -> str:
    decimals = max(0, 1 - math.floor(math.log10(error)))
    return f"{value:z.{decimals}f}±{error:.{decimals}f}"


def _distances(tokens: Tokens) -> npt.NDArray[np.int_]:
    apart = np.abs(np.subtract.outer(tokens, tokens))
    return np.unique(apart[np.triu_indices(len(tokens), 1)])


def _have_gaps(distances: npt.NDArray[np.int_]) -> bool:
    """Return whether ascending distances are other than 1, 2, ..."""
    return not np.array_equal(distances, np.arange(1, len(distances) + 1))
