r"""The paper's Gaussian shape of an embedding: eq. 14, its width, and the width that fits."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
from scipy.optimize import minimize_scalar

from theory.edge.arrays import ArrayLike, Float64, FloatArray, Integer, Real
from theory.edge.checked import Positive, Size, check_tokens, checked
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
    return _shape(distances, constant, width)


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


def _shape(distances: FloatArray, constant: FloatArray, width: float) -> FloatArray:
    return np.asarray(np.exp(-distances / width) - constant)


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
        rows = unit_rows(_shape(distances, constant, float(np.exp(log_width))))
        return float(np.mean((target - np.clip(rows @ rows.T, -1.0, 1.0)[pairs]) ** 2))

    # A grid first: the misfit may have more than one minimum, which a bracket alone would not see.
    grid = np.linspace(float(np.log(bounds[0])), float(np.log(bounds[1])), 60)
    best = int(np.argmin([misfit(x) for x in grid]))
    interval = grid[max(best - 1, 0)], grid[min(best + 1, len(grid) - 1)]
    result = minimize_scalar(misfit, bounds=interval, method="bounded", options={"xatol": 1e-6})
    # That method tries neither end of its interval.
    return min((*bounds, float(np.exp(result.x))), key=lambda width: misfit(float(np.log(width))))
