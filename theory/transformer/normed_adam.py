r"""Propositions 2 and 3 in AdamW's steps: the residual path alone, norms and softmax live.

What is left of the Transformer where attention and FFN add nothing reads the last token only: its logits
are :math:`N(w_s + w_{pos,L})\,W_U`, N standing for the model's norms. Its data are the joint probabilities
of last token and label, :math:`M_{si} = r_s \rho_s P^{s,L}_i`, so that a step of AdamW on a whole population
costs d² d_m. Batches enter the second moment: :math:`E\hat g^2 = \bar g^2 + \operatorname{Var} g / B`, as in
``adam_steps``. [derived]
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated

import numpy as np
from scipy.special import softmax

from theory.arrays import ArrayLike, Float64, FloatArray, Real
from theory.checked import Between, Size, check_shape, checked
from theory.errors import InputError
from theory.integrate.adam import AdamSettings, AdamW
from theory.layer_norm import layer_norm, norm_slope
from theory.transformer.layer_norm import Placement, n_norms

_NOISE_EVERY = 10
"""Steps after which the variance of the gradient is computed anew, at most."""


@checked
def last_token_adam(
    joint: Real[ArrayLike, "d d"],
    W_E: Real[ArrayLike, "d d_m"],
    W_U: Real[ArrayLike, "d_m d"],
    steps: Sequence[Annotated[int, Between(0)]],
    settings: AdamSettings,
    *,
    position: Real[ArrayLike, " d_m"],
    norm: Placement = "pre",
    epsilon: Annotated[float, Between(0)] = 1e-5,
    n_layers: Size = 1,
    batch_size: Size | None = None,
) -> Float64[FloatArray, "n_times d d_m"]:
    r"""Return the embedding after some of AdamW's steps, embedding, last position and read-out moving.

    Parameters
    ----------
    joint : array_like, shape (d, d)
        The probability that a sequence ends in s and has the label i.
    W_E, W_U, position : array_like, shapes (d, d_m), (d_m, d), (d_m,)
        The matrices before the first step.
    steps : sequence of int
        After how many steps the embedding is returned; increasing.
    settings : AdamSettings
    norm, epsilon, n_layers
        As in ``normed_transformer_drive``.
    batch_size : int, optional
        B; None is the full batch.

    Raises
    ------
    InputError
        If shapes disagree, a probability is negative or all are 0, steps do not increase, or a row without
        variance meets ε = 0.
    """
    rows = check_shape("W_E", W_E, (None, None)).copy()
    d, d_m = rows.shape
    table = check_shape("joint", joint, (d, d))
    if (table < 0).any() or not table.any():
        raise InputError("joint", float(table.min()), "not probabilities", "give shares of sequences")
    if any(later <= earlier for earlier, later in itertools.pairwise(steps)):
        raise InputError("steps", list(steps), "not increasing", "sort them")
    readout, last = check_shape("W_U", W_U, (d_m, d)).copy(), check_shape("position", position, (d_m,)).copy()
    ending = table.any(axis=1)
    model = _LastToken(table[ending] / table.sum(), n_norms(norm, n_layers), epsilon)
    optimizer = AdamW(settings, [rows[ending], last, readout])
    noise: list[FloatArray] = []
    fresh, kept = 0, []
    for count in steps:
        while optimizer.steps < count:
            state = model.forward(*optimizer.weights)
            mean = model.gradients(state, readout)
            if batch_size is not None and optimizer.steps >= fresh:
                # The second moment averages over a thousand steps, in which the noise hardly changes.
                noise = [n / batch_size for n in model.noise(state, readout, mean)]
                fresh = optimizer.steps + max(1, min(_NOISE_EVERY, optimizer.steps // 20))
            squares = [g**2 + n for g, n in zip(mean, noise, strict=True)] if noise else [g**2 for g in mean]
            optimizer.step(mean, squares)
        kept.append(rows * (1 - settings.rate * settings.weight_decay) ** count)
        kept[-1][ending] = optimizer.weights[0]
    return np.array(kept).reshape(len(kept), d, d_m)


@dataclass(frozen=True)
class _State:
    """A pass over all last tokens: what the read-out reads, the softmax, and each norm's output and scale."""

    x: FloatArray
    p: FloatArray
    passed: list[tuple[FloatArray, FloatArray]]


@dataclass(frozen=True)
class _LastToken:
    joint: FloatArray
    n_norms: int
    epsilon: float

    def forward(self, rows: FloatArray, last: FloatArray, readout: FloatArray) -> _State:
        """Read every last token once."""
        x, passed = rows + last, []
        for _ in range(self.n_norms):
            x, scale = layer_norm(x, self.epsilon)
            passed.append((x, scale))
        return _State(x, softmax(x @ readout, axis=1), passed)

    def gradients(self, state: _State, readout: FloatArray) -> list[FloatArray]:
        """Return the mean gradients of the embedding, the last position and the read-out."""
        wrong = self.joint.sum(axis=1, keepdims=True) * state.p - self.joint
        pulled = wrong @ readout.T
        for normed, scale in reversed(state.passed):
            pulled = norm_slope(pulled, normed, scale)
        return [pulled, pulled.sum(axis=0), state.x.T @ wrong]

    def noise(self, state: _State, readout: FloatArray, mean: list[FloatArray]) -> list[FloatArray]:
        """Return the variance of one sequence's gradients.

        Of a norm's derivative the part along x is left out, 1/d_m of it.
        """
        ratios, columns, p = self.joint.sum(axis=1, keepdims=True), readout.T, state.p
        if state.passed:
            columns = columns - columns.mean(axis=1, keepdims=True)
        expected = p @ columns
        square = self.joint @ columns**2 - 2 * (self.joint @ columns) * expected + ratios * expected**2
        for _, scale in state.passed:
            square = square * scale**2
        moments = [square, square.sum(axis=0), (state.x**2).T @ (self.joint * (1 - 2 * p) + ratios * p**2)]
        return [np.maximum(m - g**2, 0.0) for m, g in zip(moments, mean, strict=True)]
