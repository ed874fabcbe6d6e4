r"""Fits: the width of eq. 14, the paper's Gaussian shape of an embedding, and the exponent of a power law."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy.optimize import minimize_scalar
from scipy.special import stdtrit

from theory.edge.arrays import ArrayLike, Float64, FloatArray, Integer, Real
from theory.edge.checked import Positive, Share, Size, checked
from theory.edge.checks import check_tokens
from theory.edge.errors import InputError
from theory.shapes.cosines import unit_rows
from theory.task.rules.additive import Sum
from theory.task.task import Task

PAPER_WIDTH = 12.0
"""The width that eq. 14 prints; it stands for a variance of 6."""


@checked
def eq14_embedding(
    task: Task, tokens: Integer[ArrayLike, " n"], *, width: Positive = PAPER_WIDTH, d_m: Size | None = None
) -> Float64[FloatArray, "n {task.vocab_size}"]:
    r"""Return eq. 14 without its noise: :math:`\exp(-(i-s)^2/\text{width}) - 1/d_m` for anchors s.

    For keys the constant is absent, as printed. The coordinate i runs over the vocabulary; the paper
    identifies it with the embedding's own coordinates (d_m = d).

    Parameters
    ----------
    task : Task
        Gives the vocabulary and says which tokens are keys.
    tokens : sequence of int
        The tokens s, one row each.
    width : float, optional
        12 in the paper; a label distribution of variance σ² would have 2σ².
    d_m : int, optional
        The embedding width in the constant; the vocabulary size by default.

    Raises
    ------
    InputError
        If a token is neither a key nor an anchor of a ``Sum``. Eq. 14 is about the token's number, which
        a ``Shift`` does not add.
    """
    distances, constant = _distances(task, check_tokens("tokens", tokens, task.vocab_size), d_m)
    return np.asarray(np.exp(-distances / width) - constant)


def _distances(task: Task, tokens: npt.NDArray[np.int64], d_m: int | None) -> tuple[FloatArray, FloatArray]:
    """Return (i − s)² and each token's constant, shapes (n, vocab_size) and (n, 1)."""
    summed = [a for m in task.mappings if isinstance(m.rule, Sum) for a in m.anchors]
    for token in tokens[~np.isin(tokens, [*task.keys, *summed])].tolist():
        problem = "neither a key nor an anchor that is added itself, so eq. 14 does not cover it"
        remedy = f"choose keys or anchors from {sorted(summed) or 'another task'}"
        raise InputError("tokens", token, problem, remedy)
    constant: FloatArray = np.where(np.isin(tokens, task.keys), 0.0, 1 / (d_m or task.vocab_size))
    distances: FloatArray = (np.arange(task.vocab_size, dtype=np.float64) - tokens[:, None]) ** 2
    return distances, constant[:, None]


@checked
def fit_width(
    task: Task,
    tokens: Integer[ArrayLike, " n"],
    observed: Real[ArrayLike, "*n_seeds n n"],
    *,
    bounds: tuple[Positive, Positive] = (0.1, 1e5),
) -> float:
    """Return the width of eq. 14 that fits observed cosines best, by least squares over pairs.

    Parameters
    ----------
    task, tokens
        As in ``eq14_embedding``.
    observed : array_like, shape (n, n) or (n_seeds, n, n)
        Cosine matrices of the tokens' embeddings; several are fitted together.
    bounds : tuple of float, optional
        The widths tried; a fit at a bound means that no width fits.

    Returns
    -------
    float
        In-sample: to judge the fit, compare on seeds that it has not seen.
    """
    s = check_tokens("tokens", tokens, task.vocab_size)
    n = len(s)
    matrices = np.asarray(observed, dtype=np.float64).reshape(-1, n, n)
    if n < 2 or len(matrices) == 0:
        raise InputError("observed", matrices.shape, "no pair of tokens", "give two tokens or more")
    if bounds[0] >= bounds[1]:
        raise InputError("bounds", bounds, "an empty range", "give the smaller width first")
    pairs = np.triu_indices(n, 1)
    target = np.array([m[pairs] for m in matrices])
    distances, constant = _distances(task, s, None)

    def misfit(log_width: float) -> float:
        # Called some seventy times per fit, so without the checks of the public functions.
        rows = unit_rows(np.exp(-distances / np.exp(log_width)) - constant)
        return float(np.mean((target - np.clip(rows @ rows.T, -1.0, 1.0)[pairs]) ** 2))

    # A grid first: the misfit may have more than one minimum, which a bracket alone would not see.
    grid = np.linspace(float(np.log(bounds[0])), float(np.log(bounds[1])), 60)
    best = int(np.argmin([misfit(x) for x in grid]))
    interval = grid[max(best - 1, 0)], grid[min(best + 1, len(grid) - 1)]
    result = minimize_scalar(misfit, bounds=interval, method="bounded", options={"xatol": 1e-6})
    # That method tries neither end of its interval.
    return min((*bounds, float(np.exp(result.x))), key=lambda width: misfit(float(np.log(width))))


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
    for argument, values in (("x", x), ("y", y)):
        if not (np.asarray(values) > 0).all():
            raise InputError(argument, values, "not all positive", "a power law needs positive numbers")
    log_x, log_y = np.log(np.asarray(x, np.float64)), np.log(np.asarray(y, np.float64))
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
