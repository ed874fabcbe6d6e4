r"""The paper's Gaussian shape of an embedding: eq. 14, its width, and the width that fits."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
from scipy.optimize import minimize_scalar

from theory.arrays import ArrayLike, Float64, FloatArray, Integer, Real
from theory.checked import Positive, Size, check_shape, check_tokens, checked
from theory.errors import InputError
from theory.shapes.cosines import cosine_matrix, off_diagonal
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

    Returns
    -------
    ndarray of float64, shape (len(tokens), vocab_size)

    Raises
    ------
    InputError
        If a token is neither a key nor an anchor of a rule that adds (``Sum`` or ``Shift``).
    """
    s = check_tokens("tokens", tokens, task.vocab_size)
    _check_meaning(task, s)
    i = np.arange(task.vocab_size)
    constant = np.where(np.isin(s, task.keys), 0.0, 1 / (d_m or task.vocab_size))
    shape: FloatArray = np.exp(-((i - s[:, None]) ** 2) / width) - constant[:, None]
    return shape


def _check_meaning(task: Task, tokens: npt.NDArray[np.int64]) -> None:
    foreign = tokens[~np.isin(tokens, [*task.keys, *task.additive_anchors])]
    if foreign.size:
        raise InputError(
            "tokens",
            int(foreign.flat[0]),
            "neither a key nor an anchor whose rule adds to the key, so eq. 14 says nothing of it",
            f"choose keys or anchors from {list(task.additive_anchors)}",
        )


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
    n = len(check_tokens("tokens", tokens, task.vocab_size))
    matrices = np.asarray(observed, dtype=np.float64)
    matrices = check_shape("observed", matrices[None] if matrices.ndim == 2 else matrices, (None, n, n))
    if n < 2 or len(matrices) == 0:
        raise InputError("observed", matrices.shape, "no pair of tokens", "give two tokens or more")
    if bounds[0] >= bounds[1]:
        raise InputError("bounds", bounds, "an empty range", "give the smaller width first")
    target = np.array([off_diagonal(m) for m in matrices])

    def misfit(log_width: float) -> float:
        predicted = cosine_matrix(eq14_embedding(task, tokens, width=float(np.exp(log_width))))
        return float(np.mean((target - off_diagonal(predicted)) ** 2))

    # A grid first: the misfit may have more than one minimum, which a bracket alone would not see.
    grid = np.linspace(float(np.log(bounds[0])), float(np.log(bounds[1])), 60)
    best = int(np.argmin([misfit(x) for x in grid]))
    interval = grid[max(best - 1, 0)], grid[min(best + 1, len(grid) - 1)]
    result = minimize_scalar(misfit, bounds=interval, method="bounded", options={"xatol": 1e-6})
    return float(np.exp(result.x))
