r"""The first rung of the ladder of flows: everything frozen but the embedding (eq. 5).

Row vectors throughout: a sequence's logits are :math:`(\sum_x w_x) W_1 W_2` to leading order.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from theory.arrays import ArrayLike, Float64, FloatArray, Real
from theory.checked import Decay, checked
from theory.flows.activation import IDENTITY, ActivationLike
from theory.flows.gradient import loss_function
from theory.flows.parameters import EmbMLPParameters, Matrices, check_statistic
from theory.integrate.trajectory import Recorder, SolverStatistics, Trajectory, check_times
from theory.labels.counts import CountPopulation


@checked
def frozen_flow(
    C: Real[ArrayLike, "d d"],
    initial: EmbMLPParameters,
    times: Real[ArrayLike, "*n_times"],
    *,
    weight_decay: Decay = 0.0,
    keep: Sequence[str] = ("W_emb",),
    population: CountPopulation | None = None,
    activation: ActivationLike = IDENTITY,
) -> Trajectory:
    r"""Return :math:`w_s(t) = w_s(0) + t\, r_s (P^s - u) W_2^\top W_1^\top` (eq. 5, rung 1).

    Only the embedding moves, the softmax stays uniform and σ'(0) = 1: the closed form of the leading
    order in the initial scale. Under weight decay λ the embedding, which alone moves, is

    .. math:: e^{-\lambda t} w_s(0) + \frac{1 - e^{-\lambda t}}{\lambda}\, r_s (P^s - u) W_2^\top W_1^\top.

    Parameters
    ----------
    C : array_like, shape (d, d)
        The token-label matrix, row s being r_s (P^s − u): ``expected_token_label_matrix`` of a task,
        ``token_label_matrix`` of a sample or that of a ``CountPopulation``.
    initial : EmbMLPParameters
        The matrices at t = 0.
    times : array_like, shape (n_times,)
        Non-negative and increasing; in units of Σ learning rate.
    weight_decay : float, optional
        λ of plain gradient descent: λθ is added to the gradient.
    keep : sequence of str, optional
        Which matrices the trajectory keeps: "W_emb", "W1", "W2", "B" (their product).
    population : CountPopulation, optional
        Measure the true losses of its data sets along the way.
    activation : Activation, optional
        σ of the network whose losses are measured; the flow itself does not depend on it.

    Raises
    ------
    InputError
        If shapes disagree or the times are negative or unsorted.
    """
    checked = check_times(times)
    drive = frozen_direction(C, initial)
    recorder = Recorder(keep, loss_function(population, initial, activation), ())
    for t in checked:
        left, driven = np.exp(-weight_decay * t), decayed_time(t, weight_decay)
        recorder.add(Matrices(left * initial.W_emb + driven * drive, initial.W1, initial.W2))
    return recorder.trajectory(checked, SolverStatistics("closed form"))


def decayed_time(t: float, weight_decay: float) -> float:
    r"""Return :math:`\int_0^t e^{-\lambda s} ds`, the time that a drive has had under decay."""
    return float(-np.expm1(-weight_decay * t) / weight_decay) if weight_decay > 0 else t


@checked
def frozen_direction(C: Real[ArrayLike, "d d"], initial: EmbMLPParameters) -> Float64[FloatArray, "d d_m"]:
    """Return dW_emb/dt of the frozen flow, C W2ᵀ W1ᵀ, shape (d, d_m): its limit of late times."""
    return check_statistic("C", C, initial) @ initial.W2.T @ initial.W1.T
