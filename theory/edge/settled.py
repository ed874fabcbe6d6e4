"""What factorisations and rounding leave open, settled alike on every processor.

The kernels of a linear algebra library are chosen by the processor. They agree to rounding in products, but a
factorisation is not unique: eigenvectors and singular vectors have no sign, those of equal values are any
basis of their space, and which of two equal numbers is larger is decided by their last bits. The convention:

- a random draw is made in the coordinates of the data, never in those of factors;
- factors that are returned, drawn or compared are turned by ``settled_turn``;
- an order or a maximum of computed numbers is that of ``falling``, where numbers equal but for rounding keep
  the order of their places;
- a random orthogonal matrix is the Q of a QR factorisation whose R has a positive diagonal.
"""

from __future__ import annotations

import numpy as np

from theory.edge.arrays import FloatArray, IntArray

_EQUAL_VALUES = 1e-8
"""Of the largest: closer singular values count as equal. The vectors of others are known to as much."""
_EQUAL_SIZES = 1e-7
"""Relative: closer entries of a vector count as equally large."""
_DIGITS = 10
"""Decimal places, relative to the largest number, to which numbers are compared."""
ROUNDING = 1e-10
"""Sums of cosines that are as small have no sign, and logits as near to each other no order."""


def settled_turn(vectors: FloatArray, values: FloatArray) -> FloatArray:
    """Return the orthogonal matrix that turns factors into those on which all processors agree.

    Parameters
    ----------
    vectors : ndarray, shape (n, k)
        Orthonormal columns, n ≥ k.
    values : ndarray, shape (k,)
        The singular values or eigenvalues they belong to, in order.

    Returns
    -------
    ndarray, shape (k, k)
        Q, which mixes columns of equal values only: with U for ``vectors``, each column of U Q has a positive
        largest entry, the first of those equally large. Where values are equal, the longest row lies along
        the first column, the longest of what remains along the second, and so on. Other factors are turned
        with it: U S Vᵀ = (U Q) S (V Q)ᵀ.
    """
    turn = np.zeros((len(values),) * 2)
    gaps = np.abs(np.diff(values)) > _EQUAL_VALUES * np.abs(values).max(initial=0)
    for group in np.split(np.arange(len(values)), np.flatnonzero(gaps) + 1):
        rest = np.asarray(vectors[:, group], np.float64)
        for column in group:
            sizes = np.linalg.norm(rest, axis=1)
            pivot = int(np.argmax(sizes >= (1 - _EQUAL_SIZES) * sizes.max()))
            turn[group, column] = rest[pivot] / sizes[pivot]
            rest = rest - np.outer(rest @ turn[group, column], turn[group, column])
    return turn


def falling(numbers: FloatArray) -> IntArray:
    """Return the places of numbers, the largest first and NaN last; equal ones keep their order."""
    scale = np.abs(numbers[np.isfinite(numbers)]).max(initial=0)
    # Divided before it is rounded: small numbers have an order too.
    return np.asarray(np.argsort(-np.round(numbers / (scale or 1.0), _DIGITS), kind="stable"))
