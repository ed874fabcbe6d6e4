r"""The embedding under AdamW: rung 5 of the ladder for corpora.

The gradient of a batch is that of rungs 2 and 4 with the batch's counts in place of the corpus's. AdamW
divides by its size, entry by entry:

- In the first step every entry of a row moves by the learning rate, whatever r_s. For drives D_s W and a
  Gaussian W, cosines ρ of rows become :math:`\tfrac2\pi \arcsin\rho` (``signed_cosine``).
- A tied embedding has a gradient for every token in every batch: that of the softmax,
  :math:`-\tfrac1V E h`, the same for all tokens that the batch does not hold. Divided by its size it is a
  whole step: tokens that have not occurred yet move together, along one common direction, t times the
  learning rate in t steps. An occurrence then sets the second moment, and the common direction all but stops.

``AdamEmbedding`` takes these steps from counts alone.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Literal

import numpy as np

from theory.arrays import ArrayLike, Float64, FloatArray, Real
from theory.checked import Between, Entries, Positive, check_shape, checked, checked_fields
from theory.corpus.counts import CorpusCounts
from theory.errors import InputError
from theory.integrate.adam import AdamSettings, AdamW
from theory.layer_norm import layer_norm, norm_slope


@checked
def signed_cosine(
    cosine: Annotated[Real[ArrayLike, "*shape"], Entries(undefined=True)],
) -> Float64[FloatArray, "*shape"]:
    """Return the expected cosine of the signs of two Gaussian rows of a given cosine: 2 arcsin(ρ)/π.

    Parameters
    ----------
    cosine : array_like, of any shape
        ρ; NaN stays NaN.

    Returns
    -------
    ndarray of float64, of the same shape

    Raises
    ------
    InputError
        If a cosine lies outside −1..1.
    """
    rho = np.asarray(cosine, np.float64)
    if (np.abs(rho) > 1 + 1e-9).any():
        raise InputError("cosine", cosine, "outside -1..1", "give cosines")
    return np.asarray(2 / np.pi * np.arcsin(np.clip(rho, -1.0, 1.0)))


@checked_fields
@dataclass(eq=False)
class AdamEmbedding:
    """A tied embedding without attention or feed-forward layer, moved by AdamW on the counts of batches.

    Tokens that never occur all have the same gradient. One row stands for all of them, so that a vocabulary
    of 50 257 costs no more than the tokens of the corpus.

    Parameters
    ----------
    initial : array_like, shape (n, d)
        The initial embedding of the tokens that occur.
    settings : AdamSettings
    absent : ndarray, shape (d,), optional
        The mean initial embedding of all other tokens, by default 0.
    n_absent : int, optional
        How many these are: V − n.
    norm_epsilon : float or None, optional
        The ε of a layer norm before the read-out; None for no norm.
    softmax : {"uniform", "live"}, optional
        p ≡ u, the leading order; or the softmax of the logits, which is this model's training itself, but for
        the absent tokens, whose initial rows are taken for their mean.
    """

    initial: Real[ArrayLike, "n d"]
    settings: AdamSettings
    absent: Real[ArrayLike, " d"] | None = None
    n_absent: Annotated[int, Between(0)] = 0
    norm_epsilon: Positive | None = None
    softmax: Literal["uniform", "live"] = "uniform"

    def __post_init__(self) -> None:
        start = check_shape("initial", self.initial, (None, None))
        width = start.shape[1]
        other = np.zeros(width) if self.absent is None else check_shape("absent", self.absent, (width,))
        self._W = np.concatenate([start, other[None]])
        self._adam = AdamW(self.settings, [self._W])

    @property
    def rows(self) -> FloatArray:
        """The embedding of the tokens that occur, shape (n, d)."""
        return self._W[:-1]

    def step(self, batch: CorpusCounts) -> None:
        """Take one step on a batch's counts over the n tokens, numbered as the rows are.

        Raises
        ------
        InputError
            If the batch has another vocabulary.
        """
        if batch.vocab_size != len(self.rows):
            raise InputError("batch", batch.vocab_size, f"{len(self.rows)} rows", "count the rows' tokens")
        gradient = -self.drive(batch)
        self._adam.step([gradient], [gradient**2])

    def drive(self, batch: CorpusCounts) -> FloatArray:
        """Return the flow of all rows, that of one absent token last, shape (n + 1, d)."""
        inputs = np.flatnonzero(batch.inputs)
        read = own = self._W[inputs]
        scale = None
        if self.norm_epsilon is not None:
            read, scale = layer_norm(own, self.norm_epsilon)
        joint, ratios = batch.joint[inputs], batch.ratios[inputs, None]
        back, common = self._expected(read, ratios)
        pulled = joint @ self.rows - back
        if scale is not None:
            pulled = norm_slope(pulled, read, scale)
        found = -common
        found[:-1] += joint.T @ read
        found[inputs] += pulled
        return found

    def _expected(self, read: FloatArray, ratios: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return what the softmax takes from the inputs' rows, and from every row as a read-out."""
        number = np.append(np.ones(len(self.rows)), self.n_absent)
        if self.softmax == "uniform":
            V = number.sum()
            return ratios * (number @ self._W) / V, np.tile((ratios * read).sum(axis=0) / V, (len(number), 1))
        logits = read @ self._W.T
        p = np.exp(logits - logits.max(axis=1, keepdims=True)) * number
        p *= ratios / p.sum(axis=1, keepdims=True)
        # Of what falls on all absent tokens together, one has its share.
        return p @ self._W, (p.T @ read) / np.maximum(number, 1)[:, None]
