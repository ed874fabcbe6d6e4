r"""What moves the embedding of a small language model at first: rungs 2 to 4 of the ladder for corpora.

Token :math:`x_k` predicts token :math:`y_k = x_{k+1}`; :math:`c_k` averages the one-hot tokens up to k.
With averaged attention (Lemma 1) and a linear feed-forward layer the residual stream and the logits are

.. math:: h_k = (e_{x_k} W_E + c_k W_E W_{VO})(I + W_f), \qquad o_k = h_k W_U.

At p ≈ u, C = E eᵀ(y − u) and Φ̄ = E (y − u)ᵀc of the corpus give the flow of the embedding,

.. math:: \dot W_E = C B + \bar\Phi^\top B W_{VO}^\top, \qquad B = W_U^\top (I + W_f)^\top,

and, if it is the read-out too, :math:`(C^\top W_E + \bar\Phi W_E W_{VO})(I + W_f)` beside it. [derived]

Without norms and branches that flow is linear: tied, :math:`\dot W_E = (C + C^\top) W_E`; untied,
:math:`\dot W_E = C W_U^\top` and :math:`\dot W_U^\top = C^\top W_E`. From independent entries of variance σ²
the expected inner products of the embeddings are :math:`\sigma^2 d` times

.. math:: K(t) = e^{2t(C + C^\top)}, \qquad K(t) = \cosh\bigl(2t\sqrt{CC^\top}\bigr).

Growth continues at the rate of the largest eigenvalue, until the logits are of order one. [derived]
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

import numpy as np

from theory.arrays import ArrayLike, Float64, FloatArray, Real
from theory.checked import Between, checked, checked_fields
from theory.errors import InputError


def layer_norm(rows: FloatArray, epsilon: float) -> tuple[FloatArray, FloatArray]:
    """Return normed rows and 1/√(v + ε) of each, shape (n, 1)."""
    centred = rows - rows.mean(axis=1, keepdims=True)
    variance = (centred**2).mean(axis=1, keepdims=True) + epsilon
    if not variance.all():
        raise InputError("epsilon", epsilon, "a row has no variance", "give an ε above 0")
    return np.asarray(centred / np.sqrt(variance)), np.asarray(1 / np.sqrt(variance))


def norm_slope(rows: FloatArray, normed: FloatArray, scale: FloatArray) -> FloatArray:
    """Return rows times the derivative of the norm at each: what reaches its input."""
    centred = rows - rows.mean(axis=1, keepdims=True)
    along = (centred * normed).mean(axis=1, keepdims=True)
    return np.asarray((centred - along * normed) * scale)


Time = Annotated[float, Between(0)]
_LARGEST = 300.0
"""The largest exponent whose exponential, squared, is still a float."""


@checked_fields
@dataclass(frozen=True, eq=False)
class LanguageParameters:
    """Matrices of a one-layer language model with averaged attention.

    Attributes
    ----------
    W_E : array_like, shape (V, d)
    W_U : array_like, shape (d, V), optional
        The read-out; without one it is the transposed embedding.
    W_VO : array_like, shape (d, d), optional
        W_V W_O; without it there is no attention.
    W_f : array_like, shape (d, d), optional
        σ'(0) W_in W_out: the linear part of the feed-forward layer; without it there is none.
    """

    W_E: Real[ArrayLike, "V d"]
    W_U: Real[ArrayLike, "d V"] | None = None
    W_VO: Real[ArrayLike, "d d"] | None = None
    W_f: Real[ArrayLike, "d d"] | None = None

    @property
    def tied(self) -> bool:
        """Whether the embedding is the read-out too."""
        return self.W_U is None

    def matrices(self) -> tuple[FloatArray, FloatArray, FloatArray, FloatArray]:
        """Return W_E, W_Uᵀ, W_VO and I + W_f."""
        W_E = np.asarray(self.W_E, np.float64)
        d = W_E.shape[1]
        readout = W_E if self.W_U is None else np.asarray(self.W_U, np.float64).T
        W_VO, W_f = (
            np.zeros((d, d)) if m is None else np.asarray(m, np.float64) for m in (self.W_VO, self.W_f)
        )
        return W_E, readout, W_VO, np.eye(d) + W_f

    def without_branches(self) -> tuple[FloatArray, FloatArray]:
        """Return W_E and W_Uᵀ, and refuse attention and a feed-forward layer."""
        if self.W_VO is not None or self.W_f is not None:
            raise InputError("parameters", self, "has branches", "leave W_VO and W_f out")
        return self.matrices()[:2]


@checked
def language_drive(
    C: Real[ArrayLike, "V V"], context: Real[ArrayLike, "V V"], parameters: LanguageParameters
) -> Float64[FloatArray, "V d"]:
    """Return the leading flow of the embedding, shape (V, d): rungs 2 and 3.

    The relative error falls as the square of the scale of embedding and read-out, for any W_VO and W_f. With
    an activation in the feed-forward layer it falls as the square for tanh, linearly for GELU, and not at all
    for ReLU, which has no slope at 0.

    Parameters
    ----------
    C : array_like, shape (V, V)
        ``as_matrix(bigram_operator(counts))``.
    context : array_like, shape (V, V)
        Φ̄, ``as_matrix(context_operator(sequences, V))``.
    parameters : LanguageParameters
    """
    W_E, readout, W_VO, forward = parameters.matrices()
    bigrams, contexts = _bigrams(C, W_E), np.asarray(context, np.float64)
    back = readout @ forward.T
    drive = bigrams @ back + contexts.T @ back @ W_VO.T
    if parameters.tied:
        drive = drive + (bigrams.T @ W_E + contexts @ W_E @ W_VO) @ forward
    return np.asarray(drive)


@checked
def normed_drive(
    C: Real[ArrayLike, "V V"], parameters: LanguageParameters, epsilon: Annotated[float, Between(0)] = 1e-5
) -> Float64[FloatArray, "V d"]:
    r"""Return the leading flow of the embedding with a layer norm before the read-out: rung 4.

    With P, which takes the mean off a row, :math:`v_s = |P w_s|^2/d` and
    :math:`n_s = P w_s/\sqrt{v_s + \epsilon}`,

    .. math::
        \dot w_s = \frac{1}{\sqrt{v_s + \epsilon}} (C W_U^\top)_s \Bigl(P - \frac{n_s^\top n_s}{d}\Bigr),

    and, if the embedding is the read-out too, row s of :math:`C^\top N` beside it. Behind norms of their own,
    attention and the feed-forward layer add branches that are smaller by the scale of their two matrices over
    that of the embedding. They are left out, and so are the logits: both are of relative order one in the
    scale, where it is two without norms. For ε ≫ v the norm is the factor :math:`1/\sqrt\epsilon` and P; for
    ε ≪ v all tokens are read at one length. [derived]

    Parameters
    ----------
    C : array_like, shape (V, V)
    parameters : LanguageParameters
        Without W_VO and W_f.
    epsilon : float, optional
        The ε under the root, beside the variance; above 0 if a row has no variance.
    """
    W_E, readout = parameters.without_branches()
    bigrams = _bigrams(C, W_E)
    normed, scale = layer_norm(W_E, epsilon)
    drive = norm_slope(bigrams @ readout, normed, scale)
    return drive + bigrams.T @ normed if parameters.tied else drive


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
        The sum of the learning rates, early enough that the flow is still a float.
    """
    W_E, readout = initial.without_branches()
    bigrams = _bigrams(C, W_E)
    if initial.tied:
        rates, vectors = np.linalg.eigh(bigrams + bigrams.T)
        return np.asarray(vectors * _growth(np.exp, rates * time) @ (vectors.T @ W_E))
    left, rates, right = np.linalg.svd(bigrams)
    embedded = left * _growth(np.cosh, rates * time) @ (left.T @ W_E)
    return np.asarray(embedded + left * _growth(np.sinh, rates * time) @ (right @ readout))


@checked
def language_gram(C: Real[ArrayLike, "V V"], time: Time, *, tied: bool = True) -> Float64[FloatArray, "V V"]:
    """Return the expected inner products K(t) of the embeddings, over their initial σ²d, shape (V, V).

    Untied, embedding and read-out start with the same variance.
    """
    bigrams = np.asarray(C, np.float64)
    if tied:
        rates, vectors = np.linalg.eigh(bigrams + bigrams.T)
        return np.asarray(vectors * _growth(np.exp, 2 * rates * time) @ vectors.T)
    left, rates, _ = np.linalg.svd(bigrams)
    return np.asarray(left * _growth(np.cosh, 2 * rates * time) @ left.T)


def _bigrams(C: ArrayLike, W_E: FloatArray) -> FloatArray:
    if len(np.asarray(C)) != len(W_E):
        raise InputError("C", C, f"not of the {len(W_E)} tokens of W_E", "give both the same vocabulary")
    return np.asarray(C, np.float64)


def _growth(function: np.ufunc, exponents: FloatArray) -> FloatArray:
    if np.abs(exponents).max(initial=0.0) > _LARGEST:
        raise InputError("time", "late", "the linear flow has left every bound", "give an earlier time")
    return np.asarray(function(exponents))
