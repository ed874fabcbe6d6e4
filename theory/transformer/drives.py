r"""The embedding's flow in the one-layer Transformer (eq. 10, 11, 28, 29), as printed and exact.

At vanishing embeddings the attention of the last row is exactly 1/L, p = u and σ' = 1, and a token s
receives

.. math:: r_s \left[ (P^s - u)(W_f^\top + I) W_{VO}^\top / L
          + \rho_s (P^{s,L} - u)(W_f^\top + I) \right],

where ρ_s is the share of its occurrences that stand in the last position, which the residual connection
reads directly, and :math:`P^{s,L}` the label distribution given that. The paper's form is the case
ρ_s = 1/L, :math:`P^{s,L} = P^s`; for this task neither holds.
"""

from __future__ import annotations

from fractions import Fraction

import numpy as np

from theory.edge.arrays import ArrayLike, Float64, FloatArray, Real
from theory.edge.checked import Size, checked
from theory.edge.checks import check_tokens
from theory.labels.distribution import marginal_distribution
from theory.labels.matrices import check_square
from theory.task.domain import Selection
from theory.task.task import Task


def _exact_ratio(task: Task, token: int, held_out: bool) -> Fraction:
    """Return r_s ρ_s, the probability that the last token of a sequence is ``token``.

    For an anchor, the chance 1/(L−q) that the anchors end the sequence times its share of last anchors; for a
    key, the opposite chance divided by N_Z.
    """
    check_tokens("token", token, task.vocab_size)
    positions = task.length - task.n_anchors
    if token in task.keys:
        return Fraction(positions - 1, positions * len(task.keys))
    mapping = task.mapping_of(token)
    if mapping is None:
        return Fraction(0)
    combinations = sum(task.n_combinations(m, held_out=held_out) for m in task.mappings)
    ending = len(mapping.anchors) ** (task.n_anchors - 1)
    ending -= sum(c[-1] == token for c in mapping.held_out) if held_out else 0
    return Fraction(ending, positions * combinations)


@checked
def last_position_distribution(
    task: Task, token: int, *, held_out: bool = False
) -> Float64[FloatArray, " {task.vocab_size}"]:
    r"""Return :math:`P^{s,L}`, the label distribution of the sequences that end in ``token``: shape (d,).

    For an anchor it is P^s where the anchors of a combination are exchangeable, as they are in a sum; not
    where the rule, or the held-out set, distinguishes positions. For a key it is the marginal
    distribution of all labels: a key in the last position is noise. u, by convention, for a token that
    never ends a sequence.
    """
    if not _exact_ratio(task, token, held_out):
        return np.full(task.vocab_size, 1 / task.vocab_size)
    if token in task.keys:
        return marginal_distribution(task, held_out=held_out)
    mapping = task.mapping_of(token)
    assert mapping is not None
    selection = Selection(token, task.n_anchors - 1, held_out=mapping.held_out if held_out else frozenset())
    weights = mapping.rule.distribution(task.domain(mapping), selection).dense(task.vocab_size)
    return np.asarray(weights / weights.sum(), dtype=np.float64)


@checked
def last_position_matrix(
    task: Task, *, held_out: bool = False
) -> Float64[FloatArray, "{task.vocab_size} {task.vocab_size}"]:
    r"""Return C_L, whose row s is :math:`r_s \rho_s (P^{s,L} - u)`, shape (d, d).

    The companion of ``expected_token_label_matrix`` for the last position alone.
    """
    return last_position_drive(task, 1 / task.vocab_size, held_out)


def last_position_drive(task: Task, reference: FloatArray | float, held_out: bool) -> FloatArray:
    """Return the rows r_s ρ_s (P^{s,L} − reference), shape (d, d)."""
    check_square(task.vocab_size, 2)
    tokens = range(task.vocab_size)
    ratios = np.array([float(_exact_ratio(task, s, held_out)) for s in tokens])
    table = np.stack([last_position_distribution(task, s, held_out=held_out) for s in tokens])
    return np.asarray(ratios[:, None] * (table - reference), dtype=np.float64)


@checked
def transformer_drive(
    C: Real[ArrayLike, "d d"],
    C_last: Real[ArrayLike, "d d"],
    length: Size,
    W_f: Real[ArrayLike, "d d"],
    W_VO: Real[ArrayLike, "d d"],
) -> Float64[FloatArray, "d d"]:
    r"""Return dW_emb/dt at vanishing embeddings, exactly (eq. 28 with the last position kept apart).

    Parameters
    ----------
    C : array_like, shape (d, d)
        The token-label matrix, rows r_s (P^s − u).
    C_last : array_like, shape (d, d)
        Its counterpart for the last position: ``last_position_matrix``, or ``token_label_matrix`` of a
        sample's last tokens, ``sequences[:, -1:]``.
    length : int
        L.
    W_f, W_VO : array_like, shape (d, d)
        W_f1 W_f2 and W_V W_O.

    Returns
    -------
    ndarray of float64, shape (d, d)
        :math:`C (W_f^\top + I) W_{VO}^\top / L + C_L (W_f^\top + I)`. As the matrices shrink only C_L is
        left: the embedding first learns what the last position says.
    """
    every, last, forward, value = (np.asarray(m, dtype=np.float64) for m in (C, C_last, W_f, W_VO))
    onward = forward.T + np.eye(len(forward))
    return (every @ onward @ value.T) / length + last @ onward


@checked
def paper_transformer_drive(
    C: Real[ArrayLike, "d d"], length: Size, W_f: Real[ArrayLike, "d d"], W_VO: Real[ArrayLike, "d d"]
) -> Float64[FloatArray, "d d"]:
    r"""Return the flow as printed (eq. 10, 11, 29): :math:`\frac1L C (W_f^\top + I)(W_{VO}^\top + I)`.

    Equal to ``transformer_drive`` when a token's position is uniform and unrelated to the label: C_L = C/L.
    Parameters as in ``transformer_drive``.
    """
    return transformer_drive(C, np.asarray(C) / length, length, W_f, W_VO)
