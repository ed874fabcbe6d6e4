r"""The ladder of gradient flows, each rung dropping one assumption of the one below it.

Vectors are rows throughout; row s of B = W_emb W1 W2 is what token s adds to the logits to leading order. A
rung is a model of the descent direction :math:`M = -\partial L/\partial B = E[c^\top(y - p)]`, shape (d, d):

==============  =================================================  =======================================
rung            M                                                  what moves
==============  =================================================  =======================================
1 `frozen`      C: the softmax stays uniform                       the embedding alone (eq. 5)
2 `coupled`     C                                                  all three matrices
3 `linearised`  :math:`C - S\bar B`, p to first order about u      all three matrices
4 `population`  exact, and for any σ the exact gradient (Lemma 2)  all three matrices
==============  =================================================  =======================================
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import numpy.typing as npt
from scipy.special import elliprf

from theory.edge.arrays import ArrayLike, Float64, FloatArray, Real
from theory.edge.checked import Decay, checked
from theory.edge.errors import InputError
from theory.flows.gradient import losses, population_field, token_gradient
from theory.flows.network import IDENTITY, ActivationLike, EmbMLPParameters, as_activation, check_statistic
from theory.integrate.solve import EXACT, STABILISED, Field, Solver, integrate
from theory.integrate.trajectory import Matrices, Recorder, SolverStatistics, Trajectory, check_times
from theory.labels.counts import CountPopulation


@checked
def frozen_flow(
    C: Real[ArrayLike, "d d"],
    initial: EmbMLPParameters,
    times: Real[ArrayLike, "*n_times"],
    *,
    weight_decay: Decay = 0.0,
    keep: Sequence[str] = ("W_emb",),
) -> Trajectory:
    r"""Return :math:`w_s(t) = w_s(0) + t\, r_s (P^s - u) W_2^\top W_1^\top` (eq. 5, rung 1).

    Only the embedding moves, the softmax stays uniform and σ'(0) = 1: this is the closed form to leading
    order in the initial scale. Under weight decay λ the embedding is
    :math:`e^{-\lambda t} w_s(0) + \frac{1 - e^{-\lambda t}}{\lambda}\, r_s (P^s - u) W_2^\top W_1^\top`.

    Parameters
    ----------
    C : array_like, shape (d, d)
        The token-label matrix, row s being r_s (P^s − u): ``expected_token_label_matrix`` of a task,
        ``token_label_matrix`` of a sample or of a ``CountPopulation``.
    initial : EmbMLPParameters
        The matrices at t = 0.
    times : array_like, shape (n_times,)
        Non-negative and increasing; in units of Σ learning rate.
    weight_decay : float, optional
        λ of plain gradient descent: λθ is added to the gradient.
    keep : sequence of str, optional
        Which matrices the trajectory keeps: "W_emb", "W1", "W2", "B" (their product).
    """
    checked_times, drive = check_times(times), frozen_direction(C, initial)
    recorder = Recorder(initial.matrices, keep)
    for t in checked_times:
        driven = -np.expm1(-weight_decay * t) / weight_decay if weight_decay > 0 else t
        W_emb = np.exp(-weight_decay * t) * initial.W_emb + driven * drive
        recorder.add(Matrices(W_emb, initial.W1, initial.W2))
    return recorder.trajectory(checked_times, SolverStatistics("closed form"))


@checked
def frozen_direction(C: Real[ArrayLike, "d d"], initial: EmbMLPParameters) -> Float64[FloatArray, "d d_m"]:
    """Return dW_emb/dt of the frozen flow, C W2ᵀ W1ᵀ, shape (d, d_m)."""
    return check_statistic("C", C, initial) @ initial.W2.T @ initial.W1.T


@checked
def coupled_flow(
    C: Real[ArrayLike, "d d"],
    initial: EmbMLPParameters,
    times: Real[ArrayLike, "*n_times"],
    *,
    weight_decay: Decay = 0.0,
    solver: Solver = EXACT,
    keep: Sequence[str] = ("W_emb",),
) -> Trajectory:
    r"""Return the flow of all three matrices under a uniform softmax (rung 2).

    :math:`\dot W_{emb} = C W_2^\top W_1^\top,\; \dot W_1 = W_{emb}^\top C W_2^\top,\;
    \dot W_2 = W_1^\top W_{emb}^\top C`. It conserves :math:`W_{emb}^\top W_{emb} - W_1 W_1^\top` and
    :math:`W_1^\top W_1 - W_2 W_2^\top` and leaves every bound in finite time. A larger initialisation only
    runs faster: at time t the flow from εθ is ε times the flow from θ at time εt. Under weight decay λ it is
    again the same flow, :math:`e^{-\lambda t}\theta(T)` with :math:`T = (1 - e^{-\lambda t})/\lambda`. As T
    never passes 1/λ, the flow with decay ends at zero if the one without decay blows up later than that.

    Parameters
    ----------
    C, initial, times, weight_decay, keep
        As in ``frozen_flow``.
    solver : Solver, optional
        Integrator and tolerances.

    Returns
    -------
    Trajectory
        If the flow blows up before the last time, it ends there: ``blow_up`` holds that time, and later
        times are dropped.
    """
    matrix, recorder = check_statistic("C", C, initial), Recorder(initial.matrices, keep)
    field, flow = product_field(lambda _: matrix), "coupled_flow"
    return integrate(flow, field, check_times(times), solver, recorder, weight_decay, may_blow_up=True)


def product_field(drive: Callable[[FloatArray], FloatArray]) -> Field:
    r"""Return the vector field of a product of three matrices, given M(B) = −∂L/∂B."""

    def field(now: Matrices) -> Matrices:
        readout = now.W1 @ now.W2
        M = drive(now.W_emb @ readout)
        backward = now.W_emb.T @ M
        return Matrices(M @ readout.T, backward @ now.W2.T, now.W1.T @ backward)

    return field


@checked
def blow_up_bound(
    C: Real[ArrayLike, "d d"], initial: EmbMLPParameters, *, weight_decay: Decay = 0.0
) -> float:
    r"""Return the time before which ``coupled_flow`` cannot blow up, from C's spectrum in closed form.

    With s the largest singular value of C and a, b, c the spectral norms of the three matrices,
    :math:`t^* \ge R_F(a^2, b^2, c^2)/s`, where R_F is Carlson's symmetric elliptic integral; for
    a = b = c this is 1/(sa). Equality holds if the matrices lie along C's top singular pair, with signs that
    let it grow. [derived]
    Under weight decay λ the bound T becomes :math:`-\ln(1 - \lambda T)/\lambda`, infinite from λ = 1/T on;
    it is also infinite if C or two of the matrices are zero, since nothing grows then.

    Parameters
    ----------
    C, initial, weight_decay
        As in ``frozen_flow``.

    Notes
    -----
    The norms obey :math:`\dot a \le s b c` and so on, and the system with equality conserves
    a² − b² and b² − c². Writing x for the common growth of the three squares gives
    :math:`\dot x = 2 s \sqrt{(a^2 + x)(b^2 + x)(c^2 + x)}`, whose blow-up time is the integral.
    """
    largest = float(np.linalg.norm(check_statistic("C", C, initial), 2))
    a, b, c = (float(np.linalg.norm(m, 2)) for m in initial.matrices)
    if largest == 0 or (a == 0) + (b == 0) + (c == 0) > 1:
        return float("inf")
    top = max(a, b, c)  # Taken out, so that no square leaves the range of floats.
    bound = float(elliprf((a / top) ** 2, (b / top) ** 2, (c / top) ** 2)) / top / largest
    if weight_decay == 0:
        return bound
    return float(-np.log1p(-weight_decay * bound) / weight_decay) if weight_decay * bound < 1 else np.inf


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
) -> Trajectory:
    r"""Return the flow with the softmax to first order, :math:`p \approx u + (o - \bar o)/d` (rung 3).

    With :math:`\bar B` = (B − its row means)/d, :math:`\dot W_{emb} = (C - S\bar B)(W_1 W_2)^\top` and
    likewise for W1 and W2: the gradient flow of
    :math:`-\langle C, B\rangle + \tfrac12 \langle \bar B, S B\rangle`. The cost does not depend on the number
    of sequences.

    Parameters
    ----------
    C, initial, times, weight_decay, solver, keep
        As in ``coupled_flow``.
    S : array_like, shape (d, d)
        E[cᵀc]: ``expected_cooccurrence`` of a task, ``cooccurrence_matrix`` of a sample, or
        ``CountPopulation.cooccurrence``; from the same distribution as C.
    """
    label, token = check_statistic("C", C, initial), check_cooccurrence(S, initial)
    recorder = Recorder(initial.matrices, keep)
    field = product_field(lambda B: linearised_drive(label, token, B))
    return integrate("linearised_flow", field, check_times(times), solver, recorder, weight_decay)


def linearised_drive(C: FloatArray, S: FloatArray, B: FloatArray) -> FloatArray:
    r"""Return :math:`C - S\bar B`, the part of the labels that B has not fitted yet, shape (d, d)."""
    return np.asarray(C - S @ (B - B.mean(axis=1, keepdims=True)) / len(B))


def check_cooccurrence(S: npt.ArrayLike, initial: EmbMLPParameters) -> FloatArray:
    """Return S as float64, or refuse one that is not a symmetric (d, d) matrix."""
    matrix = check_statistic("S", S, initial)
    if not np.allclose(matrix, matrix.T, rtol=1e-9, atol=1e-12):
        raise InputError("S", "a matrix", "not symmetric", "give E[c^T c], e.g. expected_cooccurrence(task)")
    return matrix


@checked
def population_flow(
    population: CountPopulation,
    initial: EmbMLPParameters,
    times: Real[ArrayLike, "*n_times"],
    *,
    activation: ActivationLike = IDENTITY,
    weight_decay: Decay = 0.0,
    solver: Solver = STABILISED,
    keep: Sequence[str] = ("W_emb",),
) -> Trajectory:
    r"""Return the exact gradient flow of the mean cross entropy over a population (rung 4, Lemma 2).

    Parameters
    ----------
    population : CountPopulation
        ``count_population`` of a task.
    activation : Activation or str, optional
        σ; with the identity a far cheaper, equally exact form of the gradient is used.
    initial, times, weight_decay, solver, keep
        As in ``coupled_flow``.

    Returns
    -------
    Trajectory
        With the losses of all the population's data sets. W_embᵀW_emb − W1W1ᵀ is conserved for every σ,
        W1ᵀW1 − W2W2ᵀ for the identity only.
    """
    sigma = as_activation(activation)
    if population.vocab_size != len(initial.W_emb):
        problem = f"does not fit an embedding of {len(initial.W_emb)} tokens"
        remedy = "give both the same vocabulary"
        raise InputError("population", f"{population.vocab_size} tokens", problem, remedy)
    if sigma.is_linear:
        field = product_field(lambda B: token_gradient(population, B))
    else:
        field = population_field(population, sigma)
    recorder = Recorder(initial.matrices, keep, lambda now: losses(population, now, sigma))
    return integrate("population_flow", field, check_times(times), solver, recorder, weight_decay)
