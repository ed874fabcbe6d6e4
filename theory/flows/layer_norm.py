r"""Proposition 1 with a layer norm behind the sum of embeddings: :math:`\sigma(LN(\sum_x w_x) W_1) W_2`.

The paper's Emb-MLP has no norm; this is the simplest model that has one. To leading order in the scale of
the matrices each sequence pulls at its tokens by :math:`(y - u) W_2^\top W_1^\top J(\sum_x w_x)`, J being
the derivative of the norm. The drive has the exponent 1 where Proposition 1 has 2. It does not close in C: J
is another matrix for each sequence. In a wide model it is nearly the same one, which leaves Proposition 1
with its mean taken off, divided by the deviation of a sum of embeddings. [derived]
"""

from __future__ import annotations

from typing import Annotated

import numpy as np

from theory.arrays import ArrayLike, Float64, FloatArray, Integer, Real
from theory.checked import Between, checked
from theory.errors import InputError
from theory.flows.frozen import frozen_direction
from theory.flows.parameters import EmbMLPParameters
from theory.labels.sample import token_label_counts
from theory.layer_norm import layer_norm, norm_slope

Epsilon = Annotated[float, Between(0)]


@checked
def normed_emb_mlp_drive(
    parameters: EmbMLPParameters,
    sequences: Integer[ArrayLike, "n L"],
    labels: Integer[ArrayLike, " n"],
    *,
    epsilon: Epsilon = 1e-5,
) -> Float64[FloatArray, "d d_m"]:
    r"""Return dW_emb/dt of some sequences at p = u and σ' = 1, the norm exact (Prop. 1 with a norm).

    Relative to it the softmax and a smooth odd σ are of order κ², κ being the scale of W1 and W2; the scale
    of the embedding cancels, but for ε.

    Parameters
    ----------
    parameters : EmbMLPParameters
    sequences : array_like of int, shape (n, L)
    labels : array_like of int, shape (n,)
    epsilon : float, optional
        What stands under the norm's root beside the variance.

    Raises
    ------
    InputError
        If shapes disagree, a token or label lies outside the vocabulary, or a sum without variance meets
        ε = 0.
    """
    d = len(parameters.W_emb)
    token_label_counts(sequences, labels, d)  # refuses what does not fit
    tokens, answers = np.asarray(sequences), np.asarray(labels)
    pulled = ((np.eye(d) - 1 / d) @ parameters.W2.T @ parameters.W1.T)[answers]
    normed, scale = layer_norm(parameters.W_emb[tokens].sum(axis=1), epsilon)
    drive = np.zeros_like(parameters.W_emb)
    np.add.at(drive, tokens, norm_slope(pulled, normed, scale)[:, None])
    return drive / len(tokens)


@checked
def wide_normed_emb_mlp_drive(
    C: Real[ArrayLike, "d d"], parameters: EmbMLPParameters, n_tokens: int, *, epsilon: Epsilon = 1e-5
) -> Float64[FloatArray, "d d_m"]:
    r"""Return the same for a wide model from C alone.

    It is :math:`r_s(P^s - u) W_2^\top W_1^\top P/\sqrt{Lv + \epsilon}`, v being the mean variance of an
    embedding's entries. Where the tokens of a sequence differ the relative error falls as
    :math:`d_m^{-1/2}`; a repeated one makes the sum longer than √(Lv), at any width. The cosines of the
    drive are those of Proposition 1, but for the mean.

    Parameters
    ----------
    C : array_like, shape (d, d)
        The token-label matrix.
    parameters : EmbMLPParameters
    n_tokens : int
        L.
    epsilon : float, optional

    Raises
    ------
    InputError
        If shapes disagree, L is not positive, or an embedding without variance meets ε = 0.
    """
    if n_tokens < 1:
        raise InputError("n_tokens", n_tokens, "not a number of tokens", "give 1 or more")
    variance = n_tokens * float(parameters.W_emb.var(axis=1).mean()) + epsilon
    if variance == 0:
        raise InputError("epsilon", epsilon, "the embedding has no variance", "give an ε above 0")
    drive = frozen_direction(C, parameters)
    return np.asarray((drive - drive.mean(axis=1, keepdims=True)) / variance**0.5)
