r"""A narrow network that learns as a wide one does: each of its units stands for several equal units.

Let the units of a wide network come in groups of twins: coordinates of the embedding d_m/n_m to a group,
hidden units d_f/n_f. With U of shape (d_m, n_m) and V of shape (d_f, n_f), which have orthonormal columns and
copy a coordinate to its twins,

.. math:: W_{emb} = w_{emb} U^\top, \qquad W_1 = U w_1 V^\top, \qquad W_2 = V w_2,

the wide network's logits are :math:`q^{-1}\sigma(q\,c\,w_{emb} w_1)\,w_2` with q = √(n_f/d_f). Its gradients
are :math:`g_{emb} U^\top,\; U g_1 V^\top,\; V g_2`, so that twins stay twins, and norms are equal. Hence **a
run of the narrow network is a run of the wide one**, step by step and on the same batches:

- SGD, its weight decay and clipping are unchanged;
- AdamW divides by :math:`f\sqrt{\hat v} + \epsilon`, where f is q_m, q_m q_f and q_f for the three matrices
  and q_m = √(n_m/d_m): an entry of the wide gradient is f times the narrow one.

What is not that of the wide network is the start. Entries of standard deviation
:math:`\sigma_{emb}/q_m,\; \sigma_1/\sqrt{q_m q_f},\; \sigma_2/q_f` keep the mean of every inner product of
embeddings, of hidden layers (at n_m/d_m = n_f/d_f = s) and of rows of W2, and with them the mean tangent
kernel. The relative variance of these inner products is 1/s times as large, and so is the variance of the
initial logits, a product of three independent matrices. A mean over starts differs from the wide network's by
terms of order (1/s − 1)/d_m as long as both have the capacity for what they learn.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from theory.edge.arrays import FloatArray
from theory.edge.errors import check_memory
from theory.flows.network import Activation, EmbMLPParameters

_FEWEST = 50
"""Embeddings are not followed in fewer dimensions: inner products would fluctuate too much."""
_DIVISOR = 4


@dataclass(frozen=True)
class Narrow:
    """The widths of a network, and those of the narrow one that is followed in its place."""

    d_m: int
    d_f: int
    n_m: int
    n_f: int

    @classmethod
    def of(cls, d_m: int, d_f: int, share: float | None = None) -> Narrow:
        """Return a share of both widths: by default a quarter, but at least 50 dimensions of embeddings."""
        if share is None:
            share = min(1.0, max(1 / _DIVISOR, _FEWEST / d_m))
        return cls(d_m, d_f, max(1, round(share * d_m)), max(1, round(share * d_f)))

    @property
    def share(self) -> float:
        """The narrow width as a share of the wide one."""
        return self.n_m / self.d_m

    @property
    def scale(self) -> tuple[float, float, float]:
        """f: what an entry of the wide network's gradient is, in entries of the narrow one's."""
        q_m, q_f = math.sqrt(self.n_m / self.d_m), math.sqrt(self.n_f / self.d_f)
        return q_m, q_m * q_f, q_f

    def activation(self, sigma: Activation) -> Activation:
        """Return σ(qh)/q."""
        q = self.scale[2]
        if q == 1 or sigma.is_linear:
            return sigma

        def value(h: FloatArray) -> FloatArray:
            return sigma.value(h * q) / q

        return Activation(sigma.name, value, lambda h: sigma.derivative(h * q))

    def draw(self, vocab_size: int, init_rate: float, rng: np.random.Generator) -> EmbMLPParameters:
        """Draw the narrow network's matrices: the wide one's as they are, where the widths are equal."""
        numbers = vocab_size * (self.n_m + self.n_f) + self.n_m * self.n_f
        check_memory("d_m, d_f", (self.d_m, self.d_f), 8 * numbers, "the draw", "give a narrower model")
        q_m, between, q_f = self.scale
        embedding, readout = self.d_m**-init_rate, self.d_f**-init_rate
        return EmbMLPParameters(
            embedding / q_m * rng.standard_normal((vocab_size, self.n_m)),
            embedding / math.sqrt(between) * rng.standard_normal((self.n_m, self.n_f)),
            readout / q_f * rng.standard_normal((self.n_f, vocab_size)),
        )
