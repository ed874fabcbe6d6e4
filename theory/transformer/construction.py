r"""A model that needs no training: the mechanism of Appendices D and E, corrected and written as matrices.

The embedding layer adds orthonormal positions to word vectors. The first attention is the average over the
positions so far (39) and its W_V has rank one (40): it adds the *tag* :math:`t_i u` with
:math:`t_i = \mu c N_i / i` (41), where N_i is the number of reasoning anchors up to i; it is 0 throughout
a memory sequence (42). A hidden layer of q neurons then counts the anchors seen so far, and the second
attention's last row reads position, count and word as a cliff.

The printed appendix has positions on a half circle, no hidden layer here, and a linear read-out of the tag:
``appendix_e`` shows that its conditions contradict one another, and ``linear_plateau`` that a linear
read-out gives no plateau beyond the shortest sequences, because the tag falls as 1/i. Assumptions 2 and 3
hold here, 4 does not.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

import numpy as np
import numpy.typing as npt

from theory.edge.arrays import ArrayLike, Float64, FloatArray, IntArray, Integer
from theory.edge.checked import Share, checked
from theory.edge.checks import Between, check_sequences
from theory.edge.errors import InputError, check_memory
from theory.task.task import Task
from theory.transformer.cliff import cliff_step

Strength = Annotated[float, Between(1e-100, 1e100)]
_SATURATION = 20.0  # tanh(20) differs from 1 by less than a unit in the last place of float64


@dataclass(frozen=True)
class Construction:
    """The matrices; the width d_m is d + L + 4: words, positions, and the directions v, u, count, seen.

    Attributes
    ----------
    task : Task
    step, drop : float
        How much the logits climb at each position, and how much they drop after the window.
    W_emb : ndarray, shape (d, d_m)
        Word vectors; those of the reasoning anchors share the direction v.
    W_pos : ndarray, shape (L, d_m)
        Position vectors, orthonormal and orthogonal to all words.
    W_V : ndarray, shape (d_m, d_m)
        Value and output projection of the first attention together, μ vᵀu (40).
    W_f1 : ndarray, shape (d_m, q)
    W_f2 : ndarray, shape (q, d_m)
        The hidden layer, with tanh and a residual connection: it counts.
    W_Q, W_K : ndarray, shape (d_m, 1)
        The second attention; d_k = 1 is enough.
    """

    task: Task
    step: float
    drop: float
    W_emb: Float64[FloatArray, "d d_m"]
    W_pos: Float64[FloatArray, "L d_m"]
    W_V: Float64[FloatArray, "d_m d_m"]
    W_f1: Float64[FloatArray, "d_m q"]
    W_f2: Float64[FloatArray, "q d_m"]
    W_Q: Float64[FloatArray, "d_m 1"]
    W_K: Float64[FloatArray, "d_m 1"]

    def first_attention(self, sequences: Integer[ArrayLike, "n L"]) -> Float64[FloatArray, "n L d_m"]:
        """Return X + A X W_V with A_ij = 1/i (39), shape (n, L, d_m)."""
        X = self.W_emb[_tokens(self.task, sequences)] + self.W_pos
        averages = np.cumsum(X, axis=1) / np.arange(1, self.task.length + 1)[:, None]
        return np.asarray(X + averages @ self.W_V)

    def tags(self, sequences: Integer[ArrayLike, "n L"]) -> Float64[FloatArray, "n L"]:
        """Return the tags that the first attention adds along u (41)-(43), shape (n, L): 0 for memory."""
        return self.first_attention(sequences)[..., -3]

    def last_row(self, sequences: Integer[ArrayLike, "n L"]) -> Float64[FloatArray, "n L"]:
        """Return the logits of the second attention's last row, shape (n, L)."""
        H = self.first_attention(sequences)
        H = H + np.tanh(H @ self.W_f1) @ self.W_f2
        query, keys = H[:, -1] @ self.W_Q, H @ self.W_K
        return np.asarray(np.einsum("nk,nlk->nl", query, keys) / np.sqrt(self.W_Q.shape[1]))


@checked
def build_construction(task: Task, *, mass: Share = 1e-3, tag_strength: Strength = 1.0) -> Construction:
    r"""Return the construction for a task: a cliff (Definition 3) for every key position, without training.

    With :math:`x = e^{-\delta}` the mass outside the window is :math:`S/(q+1+S)`,
    :math:`S = x + x^2 + \dots + x^{L-q-1}`, for every p: the drop is chosen so that the positions after the
    window continue the powers that the positions before it begin.

    Parameters
    ----------
    task : Task
        A task with reasoning anchors.
    mass : float, optional
        The softmax mass allowed outside the window of a reasoning sequence, for every p; the step is the
        larger of ``cliff_step`` and 1.
    tag_strength : float, optional
        μ, the singular value of the first attention's W_V; it makes no difference to the cliff.
    """
    if not task.reasoning_anchors:
        raise InputError("task", [m.name for m in task.mappings], "no reasoning anchors", "give some")
    d, length, q = task.vocab_size, task.length, task.n_anchors
    # A window that is the whole sequence needs no step, but Definition 3 wants a rise all the same.
    step = max(cliff_step(mass, length, q), 1.0)
    # After the window positions alone would climb by up to step·(L − q − 1) above the key.
    drop = step * (length - q)
    width = d + length + 4
    check_memory("task", task, 24 * width**2, "the construction", "give fewer tokens or shorter sequences")
    v, u, count, seen = np.eye(4, width, d + length)
    W_emb = np.eye(d, width)
    anchors = list(task.reasoning_anchors)
    W_emb[anchors] = (W_emb[anchors] + v) / np.sqrt(2)
    W_pos = np.eye(length, width, d)
    W_f1, W_f2 = _counter(W_pos, u, count, seen, q, tag_strength / np.sqrt(2))
    positions = np.arange(1, length + 1)
    W_K = (step * positions) @ W_pos - step * count - drop * seen + np.sqrt(2) * drop * v
    W_V = tag_strength * np.outer(v, u)
    return Construction(
        task, step, drop, W_emb, W_pos, W_V, W_f1, W_f2, W_Q=W_pos[-1][:, None], W_K=W_K[:, None]
    )


def _counter(
    W_pos: FloatArray, u: FloatArray, count: FloatArray, seen: FloatArray, q: int, tag: float
) -> tuple[FloatArray, FloatArray]:
    """Return the hidden layer whose neuron m fires once m reasoning anchors have been seen.

    The tag of position i is tag·N_i/i, and the position gives 1/i, so that the sign of N_i − (m − ½) is
    linear in both. The margin, ½/i, is at least 1/(2L): the gain makes tanh ±1 to the last digit there.
    """
    positions = np.arange(1, len(W_pos) + 1)
    gain = 2 * len(W_pos) * _SATURATION
    thresholds = np.arange(1, q + 1) - 0.5
    W_f1 = gain * (u[:, None] / tag - ((1 / positions) @ W_pos)[:, None] * thresholds)
    W_f2 = np.repeat(count[None] / 2, q, axis=0)
    W_f2[0] += seen / 2
    return W_f1, W_f2


def _tokens(task: Task, sequences: npt.ArrayLike) -> IntArray:
    shape = np.shape(sequences)
    if len(shape) != 2 or shape[1] != task.length:
        raise InputError("sequences", shape, "not sequences of the task", f"give shape (n, {task.length})")
    return check_sequences(sequences, task.vocab_size)
