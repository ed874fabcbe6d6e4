r"""The first motion in time: linear flows of embedding and read-out, solved.

Without norms and branches the flow at p ≈ u is linear in the matrices: tied, :math:`\dot W_E = (C + C^\top)
W_E`; untied, :math:`\dot W_E = C W_U^\top` and :math:`\dot W_U^\top = C^\top W_E`. From independent entries
of variance σ² the expected inner products of the embeddings are :math:`\sigma^2 d` times

.. math:: K(t) = e^{2t(C + C^\top)}, \qquad K(t) = \cosh\bigl(2t\sqrt{CC^\top}\bigr).

Growth continues at the rate of the largest eigenvalue, until the logits are of order one. [derived]
"""

from __future__ import annotations

from typing import Annotated

import numpy as np

from theory.arrays import ArrayLike, Float64, FloatArray, Real
from theory.checked import Between, check_shape, checked
from theory.errors import InputError
from theory.language.drives import LanguageParameters

Time = Annotated[float, Between(0)]
_LARGEST = 300.0
"""The largest exponent whose exponential, squared, is still a float."""


@checked
def language_flow(
    C: Real[ArrayLike, "V V"], initial: LanguageParameters, time: Time
) -> Float64[FloatArray, "V d"]:
    """Return the embedding at a time of the linear flow, shape (V, d).

    Parameters
    ----------
    C : array_like, shape (V, V)
    initial : LanguageParameters
        Without W_VO and W_f.
    time : float
        Σ learning rate.

    Raises
    ------
    InputError
        If shapes disagree, there is a branch, or the flow has left every bound by then.
    """
    if initial.W_VO is not None or initial.W_f is not None:
        raise InputError("initial", initial, "has branches", "leave W_VO and W_f out")
    W_E, readout, _, _ = initial.matrices()
    bigrams = check_shape("C", C, (len(W_E),) * 2)
    if initial.tied:
        rates, vectors = np.linalg.eigh(bigrams + bigrams.T)
        return np.asarray(vectors * _growth(np.exp, rates * time) @ (vectors.T @ W_E))
    left, rates, right = np.linalg.svd(bigrams)
    own = left * (_growth(np.cosh, rates * time)) @ (left.T @ W_E)
    return np.asarray(own + left * _growth(np.sinh, rates * time) @ (right @ readout))


@checked
def language_gram(C: Real[ArrayLike, "V V"], time: Time, *, tied: bool = True) -> Float64[FloatArray, "V V"]:
    """Return the expected inner products of the embeddings, over their initial σ²d, shape (V, V).

    Untied, embedding and read-out start with the same variance.

    Raises
    ------
    InputError
        If C is not square, or the flow has left every bound by then.
    """
    bigrams = check_shape("C", C, (None, None))
    if bigrams.shape[0] != bigrams.shape[1]:
        raise InputError("C", bigrams, "not square", "give one row and one column per token")
    if tied:
        rates, vectors = np.linalg.eigh(bigrams + bigrams.T)
        return np.asarray(vectors * _growth(np.exp, 2 * rates * time) @ vectors.T)
    left, rates, _ = np.linalg.svd(bigrams)
    return np.asarray(left * _growth(np.cosh, 2 * rates * time) @ left.T)


def _growth(function: np.ufunc, exponents: FloatArray) -> FloatArray:
    if np.abs(exponents).max(initial=0.0) > _LARGEST:
        raise InputError("time", "late", "the linear flow has left every bound", "give an earlier time")
    return np.asarray(function(exponents))
