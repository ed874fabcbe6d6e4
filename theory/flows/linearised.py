r"""The third rung: the softmax to first order about uniform, driven by C and S alone."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from theory.arrays import ArrayLike, FloatArray, Real
from theory.checked import Decay, checked
from theory.errors import InputError
from theory.flows.activation import IDENTITY, ActivationLike
from theory.flows.coupled import product_field
from theory.flows.gradient import loss_function
from theory.flows.parameters import EmbMLPParameters, check_statistic
from theory.integrate.solve import STABILISED, Solver, decaying, integrate
from theory.integrate.trajectory import EMBEDDING_BALANCE, HIDDEN_BALANCE, Recorder, Trajectory, check_times
from theory.labels.counts import CountPopulation


@checked
def linearised_flow(
    C: Real[ArrayLike, "d d"],
    S: Real[ArrayLike, "d d"],
    initial: EmbMLPParameters,
    times: Real[ArrayLike, "*n_times"],
    *,
    weight_decay: Decay = 0.0,
    solver: Solver = STABILISED,
    keep: Sequence[str] = ("W_emb",),
    population: CountPopulation | None = None,
    activation: ActivationLike = IDENTITY,
) -> Trajectory:
    r"""Return the flow with the softmax to first order, :math:`p \approx u + (o - \bar o)/d` (rung 3).

    With B = W_emb W1 W2 and :math:`\bar B` = (B − its row means)/d,
    :math:`\dot W_{emb} = (C - S\bar B)(W_1 W_2)^\top` and likewise for W1 and W2: the gradient flow of
    :math:`-\langle C, B\rangle + \tfrac12 \langle \bar B, S B\rangle`. The cost does not depend on the
    number of sequences.

    Parameters
    ----------
    C, initial, times, keep, population, activation
        As in ``frozen_flow``.
    S : array_like, shape (d, d)
        E[cᵀc]: ``expected_cooccurrence`` of a task, ``cooccurrence_matrix`` of a sample or that of a
        ``CountPopulation``; from the same distribution as C.
    weight_decay : float, optional
        λ of plain gradient descent: λθ is added to the gradient.
    solver : Solver, optional
        Integrator and tolerances.

    Raises
    ------
    InputError
        If shapes disagree, S is not symmetric, or the times are negative or unsorted.
    IntegrationError
        If the integrator fails.
    """
    label, token = check_statistic("C", C, initial), check_cooccurrence(S, initial)
    checked = check_times(times)
    losses = loss_function(population, initial, activation)
    recorder = Recorder(keep, losses, (EMBEDDING_BALANCE, HIDDEN_BALANCE), weight_decay)
    field = product_field(lambda B: linearised_drive(label, token, B))
    return integrate("linearised_flow", decaying(field, weight_decay), initial, checked, solver, recorder)


def linearised_drive(C: FloatArray, S: FloatArray, B: FloatArray) -> FloatArray:
    r"""Return :math:`C - S\bar B`, the part of the labels that B has not fitted yet, shape (d, d)."""
    return np.asarray(C - S @ (B - B.mean(axis=1, keepdims=True)) / len(B))


def check_cooccurrence(S: npt.ArrayLike, initial: EmbMLPParameters) -> FloatArray:
    """Return S as float64, or refuse one that is not a symmetric (d, d) matrix."""
    checked = check_statistic("S", S, initial)
    if not np.allclose(checked, checked.T, rtol=1e-9, atol=1e-12):
        raise InputError("S", "a matrix", "not symmetric", "give E[c^T c], e.g. expected_cooccurrence(task)")
    return checked
