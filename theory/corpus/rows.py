r"""The rows of a corpus whose geometry its tokens' embeddings take on: the predictors.

At vanishing initial scale and p ≈ u, the drive of token s's embedding is a row D_s times a matrix that all
tokens share; if that matrix is random and isotropic, cosines and relative lengths of the embeddings'
displacements are those of the rows:

- ``bigram``: C_s = r_s (P^s − u): one layer without attention, or whose attention adds nothing yet; untied
  read-out (eq. 5).
- ``marginal``: r_s (P^s − P̄), P̄ the distribution of all next tokens: once the common part of the labels is
  fitted.
- ``tied``: row s of C + Cᵀ. With W_U = W_Eᵀ, dW_E/dt = (C + Cᵀ) W_E at leading order, which is linear.
- ``readout``: column s of C: the drive of the token's read-out vector, and the part that the read-out adds to
  a tied embedding. A rare token's column is nearly −r/V, which is the same for all.
- ``context``: row s of E cᵀ(y − u), c the average of the tokens so far: the part of the drive that comes
  through averaged attention (Φ̄ᵀ, Lemma 1), in place of the token's own residual.
"""

from __future__ import annotations

from typing import Literal

import numpy as np

from theory.corpus.moments import Entries, InnerProducts
from theory.corpus.sequences import Block, Tokens
from theory.edge.arrays import FloatArray

CorpusPredictor = Literal["bigram", "marginal", "tied", "readout", "context"]


def pair_entries(
    block: Block, row_of: Tokens, n: int, vocab_size: int, predictor: CorpusPredictor
) -> Entries:
    """Return each pair as an entry of the rows of its tokens, and of the reference row, which is last.

    A token's row counts the labels after it, under ``readout`` the inputs before it, under ``tied`` both.
    """
    inputs, labels = block.inputs, block.labels
    first = block.sequence_of_pair * vocab_size
    sides = {"tied": [(inputs, labels), (labels, inputs)], "readout": [(labels, inputs)]}
    places, rows = [], []
    for tokens, entries in sides.get(predictor, [(inputs, labels)]):
        known = row_of[tokens] >= 0
        places.append((first + entries)[known])
        rows.append(row_of[tokens][known])
    places.append(first + (inputs if predictor in sides else labels))
    rows.append(np.full(len(inputs), n - 1))
    return np.concatenate(places), np.concatenate(rows), np.ones(sum(map(len, rows)))


def context_entries(block: Block, row_of: Tokens, n: int, vocab_size: int) -> Entries:
    """Return the share of each token in each averaged context, at the entry of the label after it."""
    first = block.sequence_of_pair * vocab_size
    places, labels = np.unique(first + block.labels, return_inverse=True)
    sums = np.zeros((len(places), n))
    sums[:, -1] = np.bincount(labels, minlength=len(places))
    rows = row_of[block.inputs]
    for row in np.unique(rows[rows >= 0]):
        context = block.running_sum((rows == row).astype(np.float64)[:, None])[:, 0] / block.positions
        sums[:, row] = np.bincount(labels, context, len(places))
    place, row = np.nonzero(sums)
    return places[place], row, sums[place, row]


def row_geometry(
    predictor: CorpusPredictor, sums: InnerProducts, tokens: Tokens
) -> tuple[FloatArray, FloatArray, FloatArray]:
    r"""Return cosines (not clipped), lengths and squared distances of the rows.

    A row is :math:`m_s (p_s - \alpha_s u - \beta_s \bar p)/n`.
    As p_s, u and the reference p̄ all sum to 1, every inner product with u is 1/V.
    """
    inner, mass, n_pairs, V = sums.inner, sums.mass[:-1], sums.mass[-1], len(sums.last)
    with np.errstate(invalid="ignore", divide="ignore"):
        alpha, beta = np.ones(len(mass)), np.zeros(len(mass))
        if predictor == "marginal":
            alpha, beta = beta, alpha
        elif predictor in ("readout", "tied"):
            # Of its mass, a tied row has sums.last[s] from the row of C and the rest from the column.
            alpha = sums.last[tokens] / mass if predictor == "tied" else beta
            beta = n_pairs / (V * mass)
        crossed = np.outer(inner[:-1, -1], beta)
        products = inner[:-1, :-1] - crossed - crossed.T + np.outer(beta, beta) * inner[-1, -1]
        uniform = np.outer(alpha, 1 - beta)
        products -= (uniform + uniform.T - np.outer(alpha, alpha)) / V
        products *= np.outer(mass, mass) / n_pairs**2
        squares = np.diagonal(products)
        lengths = np.sqrt(squares)
        scale = np.outer(lengths, lengths)
        cosines = products / np.where(scale > 0, scale, np.nan)
    return cosines, lengths, squares[:, None] + squares - 2 * products
