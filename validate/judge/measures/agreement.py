"""How well numbers agree: correlations, sizes of the error, and a permutation that destroys order."""

from __future__ import annotations

import math
from typing import Annotated

import numpy as np
import numpy.typing as npt

from theory import InputError
from theory.edge.arrays import FloatArray
from theory.edge.checked import checked
from theory.edge.checks import Entries
from validate.judge.stats import COSINE, SIZE, Estimate, over_seeds

MEASURES = {"pearson": COSINE, "spearman": COSINE, "rmse": SIZE, "largest_error": SIZE}
"""Each measure, and the values it can take."""
CONSTANT = 1e-12
"""Cosines that differ from their mean by less than this are equal up to rounding."""
Cosines = Annotated[npt.ArrayLike, Entries(undefined=True)]
"""NaN where an embedding is zero and has no direction."""


@checked
def measures(predicted: Cosines, observed: Cosines) -> dict[str, FloatArray]:
    """Return Pearson, Spearman, RMSE and the largest error along the last axis.

    The correlations are NaN where either side is constant up to rounding, such as the prediction for the
    memory anchors, which all have the same P^s.

    Parameters
    ----------
    predicted, observed : array_like, of one shape (..., n)
        Cosines of n pairs; NaN where one is undefined.

    Returns
    -------
    dict of str to ndarray, shape (...)
        "pearson", "spearman", "rmse" and "largest_error".

    Raises
    ------
    InputError
        If the shapes differ, there is no pair, or an entry is infinite.
    """
    p, o = np.asarray(predicted, np.float64), np.asarray(observed, np.float64)
    if p.shape != o.shape or p.ndim == 0 or p.size == 0:
        raise InputError(
            "predicted, observed", (p.shape, o.shape), "no pairs", "give two arrays of one shape"
        )
    if np.isinf(p).any() or np.isinf(o).any():
        raise InputError("predicted, observed", "arrays", "hold infinity", "give cosines")
    error = p - o
    return {
        "pearson": correlation(p, o),
        "spearman": correlation(ranks(p), ranks(o)),
        "rmse": np.sqrt(np.mean(error**2, axis=-1)),
        "largest_error": np.abs(error).max(axis=-1),
    }


def agreement(predicted: FloatArray, observed: FloatArray, *names: str) -> list[Estimate]:
    """Return estimates over seeds of some of the ``MEASURES``; ``observed`` has shape (n_seeds, n_pairs)."""
    values = measures(np.broadcast_to(predicted, observed.shape), observed)
    return [over_seeds(values[name], MEASURES[name]) for name in names]


def correlation(a: FloatArray, b: FloatArray) -> FloatArray:
    """Return Pearson's correlation along the last axis; NaN where one side is constant.

    Of fewer than three numbers, too: any two lie on a line.
    """
    if a.shape[-1] < 3:
        return np.full(a.shape[:-1], math.nan)
    a, b = (x - x.mean(axis=-1, keepdims=True) for x in (a, b))
    norms = np.sqrt((a**2).sum(axis=-1) * (b**2).sum(axis=-1))
    varies = np.minimum(np.abs(a).max(axis=-1), np.abs(b).max(axis=-1)) > CONSTANT
    return np.where(varies, (a * b).sum(axis=-1) / np.where(varies, norms, 1.0), math.nan)


def skill_over_zeros(predicted: FloatArray, observed: FloatArray) -> FloatArray:
    """Return 1 − Σ(x̂ − x)² / Σx² along the last axis; NaN where all x are zero."""
    size = (observed**2).sum(axis=-1)
    error = ((predicted - observed) ** 2).sum(axis=-1)
    return np.where(size > 0, 1 - error / np.where(size > 0, size, 1.0), math.nan)


def pearson(a: npt.ArrayLike, b: npt.ArrayLike) -> float:
    """Return Pearson's correlation; NaN where one side is constant."""
    return float(correlation(np.asarray(a, np.float64), np.asarray(b, np.float64)))


def spearman(a: npt.ArrayLike, b: npt.ArrayLike) -> float:
    """Return Spearman's correlation, at any scale: weights may be tiny; NaN where one side is constant."""
    sides = (np.asarray(a, np.float64), np.asarray(b, np.float64))
    return float(correlation(*(ranks(side / (np.abs(side).max() + np.finfo(float).tiny)) for side in sides)))


def ranks(cosines: FloatArray) -> FloatArray:
    """Return ranks along the last axis; cosines that are equal except for rounding share their mean rank."""

    def of(row: FloatArray) -> FloatArray:  # scipy.stats has it, and takes longer to import than all ranks.
        ordered = np.sort(row)
        ranks = (np.searchsorted(ordered, row) + np.searchsorted(ordered, row, "right") + 1) / 2
        return np.where(np.isnan(row).any(), math.nan, ranks)

    return np.apply_along_axis(of, -1, cosines.round(12))


def slope(predicted: npt.ArrayLike, observed: npt.ArrayLike) -> float:
    """Return the least-squares slope of observed over predicted; NaN where one side is constant."""
    p, o = (x - x.mean() for x in (np.asarray(predicted, np.float64), np.asarray(observed, np.float64)))
    return float(p @ o / (p @ p)) if min(np.abs(p).max(), np.abs(o).max()) > CONSTANT else math.nan


def r_squared(observed: npt.ArrayLike, predicted: npt.ArrayLike) -> float:
    """Return 1 − Σ(x − x̂)² / Σ(x − x̄)²; NaN for equal x, and for two or fewer."""
    x, guess = np.asarray(observed, np.float64), np.asarray(predicted, np.float64)
    spread = float(np.sum((x - x.mean()) ** 2)) if len(x) > 2 and np.ptp(x) > 0 else 0.0
    return 1 - float(np.sum((x - guess) ** 2)) / spread if spread > 0 else math.nan


def scrambled(n: int) -> npt.NDArray[np.int64]:
    """Return a permutation that destroys the order of n > 2 things: steps of about 0.38 n around a circle."""
    step = max(2, round(0.382 * n))
    while math.gcd(step, n) > 1:
        step += 1
    return np.arange(n) * step % n
