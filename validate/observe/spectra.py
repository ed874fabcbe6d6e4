"""The singular values of weight matrices, and how many of them count."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import numpy.typing as npt

from theory.arrays import FloatArray


def spectra(parameters: Mapping[str, FloatArray]) -> dict[str, FloatArray]:
    """Return "singular/NAME" (k,) and "effective_rank/NAME" () of every matrix among the parameters."""
    found: dict[str, FloatArray] = {}
    for name, matrix in parameters.items():
        if matrix.ndim == 2:
            values = np.asarray(np.linalg.svd(matrix, compute_uv=False), np.float64)
            found[f"singular/{name}"] = values
            found[f"effective_rank/{name}"] = np.asarray(effective_rank(values))
    return found


def effective_rank(singular_values: npt.ArrayLike) -> float:
    r"""Return :math:`\exp(-\sum_i p_i \ln p_i)`, :math:`p_i = \sigma_i / \sum_j \sigma_j`.

    Roy and Vetterli (2007): r for r equal values, 1 for a single one. NaN for a zero matrix.
    """
    values = np.asarray(singular_values, dtype=np.float64)
    total = values.sum()
    if total == 0:
        return float("nan")
    p = values[values > 0] / total
    return float(np.exp(-(p * np.log(p)).sum()))
