r"""How a Transformer without embeddings begins to associate tokens: the leading terms of Im et al.

Im, Oh, Fang, Li (arXiv 2601.19208): one-hot inputs :math:`h_0 = X`, layers

.. math:: h_l = h_{l-1} + \mathrm{softmax}(\mathrm{mask}(h_{l-1} W_l h_{l-1}^\top + D(p_l)))\, h_{l-1} V_l

with :math:`D(p)_{km} = p_{k-m}`, logits :math:`h_L W_O`, the next-token loss averaged over positions,
full-batch gradient descent of rate η from zero. After s steps

- :math:`W_O = s\eta\, C + O(s^2\eta^2)`,
- :math:`V_l = \binom{s}{2}\eta^2\, \bar\Phi^\top C^\top + O(s^3\eta^3)`,
- :math:`W_l = (3\binom{s}{4} + 2\binom{s}{3})\eta^4\, Q + O(s^5\eta^5)`, and p_l likewise with Δ,

the same in every layer. Q and Δ are derived here. The gain of position k from looking at position m is
:math:`q_{km} = x_m \bar\Phi^\top C^\top C y_k^\top`, its mean over m ≤ k is :math:`\bar q_k`, and the slope
of a softmax at uniform attention gives

.. math::
    Q = E_k \tfrac1k \sum_{m \le k} (q_{km} - \bar q_k)\, x_k^\top x_m, \qquad
    \Delta_r = E_k \tfrac1k (q_{k,k-r} - \bar q_k)\, 1[r < k].

The coefficient is the sum over steps of :math:`s' \binom{s'}{2}`, from the sizes of W_O and V_l by then.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import comb
from typing import Annotated, Any

import numpy as np

from theory.corpus.counts import corpus_counts
from theory.corpus.operators import LARGEST_MATRIX, as_matrix, bigram_operator, context_operator
from theory.corpus.sequences import as_lists
from theory.edge.arrays import Float64, FloatArray
from theory.edge.checked import Positive, Size, checked
from theory.edge.checks import Between
from theory.edge.errors import check_memory


@dataclass(frozen=True, eq=False)
class Associations:
    """The directions of the leading terms.

    Attributes
    ----------
    output : ndarray, shape (V, V)
        C, of W_O.
    value : ndarray, shape (V, V)
        Φ̄ᵀCᵀ, of every V_l.
    attention : ndarray, shape (V, V)
        Q, of every W_l.
    position : ndarray, shape (T,)
        Δ, of every p_l; T is one less than the length of the longest sequence.
    """

    output: Float64[FloatArray, "V V"]
    value: Float64[FloatArray, "V V"]
    attention: Float64[FloatArray, "V V"]
    position: Float64[FloatArray, " T"]

    @checked
    def after(self, steps: Size, rate: Positive) -> Associations:
        """Return the leading terms themselves after some steps of gradient descent from zero."""
        fourth = (3 * comb(steps, 4) + 2 * comb(steps, 3)) * rate**4
        return Associations(
            steps * rate * self.output,
            comb(steps, 2) * rate**2 * self.value,
            fourth * self.attention,
            fourth * self.position,
        )


@checked
def corpus_associations(
    sequences: Any, vocab_size: Annotated[int, Between(1, LARGEST_MATRIX)]
) -> Associations:
    """Return the directions in which the matrices of Im et al.'s model begin to grow on a corpus.

    Parameters
    ----------
    sequences : iterable of array_like of int
        Token sequences of any lengths.
    vocab_size : int
        V, at most 4096: these are dense matrices.
    """
    documents = as_lists(sequences, vocab_size)
    longest = max(map(len, documents))
    check_memory("sequences", longest, 40 * longest**2, "the longest sequence", "cut it into shorter ones")
    C = as_matrix(bigram_operator(corpus_counts(documents, vocab_size)))
    value = as_matrix(context_operator(documents, vocab_size)).T @ C.T
    gains, attention = value @ C, np.zeros((vocab_size, vocab_size))
    position = np.zeros(longest - 1)
    n_pairs = sum(len(document) - 1 for document in documents)
    for document in documents:
        inputs, labels = document[:-1], document[1:]
        # (q_km − q̄_k)/k for m ≤ k and 0 elsewhere, shape (T, T).
        share = np.tri(len(inputs)) / np.arange(1, len(inputs) + 1)[:, None]
        q = gains[inputs][:, labels].T
        slopes = share * (q - (share * q).sum(axis=1, keepdims=True))
        np.add.at(attention, (inputs[:, None], inputs), slopes)
        for r in range(len(inputs)):
            position[r] += np.diagonal(slopes, -r).sum()
    return Associations(C, value, attention / n_pairs, position / n_pairs)
