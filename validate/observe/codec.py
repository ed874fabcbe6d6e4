"""Observations as a file's arrays: small, with an error that is bounded beforehand.

The large arrays (``PACKED``) are kept as 16-bit integers with one scale for each index of the first axis:
no number is off by more than 1.6e-5 of the largest with the same scale. Symmetric matrices are kept as
their upper triangle. Inner products are kept as cosines and norms, so that this holds for every cosine. Other
arrays are float32; metrics are unchanged.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from theory.edge.arrays import FloatArray

Stored = dict[str, npt.NDArray[Any]]
PACKED = (
    "cosines",
    "pca",
    "pca_anchors",
    "wv_direction",
    "token_label_matrix_anchors",
    "singular/",
    "outputs/",
    "cosine/",
    "predicted/",
    "control/",
)
"""Arrays that are kept as 16-bit integers; a name with a slash stands for all that begin with it."""
STEPS = 32767
_SCALE, _METRICS = "|scale", "metrics/"
_NUMBERS, _SCORES = ("epoch", "step", "sum_learning_rate"), ("loss", "accuracy")
SYMMETRIC = "|symmetric"
"""The ending of the scale of symmetric matrices."""


def pack_arrays(arrays: Mapping[str, FloatArray]) -> Stored:
    """Return a kept file's arrays, from observables."""
    stored: Stored = {}
    for name, array in arrays.items():
        if name == "gram" and "norms" in arrays:
            stored |= _pack("cosines", array / _sizes(array, arrays["norms"]))
        else:
            stored |= _pack(name, array)
    return stored


def unpack_arrays(stored: Mapping[str, npt.NDArray[Any]]) -> dict[str, FloatArray]:
    """Return observables in float64, from a kept file's arrays."""
    arrays: dict[str, FloatArray] = {}
    for name, array in stored.items():
        if name.startswith(_METRICS) or name.endswith((_SCALE, SYMMETRIC)):
            continue
        arrays[name] = np.asarray(array, np.float64)
        scale = stored.get(name + SYMMETRIC, stored.get(name + _SCALE))
        if scale is not None:
            arrays[name] *= _along_first(np.asarray(scale, np.float64) / STEPS, array.ndim)
        if name + SYMMETRIC in stored:
            upper, size = arrays[name], math.isqrt(2 * array.shape[-1])
            arrays[name] = full = np.empty((*upper.shape[:-1], size, size))
            rows, columns = np.triu_indices(size)
            full[..., rows, columns] = full[..., columns, rows] = upper
    if "cosines" in arrays:
        cosines = arrays.pop("cosines")
        arrays["gram"] = cosines * _sizes(cosines, arrays["norms"])
    return arrays


def _pack(name: str, array: FloatArray) -> Stored:
    packed = name in PACKED or f"{name.partition('/')[0]}/" in PACKED
    if not packed or not np.isfinite(array).all():
        return {name: array.astype(np.float32)}
    ending, square = _SCALE, array.ndim > 1 and array.shape[-1] == array.shape[-2]
    # Cosines are symmetric up to the rounding of a matrix product.
    rounding = 1e-3 / STEPS * np.abs(array).max(initial=0.0)
    if square and np.allclose(array, array.swapaxes(-1, -2), rtol=0, atol=rounding):
        array, ending = array[..., *np.triu_indices(array.shape[-1])], SYMMETRIC
    scale = np.abs(array).reshape(1 if array.ndim == 1 else len(array), -1).max(axis=1).astype(np.float32)
    scale[scale == 0] = 1.0
    steps = np.rint(array / _along_first(scale.astype(np.float64), array.ndim) * STEPS)
    # Rounded to float32, a scale may lie a little below its largest number.
    return {name: np.clip(steps, -STEPS, STEPS).astype(np.int16), name + ending: scale}


def _along_first(values: FloatArray, ndim: int) -> FloatArray:
    return values.reshape(-1, *[1] * (ndim - 1))


def _sizes(gram: FloatArray, norms: FloatArray) -> FloatArray:
    """Return the products of norms that inner products (E, A, T) are divided by; 1 for a zero vector."""
    products = norms[:, : gram.shape[1], None] * norms[:, None, :]
    return np.where(products > 0, products, 1.0)


def pack_metrics(metrics: Sequence[Mapping[str, Any]]) -> Stored:
    """Return the lines of a run's metrics as one column for each key, in full precision."""
    columns = {key: [line[key] for line in metrics] for key in _NUMBERS}
    columns |= {
        f"{kind}/{part}": [line[kind][part] for line in metrics]
        for kind in _SCORES
        for part in metrics[0][kind]
    }
    return {
        _METRICS + key: np.array([math.nan if v is None else v for v in own]) for key, own in columns.items()
    }


def unpack_metrics(stored: Mapping[str, npt.NDArray[Any]]) -> list[dict[str, Any]]:
    """Return the lines of a run's metrics, from a kept file's columns; raise ValueError if they are none."""
    lines: list[dict[str, Any]] = []
    for name in sorted(name for name in stored if name.startswith(_METRICS)):
        section, inside, part = name.removeprefix(_METRICS).partition("/")
        values = np.atleast_1d(stored[name]).tolist()
        lines = lines or [{} for _ in values]
        for line, value in zip(lines, values, strict=True):
            place = line.setdefault(section, {}) if inside else line
            place[part or section] = value if value == value else None
    return lines
