r"""How W_V grows (Lemma 4, eq. 35-38) and what Theorem 2 predicts for Fig. 6C, D.

To leading order :math:`dW_V/dt = \frac1L W_{emb}^\top C (W_f + I)^\top W_O^\top`. With embeddings that have
grown along their own drive D (:math:`w_s \approx \eta D_s`) the input side of W_V is
:math:`\frac\eta L D^\top C`. The right factor is random and of full rank; a wide one multiplies every
singular value alike, so that the left singular vectors are those of :math:`D^\top C`.

Theorem 2 is stated for N_Z = d_m, where every coordinate is a key and the drive of memory,
:math:`\delta_Z/N_Z - u` of length :math:`\sqrt{1/N_Z - 1/d_m}`, vanishes. No task of Section 2.1 meets
this, since its anchors are not keys. ``theorem_2_terms`` has the theorem and the terms its proof leaves out.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, NamedTuple

import numpy as np

from theory.edge.arrays import ArrayLike, Float64, FloatArray, Integer, Real
from theory.edge.checked import Size, checked
from theory.edge.checks import check_tokens
from theory.edge.errors import InputError
from theory.edge.settled import ROUNDING, settled_turn
from theory.labels.distribution import marginal_distribution
from theory.labels.matrices import label_table, token_ratios
from theory.shapes.cosines import cosine_matrix
from theory.task.task import Task
from theory.transformer.drives import last_position_drive

Form = Literal["paper", "exact"]
Reference = Literal["uniform", "marginal"]
_ROUNDING = 1e-13
"""What is smaller than this share of its parts is taken to be the rounding of zero."""


@dataclass(frozen=True)
class ValueGrowth:
    r"""The predicted growth of W_V, and the alignment of its top direction with the embeddings.

    Attributes
    ----------
    task : Task
    singular_values : ndarray, shape (d,)
        Of the input side :math:`D^\top C / L`, largest first; those of dW_V/dt are proportional to them
        where W_f is small and d_k is large.
    direction : ndarray, shape (d,)
        The top left singular vector; its sign makes the reasoning anchors' mean alignment positive. NaN
        where W_V does not grow.
    alignment : ndarray, shape (d,)
        cos(w_s, direction) of every token, NaN for a token whose embedding is not driven, or without a
        direction.
    """

    task: Task
    singular_values: Float64[FloatArray, " d"]
    direction: Float64[FloatArray, " d"]
    alignment: Float64[FloatArray, " d"]

    @property
    def reasoning(self) -> float:
        """The mean absolute cosine over the reasoning anchors whose embedding is driven."""
        return _mean_size(self.alignment[list(self.task.reasoning_anchors)])

    @property
    def memory(self) -> float:
        """The mean absolute cosine over the memory anchors whose embedding is driven."""
        return _mean_size(self.alignment[list(self.task.memory_anchors)])

    @property
    def selectivity(self) -> float:
        """``reasoning`` over ``memory``: Theorem 2 puts it well above 1; infinite if only ``memory`` is 0."""
        if self.memory == 0 and self.reasoning > 0:
            return float("inf")
        return self.reasoning / self.memory if self.memory else float("nan")


def _mean_size(cosines: FloatArray) -> float:
    driven = np.abs(cosines[~np.isnan(cosines)])
    return float(driven.mean()) if driven.size else float("nan")


@checked
def value_drive(
    W_emb: Real[ArrayLike, "d d"],
    C: Real[ArrayLike, "d d"],
    length: Size,
    W_f: Real[ArrayLike, "d d"],
    W_O: Real[ArrayLike, "d_k d"],
) -> Float64[FloatArray, "d d_k"]:
    r"""Return dW_V/dt at small initialisation (eq. 36-38).

    It is :math:`\frac1L W_{emb}^\top C (W_f+I)^\top W_O^\top`.
    Its error relative to ``lemma4_flow`` falls in proportion to the embeddings.

    Parameters
    ----------
    W_emb, C, W_f : array_like, shape (d, d)
        The embedding, the token-label matrix and W_f1 W_f2.
    length : int
        L.
    W_O : array_like, shape (d_k, d)
        The output projection.
    """
    embedding, matrix, forward, out = (np.asarray(m, dtype=np.float64) for m in (W_emb, C, W_f, W_O))
    return np.asarray(embedding.T @ matrix @ (forward + np.eye(len(forward))).T @ out.T / length)


@checked
def predict_value_growth(
    task: Task,
    *,
    form: Form = "paper",
    reference: Reference = "uniform",
    held_out: bool = False,
) -> ValueGrowth:
    r"""Return Theorem 2's prediction for a task, before any training.

    Parameters
    ----------
    task : Task
        The task; it needs reasoning and memory anchors.
    form : {"paper", "exact"}, optional
        The embedding's drive D: the rows r_s (P^s − u) of eq. 10 and 11, or ``last_position_matrix``, all
        that is left of the exact flow when the other matrices are small.
    reference : {"uniform", "marginal"}, optional
        What the model predicts while W_V grows: u, as at the start, or the marginal label distribution P̄,
        which a model fits first. The second replaces u by P̄ in D and in C.
    held_out : bool, optional
        True: of the training distribution.
    """
    if not (task.reasoning_anchors and task.memory_anchors):
        raise InputError("task", [m.name for m in task.mappings], "only one kind of anchor", "give both")
    uniform = reference == "uniform"
    distribution = 1 / task.vocab_size if uniform else marginal_distribution(task, held_out=held_out)
    ratios, table = token_ratios(task, held_out=held_out), label_table(task, held_out=held_out)
    every = _above_rounding(ratios[:, None] * (table - distribution), ratios)
    embedding = every
    if form == "exact":
        embedding = _above_rounding(last_position_drive(task, distribution, held_out), ratios)
    left, values, _ = np.linalg.svd(embedding.T @ every / task.length)
    if values[0] <= _ROUNDING * np.linalg.norm(embedding) * np.linalg.norm(every) / task.length:
        unknown = np.full(task.vocab_size, np.nan)
        return ValueGrowth(task, np.zeros_like(values), unknown, unknown)
    left = left @ settled_turn(left, values)
    with np.errstate(invalid="ignore"):
        alignment = cosine_matrix(embedding, left[:, :1].T)[:, 0]
    sign = -1.0 if np.nansum(alignment[list(task.reasoning_anchors)]) < -ROUNDING else 1.0
    return ValueGrowth(task, values, left[:, 0] * sign, alignment * sign)


def _above_rounding(drive: FloatArray, ratios: FloatArray) -> FloatArray:
    """Return a drive with zeros for the rows that are the difference of two equal distributions."""
    size = np.abs(drive).sum(axis=1)
    return np.where((size > _ROUNDING * ratios)[:, None], drive, 0.0)


class TheoremTwo(NamedTuple):
    """Theorem 2 and the steps of its proof; each matrix is the left factor of dW_V/dt, shape (d_m, d_m).

    Attributes
    ----------
    printed : ndarray
        E[w_A]ᵀ E[Y − u]/2, with w_A the embedding of a reasoning anchor and Y the label of any token.
    product_of_means : ndarray
        E[w]ᵀ E[Y − u] over all tokens, memory's included.
    mean_of_products : ndarray
        E[wᵀ (P − u)] over all tokens: the flow itself (38), before the proof separates the two factors.
    memory_drive : float
        The mean length of P − u of the memory tokens; 0 at N_Z = d_m.
    """

    printed: Float64[FloatArray, "d_m d_m"]
    product_of_means: Float64[FloatArray, "d_m d_m"]
    mean_of_products: Float64[FloatArray, "d_m d_m"]
    memory_drive: float

    @property
    def left_out(self) -> float:
        """The share of the flow that the product of means leaves out: the covariance over tokens."""
        rest = self.mean_of_products - self.product_of_means
        return float(np.linalg.norm(rest) / np.linalg.norm(self.mean_of_products))

    @property
    def memory_share(self) -> float:
        """The share of the product of means that the printed form leaves out: memory's drive."""
        rest = self.product_of_means - self.printed
        return float(np.linalg.norm(rest) / np.linalg.norm(self.product_of_means))


@checked
def theorem_2_terms(
    table: Real[ArrayLike, "n d_m"],
    shares: Real[ArrayLike, " n"],
    reasoning: Integer[ArrayLike, " n_rsn"],
    memory: Integer[ArrayLike, " n_mem"],
    *,
    embedding: Real[ArrayLike, "n d_m"] | None = None,
) -> TheoremTwo:
    """Return Theorem 2 and the quantities that its proof passes through.

    Parameters
    ----------
    table : array_like, shape (n, d_m)
        The label distribution P^s of every token; rows sum to 1.
    shares : array_like, shape (n,)
        Every token's share of all occurrences, r_s/L.
    reasoning, memory : array_like of int
        The rows of the reasoning and of the memory anchors.
    embedding : array_like, shape (n, d_m), optional
        w_s; by default P^s − u, the leading drive where all tokens occur equally often.

    Raises
    ------
    InputError
        If a row of the table or the shares are no distribution, or a group is empty or names no such row.
    """
    rows, weights = np.asarray(table, np.float64), np.asarray(shares, np.float64)
    n, d_m = rows.shape
    if not np.allclose(rows.sum(axis=1), 1) or not (rows >= 0).all():
        raise InputError("table", table, "not one label distribution per row", "give P^s of every token")
    if not np.isclose(weights.sum(), 1) or not (weights >= 0).all():
        raise InputError("shares", shares, "not shares of all tokens", "give r_s/L, summing to 1")
    drive = rows - 1 / d_m
    w = drive if embedding is None else np.asarray(embedding, np.float64)
    reasoning, memory = check_tokens("reasoning", reasoning, n), check_tokens("memory", memory, n)
    labels = weights @ drive
    return TheoremTwo(
        printed=np.outer(w[reasoning].mean(axis=0), labels) / 2,
        product_of_means=np.outer(weights @ w, labels),
        mean_of_products=(weights[:, None] * w).T @ drive,
        memory_drive=float(np.linalg.norm(drive[memory], axis=1).mean()),
    )
