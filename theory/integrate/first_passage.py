"""When a quantity that is known at some times first reaches a level."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import numpy.typing as npt

from theory.arrays import FloatArray


def first_passage(
    times: npt.ArrayLike,
    values: npt.ArrayLike,
    level: float,
    straight: Callable[[FloatArray], FloatArray] = np.positive,
) -> float:
    """Return the first time at which a quantity is at least at a level; infinity where it never is.

    Between two times ``straight`` of the values is taken to be linear: by default the values themselves, and
    these too where it is not finite, as the logarithm of 0.
    """
    t, x = np.asarray(times, np.float64), np.asarray(values, np.float64)
    reached = np.flatnonzero(x >= level)
    if not reached.size:
        return float("inf")
    k = int(reached[0])
    if k == 0:
        return float(t[0])
    ends = np.array([x[k - 1], x[k], level])
    with np.errstate(divide="ignore"):
        straightened = straight(ends)
    before, after, wanted = straightened if np.isfinite(straightened).all() else ends
    return float(t[k - 1] + (wanted - before) / (after - before) * (t[k] - t[k - 1]))
