"""Order: rank correlation, and the permutation that destroys it."""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

from validate.judge.agreement import measures


def pearson(a: npt.ArrayLike, b: npt.ArrayLike) -> float:
    """Return Pearson's correlation; NaN where one side is constant."""
    return float(measures(a, b)["pearson"])


def spearman(a: npt.ArrayLike, b: npt.ArrayLike) -> float:
    """Return Spearman's correlation; NaN where one side is constant."""
    return float(measures(a, b)["spearman"])


def scrambled(n: int) -> npt.NDArray[np.int64]:
    """Return a permutation that destroys nearly all of the order of n things and of their distances.

    Steps of about 0.38 n, the golden section, around a circle of n; of two at least, since steps of one
    change nothing. Two things have one distance, which nothing destroys.
    """
    step = max(2, round(0.382 * n))
    while math.gcd(step, n) > 1:
        step += 1
    return np.arange(n) * step % n
