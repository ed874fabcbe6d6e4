r"""The one-layer Transformer of Definition 2 and its exact flows (Lemma 3, Lemma 4), without autograd.

Row vectors; m = A_L X W_V W_O, h = m + X_L, z = h W_f1, logits f = σ(z) W_f2 + h, p = softmax(f). No layer
norm, no read-out: the d_m outputs are the logits, so that d_m = d. Only the last row of the causal
attention matters.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy.special import softmax

from theory.edge.arrays import ArrayLike, Float64, FloatArray, IntArray, Integer, Real
from theory.edge.checked import Rate, Size, checked, checked_fields
from theory.edge.checks import check_sequences
from theory.edge.errors import InputError, check_memory
from theory.flows.network import TANH, ActivationLike, as_activation

_SHAPES = {"W_emb": "dd", "W_Q": "dk", "W_K": "dk", "W_V": "dk", "W_O": "kd", "W_f1": "df", "W_f2": "fd"}


@checked_fields
@dataclass(frozen=True)
class OneLayerParameters:
    """The matrices of the one-layer Transformer (Definition 2), float64.

    Attributes
    ----------
    W_emb : ndarray, shape (d, d)
        Row s is the embedding w_s; as wide as the vocabulary, since the outputs are the logits.
    W_Q, W_K, W_V : ndarray, shape (d, d_k)
    W_O : ndarray, shape (d_k, d)
    W_f1 : ndarray, shape (d, d_f)
    W_f2 : ndarray, shape (d_f, d)
    """

    W_emb: Float64[FloatArray, "d d"]
    W_Q: Float64[FloatArray, "d d_k"]
    W_K: Float64[FloatArray, "d d_k"]
    W_V: Float64[FloatArray, "d d_k"]
    W_O: Float64[FloatArray, "d_k d"]
    W_f1: Float64[FloatArray, "d d_f"]
    W_f2: Float64[FloatArray, "d_f d"]

    def __post_init__(self) -> None:
        for name in _SHAPES:
            object.__setattr__(self, name, np.asarray(getattr(self, name), dtype=np.float64))

    @classmethod
    @checked
    def draw(
        cls, vocab_size: Size, *, d_k: Size, d_f: Size, init_rate: Rate, rng: np.random.Generator
    ) -> OneLayerParameters:
        r"""Draw the matrices at initialisation rate γ (Section 2.4): N(0, (fan-in)^{-2γ}) entries.

        Parameters
        ----------
        vocab_size : int
            d, which is also the embedding's width d_m and its fan-in.
        d_k, d_f : int
            The width of the head and of the hidden layer.
        init_rate : float
            γ; 0.5 is the usual scale, a larger γ means smaller entries.
        rng : numpy.random.Generator
            Draws the matrices in the order of the attributes.
        """
        sizes = {"d": vocab_size, "k": d_k, "f": d_f}
        shapes = [tuple(sizes[letter] for letter in letters) for letters in _SHAPES.values()]
        numbers = sum(rows * columns for rows, columns in shapes)
        given = "vocab_size, d_k, d_f", (vocab_size, d_k, d_f)
        check_memory(*given, 8 * numbers, "the draw", "give a smaller model")
        return cls(*(float(shape[0]) ** -init_rate * rng.standard_normal(shape) for shape in shapes))


@dataclass(frozen=True)
class _Pass:
    """The results of a forward pass that the flows need; n sequences of length L."""

    X: FloatArray  # (n, L, d)
    K: FloatArray  # (n, L, d_k)
    q: FloatArray  # (n, d_k)
    A: FloatArray  # (n, L)
    mixed: FloatArray  # (n, d), A_L X
    z: FloatArray  # (n, d_f)
    logits: FloatArray  # (n, d)


@checked
def one_layer_logits(
    parameters: OneLayerParameters, sequences: Integer[ArrayLike, "n L"], *, activation: ActivationLike = TANH
) -> Float64[FloatArray, "n {len(parameters.W_emb)}"]:
    """Return f(X) of Definition 2 (eq. 9) for every sequence.

    Parameters
    ----------
    parameters : OneLayerParameters
        The model.
    sequences : array_like of int, shape (n, L)
        Tokens.
    activation : Activation or {"tanh", "identity"}, optional
        σ.
    """
    return _forward(parameters, check_sequences(sequences, len(parameters.W_emb)), activation).logits


@checked
def lemma3_flow(
    parameters: OneLayerParameters,
    sequences: Integer[ArrayLike, "n L"],
    targets: Real[ArrayLike, "n d"],
    *,
    activation: ActivationLike = TANH,
) -> Float64[FloatArray, "d d"]:
    r"""Return dW_emb/dt = −∂loss/∂W_emb of the mean cross-entropy (Lemma 3), shape (d, d).

    With g = y − p and :math:`\delta = g + [(g W_{f2}^\top) \odot \sigma'(z)] W_{f1}^\top`, position j of a
    sequence receives :math:`A_{Lj}\,\delta W_{VO}^\top`, the last position also δ, and all of them a
    term through the attention's own logits, which the lemma's small initialisation removes.

    Parameters
    ----------
    parameters, sequences, activation
        As in ``one_layer_logits``.
    targets : array_like, shape (n, d)
        Label distributions, one row per sequence: one-hot rows for drawn labels.
    """
    tokens, state, delta = _passed(parameters, sequences, targets, activation)
    at_position = _through_attention(parameters, state, delta)
    at_position[:, -1] += delta
    flow = np.zeros_like(parameters.W_emb)
    np.add.at(flow, tokens, at_position)
    return flow / len(tokens)


@checked
def lemma4_flow(
    parameters: OneLayerParameters,
    sequences: Integer[ArrayLike, "n L"],
    targets: Real[ArrayLike, "n d"],
    *,
    activation: ActivationLike = TANH,
) -> Float64[FloatArray, "d d_k"]:
    r"""Return dW_V/dt = :math:`\frac1n \sum (A_L X)^\top \delta\, W_O^\top` (Lemma 4), shape (d, d_k).

    δ, parameters and errors are as in ``lemma3_flow``; for a linear σ,
    δ = (y − p)(W_f + I)ᵀ and this is the lemma as printed (eq. 35).
    """
    tokens, state, delta = _passed(parameters, sequences, targets, activation)
    return state.mixed.T @ delta @ parameters.W_O.T / len(tokens)


def _forward(parameters: OneLayerParameters, tokens: IntArray, activation: ActivationLike) -> _Pass:
    X = parameters.W_emb[tokens]
    K, q = X @ parameters.W_K, X[:, -1] @ parameters.W_Q
    A = softmax(np.einsum("nk,nlk->nl", q, K) / np.sqrt(q.shape[1]), axis=-1)
    mixed = np.einsum("nl,nld->nd", A, X)
    h = mixed @ parameters.W_V @ parameters.W_O + X[:, -1]
    z = h @ parameters.W_f1
    return _Pass(X, K, q, A, mixed, z, as_activation(activation).value(z) @ parameters.W_f2 + h)


def _passed(
    parameters: OneLayerParameters,
    sequences: npt.ArrayLike,
    targets: npt.ArrayLike,
    activation: ActivationLike,
) -> tuple[IntArray, _Pass, FloatArray]:
    """Return tokens, the forward pass, and δ, minus the loss's gradient with respect to h, shape (n, d)."""
    tokens = check_sequences(sequences, len(parameters.W_emb))
    state = _forward(parameters, tokens, activation)
    distributions, shape = np.asarray(targets, dtype=np.float64), state.logits.shape
    if distributions.shape != shape:
        raise InputError("targets", distributions.shape, "not of the vocabulary", f"give shape {shape}")
    g = distributions - softmax(state.logits, axis=-1)
    through_f = (g @ parameters.W_f2.T) * as_activation(activation).derivative(state.z)
    return tokens, state, np.asarray(g + through_f @ parameters.W_f1.T, dtype=np.float64)


def _through_attention(parameters: OneLayerParameters, state: _Pass, delta: FloatArray) -> FloatArray:
    """Return each position's flow through the attention, including its logits: shape (n, L, d)."""
    to_mixed = delta @ parameters.W_O.T @ parameters.W_V.T
    to_weights = np.einsum("nld,nd->nl", state.X, to_mixed)
    centred = to_weights - (state.A * to_weights).sum(axis=1, keepdims=True)
    to_scores = state.A * centred / np.sqrt(state.q.shape[1])
    at_position = state.A[:, :, None] * to_mixed[:, None]
    at_position += to_scores[:, :, None] * (state.q @ parameters.W_K.T)[:, None]
    at_position[:, -1] += np.einsum("nl,nlk->nk", to_scores, state.K) @ parameters.W_Q.T
    return at_position
