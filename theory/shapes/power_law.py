"""The exponent of a power law from measurements, with its interval."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy.special import stdtrit

from theory.edge.arrays import ArrayLike, Real
from theory.edge.checked import Share, checked
from theory.edge.errors import InputError


@dataclass(frozen=True)
class Exponent:
    """A fitted exponent.

    Attributes
    ----------
    value : float
        The slope of log y over log x.
    low, high : float
        The ends of its interval, wider the more the points scatter about a straight line.
    """

    value: float
    low: float
    high: float


@checked
def fit_exponent(x: Real[ArrayLike, " n"], y: Real[ArrayLike, " n"], *, level: Share = 0.99) -> Exponent:
    """Fit y ∝ x^a by least squares of log y over log x.

    Parameters
    ----------
    x, y : array_like, shape (n,)
        Positive, n at least 3; values of x may repeat.
    level : float, optional
        The interval's confidence, by Student's t with n − 2 degrees of freedom.

    Raises
    ------
    InputError
        If there are fewer than three points, one is not positive, or all x are equal.
    """
    log_x, log_y = _logs("x", x), _logs("y", y)
    if len(log_x) < 3:
        raise InputError("x", x, "too few points for an interval", "give n >= 3 of each")
    # Both centred: over a narrow range of x, rounding would let the mean of y change the slope.
    centred, heights = log_x - log_x.mean(), log_y - log_y.mean()
    spread = float(centred @ centred)
    if np.ptp(log_x) == 0:  # Rounding may leave equal ones a spread above 0.
        raise InputError("x", float(np.asarray(x)[0]), "the same for all points", "vary it")
    slope = float(centred @ heights) / spread
    residual, freedom = heights - slope * centred, len(log_x) - 2
    half = float(stdtrit(freedom, (1 + level) / 2)) * (float(residual @ residual) / freedom / spread) ** 0.5
    return Exponent(slope, slope - half, slope + half)


def _logs(argument: str, values: npt.ArrayLike) -> npt.NDArray[np.float64]:
    array = np.asarray(values, dtype=np.float64)
    if not (array > 0).all():
        raise InputError(argument, values, "not all positive", "a power law needs positive numbers")
    return np.log(array)
