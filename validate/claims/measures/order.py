"""Order: rank correlation, monotone fits, and the order that destroys it."""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

from validate.compare import measures

FloatArray = npt.NDArray[np.float64]


def spearman(a: npt.ArrayLike, b: npt.ArrayLike) -> float:
    """Return Spearman's correlation; NaN where one side is constant."""
    return float(measures(a, b)["spearman"])


def isotonic(values: FloatArray) -> FloatArray:
    """Return the non-decreasing sequence nearest to some values, by pooling neighbours that are not."""
    pools: list[tuple[float, int]] = []
    for value in values:
        mean, size = float(value), 1
        while pools and pools[-1][0] > mean:
            earlier, count = pools.pop()
            mean, size = (mean * size + earlier * count) / (size + count), size + count
        pools.append((mean, size))
    return np.repeat([mean for mean, _ in pools], [size for _, size in pools])


def scrambled(n: int) -> npt.NDArray[np.int64]:
    """Return a permutation that leaves next to nothing of the order of n things or of their distances.

    Steps of about 0.38 n, the golden section, around a circle of n.
    """
    step = max(1, round(0.382 * n))
    while math.gcd(step, n) > 1:
        step += 1
    return np.arange(n) * step % n
