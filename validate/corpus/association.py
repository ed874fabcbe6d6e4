"""How two cosine matrices of the same tokens go together, with intervals over the tokens."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.special import stdtrit
from scipy.stats import rankdata

from sim.runs.files import finite
from theory import InputError
from theory.arrays import FloatArray
from theory.display import Shown, text_table
from validate.judge.stats import Estimate
from validate.observe.language import cosines_of_gram
from validate.terminal.tables import Table

N_GROUPS = 20
"""Groups of tokens of which the jackknife leaves out one at a time."""
FEWEST = 10
"""Tokens that an interval needs."""


MEASURES = ("Pearson", "Spearman", "control", "gain", "mean", "observed")
NOTES = (
    "Pearson, Spearman: over all pairs of tokens, with 95 % intervals (jackknife over tokens)",
    "control: Pearson's correlation of the prediction from shuffled text",
    "gain: Pearson's correlation above the control's",
    "mean, observed: the mean cosine predicted and observed",
)


@dataclass(frozen=True)
class Association:
    """How predicted cosines go with observed ones.

    Attributes
    ----------
    pearson, spearman : Estimate
        Correlations over all pairs of tokens, of values and of ranks, with 95 % intervals of a jackknife over
        tokens; no interval for fewer than ten tokens.
    control : Estimate
        Pearson's correlation of the control's prediction.
    gain : Estimate
        Pearson's correlation less that of the control.
    predicted_mean, observed_mean : float
        Mean cosines.
    n_tokens : int
    """

    pearson: Estimate
    spearman: Estimate
    control: Estimate
    gain: Estimate
    predicted_mean: float
    observed_mean: float
    n_tokens: int

    def cells(self) -> list[str]:
        """Return the measures as text, in the order of ``MEASURES``."""
        estimates = self.pearson, self.spearman, self.control, self.gain
        return [*map(str, estimates), f"{self.predicted_mean:.3f}", f"{self.observed_mean:.3f}"]

    def to_json(self) -> dict[str, Any]:
        """Return plain data; undefined values are null."""
        return {
            **{name: getattr(self, name).as_dict() for name in ("pearson", "spearman", "control", "gain")},
            "n_tokens": self.n_tokens,
            **{name: finite(getattr(self, name)) for name in ("predicted_mean", "observed_mean")},
        }


class Associations(Shown):
    """A result of several associations, printed as one table with the meaning of its columns."""

    def table(self) -> Table:
        """Return one line per association, with ``MEASURES`` among its columns."""
        raise NotImplementedError

    def __str__(self) -> str:
        table = self.table()
        return "\n".join([text_table(table.header, table.rows), *table.notes])

    def _shown(self) -> tuple[str, Sequence[str], Sequence[Sequence[str]]]:
        return self.table()[:3]


def named_json(row: Any) -> dict[str, Any]:
    """Return a named tuple that ends with an association as plain data; undefined values are null."""
    *values, association = row
    plain: dict[str, Any] = association.to_json()
    return dict(zip(row._fields, values, strict=False)) | plain


def associate_rows(
    rows: FloatArray,
    tokens: npt.NDArray[np.int64],
    predicted: Sequence[FloatArray],
    mean_removed: bool,
    seed: int,
) -> Association:
    """Compare the cosines of tokens' rows with those of predicted inner products, the controls' last.

    Tokens without a row, observed or predicted, are left out.
    """
    grams = [rows[tokens] @ rows[tokens].T, *predicted]
    defined = np.all([np.diagonal(gram) > 0 for gram in grams], axis=0)
    if defined.sum() < 2:
        raise InputError("tokens", tokens.tolist(), "fewer than two of them have a row", "name others")
    observed, first, *controls = (
        cosines_of_gram(gram[np.ix_(defined, defined)], mean_removed) for gram in grams
    )
    return associate(first, observed, controls, np.random.default_rng(seed))


def associate(
    predicted: FloatArray, observed: FloatArray, controls: Sequence[FloatArray], rng: np.random.Generator
) -> Association:
    """Compare cosine matrices of the same n tokens; several controls are averaged.

    Leaving out a group of tokens leaves out all their pairs, so that the interval allows for pairs with a
    common token going up and down together. For independent pairs it is too wide, by √2.
    """
    n = len(predicted)
    kept = [np.ones(n, np.bool_)]
    if n >= FEWEST:
        group = rng.permutation(n) % min(N_GROUPS, n)
        kept += [group != g for g in range(group.max() + 1)]

    def correlations(first: FloatArray, second: FloatArray) -> FloatArray:
        return np.array([pearson(_pairs(first, keep), _pairs(second, keep)) for keep in kept])

    linear = correlations(predicted, observed)
    control = np.mean([correlations(matrix, observed) for matrix in controls], axis=0)
    # Ranks among all pairs: without a group they hardly change.
    ranked = correlations(_ranks(predicted), _ranks(observed))
    return Association(
        jackknife_estimate(linear, bounded=True),
        jackknife_estimate(ranked, bounded=True),
        jackknife_estimate(control, bounded=True),
        jackknife_estimate(linear - control),
        float(_pairs(predicted, kept[0]).mean()),
        float(_pairs(observed, kept[0]).mean()),
        n,
    )


def pearson(first: FloatArray, second: FloatArray) -> float:
    """Return the correlation; NaN where one of them is constant."""
    if len(first) < 2:
        return math.nan
    a, b = first - first.mean(), second - second.mean()
    scale = math.sqrt(float(a @ a) * float(b @ b))
    # The rounding of a constant is not a spread.
    flat = 1e-20 * max(float(first @ first), 1e-300) * max(float(second @ second), 1e-300)
    return float(a @ b) / scale if scale**2 > flat else math.nan


def jackknife_estimate(values: FloatArray, *, bounded: bool = False) -> Estimate:
    """Return the first value with its 95 % interval by the others, each without one group of tokens."""
    value, without = float(values[0]), values[1:]
    if not np.isfinite(values).all() or not len(without):
        return Estimate(value, None, None, 0 if math.isnan(value) else 1)
    # A correlation's interval is that of its inverse hyperbolic tangent: it stays within ±1.
    inside = bounded and float(np.abs(values).max()) < 1 - 1e-12
    centre, scaled = (np.arctanh(value), np.arctanh(without)) if inside else (value, without)
    g = len(without)
    error = math.sqrt((g - 1) / g * float(((scaled - scaled.mean()) ** 2).sum()))
    half = float(stdtrit(g - 1, 0.975)) * error
    low, high = centre - half, centre + half
    if inside:
        low, high = math.tanh(low), math.tanh(high)
    return Estimate(value, float(low), float(high), g)


def _ranks(matrix: FloatArray) -> FloatArray:
    """Return a matrix whose upper triangle holds the ranks of the pairs."""
    ranks = np.zeros_like(matrix)
    above = np.triu_indices(len(matrix), 1)
    # Cosines that are equal except for rounding share a rank.
    ranks[above] = rankdata(matrix[above].round(10))
    return ranks


def _pairs(matrix: FloatArray, keep: npt.NDArray[np.bool_]) -> FloatArray:
    part = matrix[np.ix_(keep, keep)]
    return np.asarray(part[np.triu_indices(len(part), 1)])
