r"""The second rung: all three matrices move while the softmax stays uniform.

Driven by C alone, the flow conserves :math:`W_{emb}^\top W_{emb} - W_1 W_1^\top` and
:math:`W_1^\top W_1 - W_2 W_2^\top` and leaves every bound in finite time.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from scipy.special import elliprf

from theory.arrays import ArrayLike, FloatArray, Real
from theory.checked import Decay, checked
from theory.flows.activation import IDENTITY, ActivationLike
from theory.flows.gradient import loss_function
from theory.flows.parameters import EmbMLPParameters, Matrices, check_statistic
from theory.integrate.solve import EXACT, Field, Solver, decaying, integrate
from theory.integrate.trajectory import EMBEDDING_BALANCE, HIDDEN_BALANCE, Recorder, Trajectory, check_times
from theory.labels.counts import CountPopulation


@checked
def coupled_flow(
    C: Real[ArrayLike, "d d"],
    initial: EmbMLPParameters,
    times: Real[ArrayLike, "*n_times"],
    *,
    weight_decay: Decay = 0.0,
    solver: Solver = EXACT,
    keep: Sequence[str] = ("W_emb",),
    population: CountPopulation | None = None,
    activation: ActivationLike = IDENTITY,
) -> Trajectory:
    r"""Return the flow of all three matrices under a uniform softmax (rung 2).

    :math:`\dot W_{emb} = C W_2^\top W_1^\top,\; \dot W_1 = W_{emb}^\top C W_2^\top,\;
    \dot W_2 = W_1^\top W_{emb}^\top C`. A larger initialisation only runs faster: θ(t) started from εθ
    is ε times the flow from θ at the time εt. Under weight decay λ it is the same flow once more,
    :math:`e^{-\lambda t}\theta(T)` at the time :math:`T = (1 - e^{-\lambda t})/\lambda`, which never passes
    1/λ: if the flow without decay blows up later than that, the one with decay ends at zero.

    Parameters
    ----------
    C, initial, times, keep, population, activation
        As in ``frozen_flow``.
    weight_decay : float, optional
        λ of plain gradient descent: λθ is added to the gradient.
    solver : Solver, optional
        Integrator and tolerances.

    Returns
    -------
    Trajectory
        If the flow blows up before the last time, it ends there: ``blow_up`` holds that time, and later
        times are dropped.

    Raises
    ------
    InputError
        If shapes disagree or the times are negative or unsorted.
    IntegrationError
        If the integrator fails.
    """
    matrix = check_statistic("C", C, initial)
    checked = check_times(times)
    losses = loss_function(population, initial, activation)
    recorder = Recorder(keep, losses, (EMBEDDING_BALANCE, HIDDEN_BALANCE), weight_decay)
    field = product_field(lambda _: matrix)
    return integrate(
        "coupled_flow", decaying(field, weight_decay), initial, checked, solver, recorder, may_blow_up=True
    )


def product_field(drive: Callable[[FloatArray], FloatArray]) -> Field:
    r"""Return the vector field of a product of three matrices, given :math:`M(B) = -\partial L/\partial B`.

    B = W_emb W1 W2, and M has shape (d, d): E[cᵀ(y − p)] with p the rung's model of the softmax.
    """

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
    Under weight decay λ the bound T becomes :math:`-\ln(1 - \lambda T)/\lambda`, infinite from λ = 1/T on.

    Parameters
    ----------
    C : array_like, shape (d, d)
        The token-label matrix.
    initial : EmbMLPParameters
    weight_decay : float, optional
        λ.

    Returns
    -------
    float
        Infinite if C is zero or two of the matrices are, as nothing grows then.

    Notes
    -----
    The norms obey :math:`\dot a \le s b c` and so on, and the system with equality conserves
    a² − b² and b² − c². Writing x for the common growth of the three squares gives
    :math:`\dot x = 2 s \sqrt{(a^2 + x)(b^2 + x)(c^2 + x)}`, whose blow-up time is the integral.
    """
    largest = float(np.linalg.norm(check_statistic("C", C, initial), 2))
    a, b, c = (float(np.linalg.norm(m, 2)) ** 2 for m in initial.matrices)
    if largest == 0 or (a == 0) + (b == 0) + (c == 0) > 1:
        return float("inf")
    bound = float(elliprf(a, b, c)) / largest
    if weight_decay == 0:
        return bound
    return float(-np.log1p(-weight_decay * bound) / weight_decay) if weight_decay * bound < 1 else np.inf
