r"""Gradient flows of the Emb-MLP at small initialisation: the ladder's first rung (eq. 5).

Row vectors throughout: a sequence's logits are :math:`(\sum_x w_x) W_1 W_2` to leading order.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from theory.errors import InputError

FloatArray = npt.NDArray[np.float64]


@dataclass(frozen=True)
class EmbMLPParameters:
    """The three matrices of the Emb-MLP (Definition 1), float64.

    Attributes
    ----------
    W_emb : ndarray, shape (d, d_m)
        Row s is the embedding w_s of token s.
    W1 : ndarray, shape (d_m, d_f)
    W2 : ndarray, shape (d_f, d)
    """

    W_emb: FloatArray
    W1: FloatArray
    W2: FloatArray

    def __post_init__(self) -> None:
        for name in ("W_emb", "W1", "W2"):
            object.__setattr__(self, name, np.asarray(getattr(self, name), dtype=np.float64))
        shapes = self.W_emb.shape, self.W1.shape, self.W2.shape
        if any(len(shape) != 2 for shape in shapes) or not (
            shapes[0][1] == shapes[1][0] and shapes[1][1] == shapes[2][0] and shapes[2][1] == shapes[0][0]
        ):
            raise InputError(
                "W_emb, W1, W2",
                shapes,
                "shapes do not chain",
                "give (d, d_m), (d_m, d_f), (d_f, d)",
            )


@dataclass(frozen=True)
class Trajectory:
    """Embeddings along a flow.

    Attributes
    ----------
    times : ndarray, shape (n_times,)
        Flow time; Σ learning rate of plain gradient descent.
    W_emb : ndarray, shape (n_times, d, d_m)
        The embedding matrix at each time.
    """

    times: FloatArray
    W_emb: FloatArray


def frozen_flow(C: npt.ArrayLike, initial: EmbMLPParameters, times: npt.ArrayLike) -> Trajectory:
    r"""Return :math:`w_s(t) = w_s(0) + t\, r_s (P^s - u) W_2^\top W_1^\top` (eq. 5, rung 1).

    Only the embedding moves, the softmax stays uniform and σ'(0) = 1: the closed form of the leading
    order in the initial scale.

    Parameters
    ----------
    C : array_like, shape (d, d)
        The token-label matrix, row s being r_s (P^s − u): ``expected_token_label_matrix`` of a task or
        ``token_label_matrix`` of a sample.
    initial : EmbMLPParameters
        The matrices at t = 0.
    times : array_like, shape (n_times,)
        Non-negative and increasing; in units of Σ learning rate.

    Raises
    ------
    InputError
        If shapes disagree or the times are negative or unsorted.
    """
    checked = check_times(times)
    drive = frozen_direction(C, initial)
    return Trajectory(checked, initial.W_emb + checked[:, None, None] * drive)


def frozen_direction(C: npt.ArrayLike, initial: EmbMLPParameters) -> FloatArray:
    """Return dW_emb/dt of the frozen flow, C W2ᵀ W1ᵀ, shape (d, d_m): its limit of late times."""
    matrix = np.asarray(C, dtype=np.float64)
    d = len(initial.W_emb)
    if matrix.shape != (d, d):
        raise InputError("C", matrix.shape, f"does not fit an embedding of {d} tokens", f"give ({d}, {d})")
    return matrix @ initial.W2.T @ initial.W1.T


def check_times(times: npt.ArrayLike) -> FloatArray:
    """Return times as a float64 vector, or refuse negative, unsorted or non-finite ones."""
    checked = np.atleast_1d(np.asarray(times, dtype=np.float64))
    if checked.ndim != 1 or not np.isfinite(checked).all():
        raise InputError("times", times, "not a list of finite numbers", "give e.g. [0.0, 1.0]")
    if (checked < 0).any() or (np.diff(checked) < 0).any():
        raise InputError("times", times, "negative or not sorted", "give increasing times from 0 on")
    return checked
