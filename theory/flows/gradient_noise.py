r"""The Emb-MLP's gradient on one sequence or batch drawn at random: its first two moments, entry by entry.

With c the counts of a sequence, y its label, :math:`x = cW_{emb}`, :math:`h = xW_1`, p the softmax and
:math:`\delta_y = (p - y) W_2^\top \odot \sigma'(h)`, its loss has the gradients

.. math::
    c^\top (\delta_y W_1^\top), \quad x^\top \delta_y, \quad \sigma(h)^\top (p - y),

all of rank one. The square of an entry is therefore a product of two squares, and its mean over all sequences
and labels is again a product of matrices. Only :math:`\delta_y` is needed for every pair of counts and label:
one more row for each further label that the same counts may have.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from scipy.sparse import csr_array

from theory.edge.arrays import FloatArray, IntArray
from theory.edge.errors import InputError
from theory.flows.batches import Batching
from theory.flows.gradient import population_field, softmax, token_gradient
from theory.flows.ladder import product_field
from theory.flows.network import Activation
from theory.flows.weight_scatter import WeightScatter, curvature_factors
from theory.integrate.trajectory import Matrices
from theory.labels.counts import CountPopulation

_BLOCK_PAIRS = 2048
"""Pairs of counts and label are taken in blocks that stay in a processor's cache."""


class BatchGradient:
    """Mean and variance of a batch's gradient of the loss, as ``MeanTraining`` follows it.

    ``shapes`` are matrices as the weights are to be cut into; the population's precision is that of the
    gradients.
    """

    def __init__(
        self, population: CountPopulation, batching: Batching, activation: Activation, shapes: Matrices
    ) -> None:
        self._population, self._batching, self._activation = population, batching, activation
        self._shapes, self.dtype = shapes, population.left.dtype
        self.sizes = [matrix.size for matrix in shapes]
        self._noise = GradientNoise(population) if batching.factor > 0 else None
        if activation.is_linear:
            self._field = product_field(lambda B: token_gradient(population, B))
        else:
            self._field = population_field(population, activation)

    def mean(self, y: FloatArray) -> FloatArray:
        """Return the gradient of the whole population, in its cheapest exact form."""
        return -self._field(self._shapes.unpack(y)).packed()

    def variance(self, y: FloatArray) -> FloatArray:
        """Return the variance of a batch's gradient."""
        if self._noise is None:
            return np.zeros_like(y)
        variance = self._noise.moments(self._shapes.unpack(y), self._activation).variance
        return self._batching.factor * variance.packed()

    def scatter(self, y: FloatArray, mobility: FloatArray, rate: float) -> WeightScatter | None:
        """Return the scatter of the weights about y; None where batches have no noise."""
        if self._noise is None:
            return None
        factors = curvature_factors(self._population, self._shapes.unpack(y), self._activation)
        return WeightScatter(factors, self._shapes.unpack(mobility), self._batching, rate)


class GradientMoments(NamedTuple):
    """Mean and mean square of every entry of one sequence's gradient."""

    mean: Matrices
    square: Matrices

    @property
    def variance(self) -> Matrices:
        """The variance of every entry; values that rounding makes negative are set to zero."""
        pairs = zip(self.square, self.mean, strict=True)
        return Matrices(*(np.maximum(square - mean**2, 0.0) for square, mean in pairs))


@dataclass(frozen=True)
class _Block:
    """Some of the rows l_i + r_j that occur, with their labels as pairs (row, label)."""

    left: IntArray
    """i of each row."""
    right: IntArray
    """j of each row."""
    weights: FloatArray
    """Shape (n_rows, 1)."""
    labels: FloatArray
    """Label distributions, shape (n_rows, d)."""
    row: IntArray
    """The row of each pair."""
    label: IntArray
    """The label of each pair."""
    share: csr_array
    """Shape (n_rows, n_pairs): the share of each pair in the training set, in its row."""
    by_left: csr_array
    """Shape (n_left, n_rows): adds up the rows of each i."""
    by_right: csr_array
    """Shape (n_right, n_rows): adds up the rows of each j."""


class GradientNoise:
    """The first two moments of one sequence's gradient over a population.

    The counts of keys and of anchors must have no token in common, or squares of sums would not separate.
    """

    def __init__(self, population: CountPopulation) -> None:
        shared = (population.left != 0).any(axis=0) & (population.right != 0).any(axis=0)
        if shared.any():
            token = int(np.flatnonzero(shared)[0])
            problem = "occurs in the counts of keys and of anchors"
            raise InputError("population", f"token {token}", problem, "use count_population")
        self._left, self._right = population.left, population.right
        self._blocks = list(_blocks(population))

    def moments(self, now: Matrices, activation: Activation) -> GradientMoments:
        """Return E g and E g² of one sequence's gradient, exactly."""
        mean, square = (_Sums.zeros(self._left, self._right, now) for _ in range(2))
        inputs = self._left @ now.W_emb, self._right @ now.W_emb
        readout = np.ascontiguousarray(now.W2.T)
        for block in self._blocks:
            x = inputs[0][block.left] + inputs[1][block.right]
            h = x @ now.W1
            value, slope = activation.value(h), activation.derivative(h)
            labels = block.labels
            p = softmax(value @ now.W2)
            mean.W2 += value.T @ (block.weights * (p - labels))
            square.W2 += (value**2).T @ (block.weights * (labels * (1 - 2 * p) + p**2))

            delta = ((p @ readout)[block.row] - readout[block.label]) * slope[block.row]
            per_token = delta @ now.W1.T
            for sums, power in ((mean, 1), (square, 2)):
                sums.W1 += (x**power).T @ (block.share @ delta**power)
                sums.add(block, block.share @ per_token**power)
        return GradientMoments(
            mean.matrices(self._left, self._right), square.matrices(self._left**2, self._right**2)
        )


@dataclass
class _Sums:
    """Sums over blocks; the embedding's gradients are kept per row of keys and per row of anchors."""

    left: FloatArray
    right: FloatArray
    W1: FloatArray
    W2: FloatArray

    @classmethod
    def zeros(cls, left: FloatArray, right: FloatArray, now: Matrices) -> _Sums:
        d_m = now.W_emb.shape[1]
        parts = np.zeros((len(left), d_m)), np.zeros((len(right), d_m))
        return cls(*parts, np.zeros_like(now.W1), np.zeros_like(now.W2))

    def add(self, block: _Block, per_row: FloatArray) -> None:
        """Add the gradient with respect to each token's vector in the block's rows, shape (n_rows, d_m)."""
        self.left += block.by_left @ per_row
        self.right += block.by_right @ per_row

    def matrices(self, left: FloatArray, right: FloatArray) -> Matrices:
        """Return the sums, the embedding's weighted by the given token counts or their squares."""
        return Matrices(left.T @ self.left + right.T @ self.right, self.W1, self.W2)


def _blocks(population: CountPopulation) -> Iterator[_Block]:
    left, right = np.nonzero(population.weights)
    n_labels = np.count_nonzero(population.label_distributions[left, right], axis=1)
    ends = np.cumsum(n_labels)
    cuts = np.flatnonzero(np.diff(ends // _BLOCK_PAIRS, prepend=0)) + 1
    bounds = np.unique([0, *cuts[cuts < len(left)], len(left)])
    for start, end in itertools.pairwise(bounds):
        i, j = left[start:end], right[start:end]
        labels, weights = population.label_distributions[i, j], population.weights[i, j]
        row, label = np.nonzero(labels)
        shares = weights[row] * labels[row, label]
        share = csr_array((shares, (row, np.arange(len(row)))), shape=(len(i), len(row)))
        ones, rows = np.ones(len(i), weights.dtype), np.arange(len(i))
        by = [
            csr_array((ones, (index, rows)), shape=(size, len(i)))
            for index, size in zip((i, j), population.weights.shape, strict=True)
        ]
        yield _Block(i, j, weights[:, None], labels, row, label, share, *by)
