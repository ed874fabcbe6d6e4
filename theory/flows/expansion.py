r"""The embedding's gradient in powers of the initial scale: Proposition 1 and what comes after it.

Let all weights be ε times fixed matrices. Pre-activations are then of order ε², logits of order ε³, and
the leading drive (eq. 5) of order ε². With :math:`\sigma(h) = h + \sigma''_0 h^2/2 + \sigma'''_0 h^3/6`
and :math:`p = u + (o - \bar o)/d + O(o^2)` the terms relative to it are, [derived],

========  =========================================================================  ==============
order     term of dW_emb/dt                                                          absent if
========  =========================================================================  ==============
ε⁰        :math:`C W_2^\top W_1^\top`
ε²        :math:`\sigma''_0\, E[c^\top ((y-u) W_2^\top \odot h)] W_1^\top`           σ''(0) = 0
ε³        :math:`-S \bar B (W_1 W_2)^\top`
ε⁴        :math:`\tfrac12 \sigma'''_0\, E[c^\top ((y-u) W_2^\top \odot h^2)] W_1^\top`  σ'''(0) = 0
========  =========================================================================  ==============

and the remainder begins with ε⁵ if σ''(0) ≠ 0 and with ε⁶, the softmax's second order, otherwise.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from theory.arrays import Float64, FloatArray
from theory.checked import checked
from theory.errors import InputError
from theory.flows.activation import ActivationLike, as_activation
from theory.flows.gradient import check_population, hidden_blocks
from theory.flows.ladder import frozen_direction, linearised_drive
from theory.flows.parameters import EmbMLPParameters
from theory.labels.counts import CountPopulation


@dataclass(frozen=True)
class GradientExpansion:
    """The embedding's velocity, order by order in the scale of the weights.

    Attributes
    ----------
    terms : dict of int to ndarray, shape (d, d_m)
        The non-vanishing terms, by their power of ε relative to the leading one; key 0 is eq. 5.
    remainder : int
        The first power that is missing from ``terms``.
    """

    terms: dict[int, Float64[FloatArray, "d d_m"]]
    remainder: int

    def truncated(self, n_terms: int) -> tuple[Float64[FloatArray, "d d_m"], int]:
        """Return the sum of the first ``n_terms`` terms and the power of ε of its relative error."""
        orders = sorted(self.terms)
        if not 1 <= n_terms <= len(orders):
            raise InputError(
                "n_terms", n_terms, f"the expansion has {len(orders)} terms", "ask for 1 up to that"
            )
        following = [*orders, self.remainder][n_terms]
        total = np.sum([self.terms[order] for order in orders[:n_terms]], axis=0)
        return np.asarray(total), following


@checked
def gradient_orders(
    population: CountPopulation, parameters: EmbMLPParameters, activation: ActivationLike
) -> GradientExpansion:
    """Return dW_emb/dt up to ε⁴ relative to eq. 5, in closed form.

    Parameters
    ----------
    population : CountPopulation
        What is trained on.
    parameters : EmbMLPParameters
        The weights at which the gradient is taken.
    activation : Activation
        σ, with σ''(0) and σ'''(0) given.

    Raises
    ------
    InputError
        If the vocabularies disagree or the activation does not say its derivatives at 0.
    """
    check_population(population, parameters)
    sigma = as_activation(activation)
    second, third = sigma.second, sigma.third
    if second is None or third is None:
        raise InputError(
            "activation", sigma.name, "its σ''(0) or σ'''(0) is not given", "set second and third"
        )
    C, S = population.token_label_matrix(), population.cooccurrence()
    B = parameters.W_emb @ parameters.W1 @ parameters.W2
    readout = parameters.W1 @ parameters.W2
    terms = {0: frozen_direction(C, parameters)}
    if second != 0:
        terms[2] = second * _moment(population, parameters, 1)
    terms[3] = (linearised_drive(C, S, B) - C) @ readout.T
    if third != 0:
        terms[4] = 0.5 * third * _moment(population, parameters, 2)
    return GradientExpansion(terms, 5 if second != 0 else 6)


def _moment(population: CountPopulation, parameters: EmbMLPParameters, power: int) -> FloatArray:
    """Return E[cᵀ ((y − u) W2ᵀ ⊙ h^power)] W1ᵀ, shape (d, d_m)."""
    n_left, n_right = population.weights.shape
    hidden = parameters.W_emb @ parameters.W1
    left, right = np.zeros((n_left, hidden.shape[1])), np.zeros((n_right, hidden.shape[1]))
    for rows, h in hidden_blocks(population, hidden):
        residual = population.label_distributions[rows] - 1 / population.vocab_size
        residual = (population.weights[rows, :, None] * residual).reshape(len(h), -1)
        grid = ((residual @ parameters.W2.T) * h**power).reshape(-1, n_right, hidden.shape[1])
        left[rows] = grid.sum(axis=1)
        right += grid.sum(axis=0)
    return np.asarray((population.left.T @ left + population.right.T @ right) @ parameters.W1.T)
