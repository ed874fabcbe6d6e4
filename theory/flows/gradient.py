r"""Softmax, losses and exact gradients over a ``CountPopulation``, for any activation."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np

from theory.edge.arrays import FloatArray
from theory.flows.network import Activation
from theory.integrate.solve import Field
from theory.integrate.trajectory import Matrices
from theory.labels.counts import TRAINING, CountPopulation

_BLOCK_ENTRIES = 2**20
"""Rows are taken in blocks whose hidden layer stays in a processor's cache."""
_LARGEST_SPREAD = 0.85
"""Below this share of a precision's largest logarithm, products of two exponentials stay within its range."""


def single_precision(population: CountPopulation) -> CountPopulation:
    """Return a population in float32, in which gradients take half the time."""
    names = ("left", "right", "label_distributions")
    low: dict[str, Any] = {name: getattr(population, name).astype(np.float32) for name in names}
    low["data_sets"] = {name: share.astype(np.float32) for name, share in population.data_sets.items()}
    return replace(population, **low)


def softmax(logits: FloatArray) -> FloatArray:
    """Return the softmax over the last axis, in place: SciPy's copies several times."""
    logits -= logits.max(axis=-1, keepdims=True)
    np.exp(logits, out=logits)
    logits /= logits.sum(axis=-1, keepdims=True)
    return logits


def token_gradient(population: CountPopulation, B: FloatArray) -> FloatArray:
    r"""Return :math:`M = E[c^\top (y - p)]` with logits o = cB, shape (d, d).

    As o is the sum of a part from the keys and a part from the anchors, its exponential is a product, and
    the sums over all pairs become products of small matrices. This is exact and takes n_left + n_right
    exponentials of width d instead of n_left · n_right.
    """
    parts = _exponential_parts(population, B)
    if parts is None:
        return _token_gradient_by_rows(population, B)
    left, right, _ = parts
    shares = population.weights / (left @ right.T)
    expected = population.left.T @ (left * (shares @ right))
    expected += population.right.T @ (right * (shares.T @ left))
    return population.token_label_mass[TRAINING] - expected


def _exponential_parts(
    population: CountPopulation, B: FloatArray
) -> tuple[FloatArray, FloatArray, FloatArray] | None:
    """Return the keys' and the anchors' factors of exp(o), and the log of the scale divided out.

    Return None if the logits spread so far that a product of two factors could underflow.
    """
    left, right = population.left @ B, population.right @ B
    tops = left.max(axis=1, keepdims=True), right.max(axis=1, keepdims=True)
    left -= tops[0]
    right -= tops[1]
    if -float(left.min()) - float(right.min()) > _LARGEST_SPREAD * np.log(np.finfo(left.dtype).max):
        return None
    return np.exp(left, out=left), np.exp(right, out=right), tops[0] + tops[1].T


def _token_gradient_by_rows(population: CountPopulation, B: FloatArray) -> FloatArray:
    logits = (population.left @ B)[:, None] + population.right @ B
    mass = population.weights[:, :, None] * (population.label_distributions - softmax(logits))
    return np.asarray(population.left.T @ mass.sum(axis=1) + population.right.T @ mass.sum(axis=0))


def population_field(population: CountPopulation, activation: Activation) -> Field:
    r"""Return the exact gradient flow's vector field (Lemma 2, eq. 19, and the same for W1 and W2)."""

    def field(now: Matrices) -> Matrices:
        n_left, n_right = population.weights.shape
        hidden = now.W_emb @ now.W1
        left, right = np.zeros((n_left, hidden.shape[1])), np.zeros((n_right, hidden.shape[1]))
        dW2 = np.zeros_like(now.W2)
        for rows, h in hidden_blocks(population, hidden):
            value = activation.value(h)
            mass = population.label_distributions[rows].reshape(len(h), -1) - softmax(value @ now.W2)
            mass *= population.weights[rows].reshape(-1, 1)
            dW2 += value.T @ mass
            delta = mass @ now.W2.T
            delta *= activation.derivative(h)
            grid = delta.reshape(-1, n_right, hidden.shape[1])
            left[rows] = grid.sum(axis=1)
            right += grid.sum(axis=0)
        drive = population.left.T @ left + population.right.T @ right
        return Matrices(drive @ now.W1.T, now.W_emb.T @ drive, dW2)

    return field


def losses(population: CountPopulation, now: Matrices, activation: Activation) -> dict[str, float]:
    """Return the mean cross entropy of every data set of the population."""
    if activation.is_linear:
        B = now.B
        parts = _exponential_parts(population, B)
        if parts is not None:
            log_sums = np.log(parts[0] @ parts[1].T) + parts[2]
            fits = {name: float(np.sum(mass * B)) for name, mass in population.token_label_mass.items()}
            return {n: float(np.sum(s * log_sums)) - fits[n] for n, s in population.data_sets.items()}
    return {name: loss for name, (loss, _) in scores(population, now, activation).items()}


def scores(
    population: CountPopulation, now: Matrices, activation: Activation
) -> dict[str, tuple[float, float]]:
    """Return the mean cross entropy and the accuracy of every data set of the population.

    Accuracy is the share of sequences whose label has the greatest logit.
    """
    shape = population.weights.shape
    loss, hit = np.empty(shape), np.empty(shape)
    for rows, h in hidden_blocks(population, now.W_emb @ now.W1):
        logits = (activation.value(h) @ now.W2).reshape(-1, shape[1], population.vocab_size)
        labels = population.label_distributions[rows]
        hit[rows] = np.take_along_axis(labels, logits.argmax(axis=2)[..., None], axis=2)[..., 0]
        logits -= logits.max(axis=2, keepdims=True)
        fit = np.einsum("ijk,ijk->ij", labels, logits)
        loss[rows] = np.log(np.exp(logits, out=logits).sum(axis=2)) - fit
    return {n: (_mean(s, loss), _mean(s, hit)) for n, s in population.data_sets.items()}


def _mean(shares: FloatArray, values: FloatArray) -> float:
    """Return the mean over shares whose sum may differ from one by single precision's rounding."""
    total = np.sum(shares, dtype=np.float64)
    return float(np.sum(shares * values, dtype=np.float64) / total)


def hidden_blocks(population: CountPopulation, hidden: FloatArray) -> Iterator[tuple[slice, FloatArray]]:
    """Yield each block of left rows with its pre-activations, shape (rows × n_right, d_f)."""
    left, right = population.left @ hidden, population.right @ hidden
    size = max(1, _BLOCK_ENTRIES // right.size)
    for start in range(0, len(left), size):
        rows = slice(start, start + size)
        yield rows, (left[rows, None] + right).reshape(-1, hidden.shape[1])
