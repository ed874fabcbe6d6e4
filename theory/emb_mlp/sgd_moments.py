r"""Mean and covariance of SGD on batches to first order in the learning rate, on rungs 2 and 3.

A step is :math:`\theta + \eta(F(\theta) + \xi)` with F = −∇L and :math:`\Sigma = \operatorname{Cov} \xi`, the
covariance of one sequence's gradient over the batch size; batches are drawn independently. Let J = F'. With
time in units of Σ learning rate the covariance P and the mean's distance δ from the flow obey

.. math::
    \dot P = JP + PJ^\top + \eta\Sigma, \qquad
    \dot\delta = J\delta + \tfrac12 F''[P] - \tfrac{\eta}{2} JF.

The last term is Euler's: :math:`-\frac\eta2 JF = -\frac\eta4 \nabla|\nabla L|^2`. The one before it is Itô's:
noise samples the curvature of the drift, and P is of order η/b. What is left out is of order η².
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

import numpy as np
from scipy.integrate import solve_ivp

from theory.arrays import ArrayLike, Float64, FloatArray, Real
from theory.checked import Positive, Size, checked
from theory.emb_mlp.gradient import check_population
from theory.emb_mlp.parameters import EmbMLPParameters, Matrices
from theory.errors import InputError, IntegrationError
from theory.integrate.trajectory import check_times
from theory.statistics.counts import CountPopulation

Rung = Literal["coupled", "linearised"]
_MOST_PARAMETERS = 1000
"""P has the square of this many entries, and each derivative takes as many fields."""
_MOST_PAIRS = 20_000
_FAR = 100.0
"""Weights this many times their start are taken to blow up."""
Velocity = Callable[[float, FloatArray], FloatArray]


@dataclass(frozen=True)
class SGDMoments:
    """Mean and covariance of all weights along SGD, packed in the order W_emb, W1, W2.

    Attributes
    ----------
    times : ndarray, shape (n_times,)
        Σ learning rate.
    flow : ndarray, shape (n_times, n)
        The flow without noise, in steps of no length.
    shift : ndarray, shape (n_times, n)
        δ: what is to be added to the flow for SGD's mean.
    covariance : ndarray, shape (n_times, n, n)
        P.
    """

    times: Float64[FloatArray, " n_times"]
    flow: Float64[FloatArray, "n_times n"]
    shift: Float64[FloatArray, "n_times n"]
    covariance: Float64[FloatArray, "n_times n n"]


@checked
def sgd_moments(
    population: CountPopulation,
    initial: EmbMLPParameters,
    times: Real[ArrayLike, "*n_times"],
    *,
    rate: Positive,
    batch_size: Size,
    rung: Rung = "linearised",
) -> SGDMoments:
    r"""Return the mean and the covariance of SGD on batches, to first order in its learning rate.

    Parameters
    ----------
    population : CountPopulation
        Of a small task.
    initial : EmbMLPParameters
        Where every run starts; at most a thousand weights in all.
    times : array_like, shape (n_times,)
        Non-negative and increasing; in units of Σ learning rate.
    rate : float
        η.
    batch_size : int
        b; batches are drawn independently of each other.
    rung : {"coupled", "linearised"}, optional
        p ≡ u, or the softmax to first order about it.

    Raises
    ------
    InputError
        If vocabularies disagree, times are unsorted, or there are too many weights or sequences.
    IntegrationError
        If the integrator fails, as it does where the coupled flow blows up.
    """
    check_population(population, initial)
    checked = check_times(times)
    _check_size(initial, population)
    model = _Stacked(population, initial, rung)
    start = initial.matrices.packed()
    n = len(start)

    def velocity(_: float, y: FloatArray) -> FloatArray:
        theta, delta, P = y[:n], y[n : 2 * n], y[2 * n :].reshape(n, n)
        F, J = model.field(theta[None])[0], model.jacobian(theta)
        drift = J @ (delta - rate / 2 * F) + model.curvature(theta, P) / 2
        spread = J @ P
        spread = spread + spread.T + rate / batch_size * model.covariance(theta)
        return np.concatenate([F, drift, spread.ravel()])

    y0 = np.concatenate([start, np.zeros(n + n * n)])
    # SciPy wants each time once and some time to pass.
    distinct, which = np.unique(checked, return_inverse=True)
    values = y0[None]
    if distinct[-1] > 0:
        values = _solve(velocity, y0, distinct, float(np.linalg.norm(start)), n).T
    values = values[which]
    return SGDMoments(checked, values[:, :n], values[:, n : 2 * n], values[:, 2 * n :].reshape(-1, n, n))


def _solve(velocity: Velocity, y0: FloatArray, times: FloatArray, size: float, n: int) -> FloatArray:
    """Return the solution, one column for each time, or say where it ends: the coupled flow may blow up."""

    def far(_: float, y: FloatArray) -> float:
        return _FAR * size - float(np.linalg.norm(y[:n]))

    far.terminal = True  # type: ignore[attr-defined]
    atol = 1e-7 * size / np.sqrt(n)
    with np.errstate(over="ignore", invalid="ignore"):
        found = solve_ivp(velocity, (0.0, times[-1]), y0, t_eval=times, events=far, rtol=1e-5, atol=atol)
    if found.status != 0 or not np.isfinite(found.y).all():
        reached = float(found.t_events[0][0]) if found.status == 1 and found.t_events else 0.0
        problem = "the weights leave every bound."
        raise IntegrationError("sgd_moments", problem, reached, "Ask for earlier times")
    return np.asarray(found.y)


def _check_size(initial: EmbMLPParameters, population: CountPopulation) -> None:
    size = initial.matrices.packed().size
    if size > _MOST_PARAMETERS:
        problem, remedy = f"has {size} weights", f"give at most {_MOST_PARAMETERS}, a small model"
        raise InputError("initial", "a model", problem, remedy)
    pairs = int(np.count_nonzero(population.label_distributions))
    if pairs > _MOST_PAIRS:
        problem, remedy = "are too many pairs of counts and label", "give a smaller task"
        raise InputError("population", pairs, problem, remedy)


class _Stacked:
    """The rung's field at many weights at once, its derivatives and one sequence's covariance."""

    def __init__(self, population: CountPopulation, initial: EmbMLPParameters, rung: Rung) -> None:
        self._initial, self._live = initial, rung == "linearised"
        self._C, self._S = population.token_label_matrix(), population.cooccurrence()
        i, j = np.nonzero(population.weights)
        row, self._labels = np.nonzero(population.label_distributions[i, j])
        i, j = i[row], j[row]
        self._counts = population.left[i] + population.right[j]
        self._shares = population.weights[i, j] * population.label_distributions[i, j, self._labels]

    def _matrices(self, vectors: FloatArray) -> Matrices:
        cuts = np.cumsum([m.size for m in self._initial.matrices])[:-1]
        parts = zip(np.split(vectors, cuts, axis=1), self._initial.matrices, strict=True)
        return Matrices(*(part.reshape(-1, *m.shape) for part, m in parts))

    def field(self, vectors: FloatArray) -> FloatArray:
        """Return F at every row of weights, shape (k, n)."""
        now = self._matrices(vectors)
        drive = np.broadcast_to(self._C, (len(vectors), *self._C.shape))
        if self._live:
            B = now.W_emb @ now.W1 @ now.W2
            drive = drive - self._S @ (B - B.mean(axis=2, keepdims=True)) / len(self._S)
        return _pulled_back(now, drive)

    def jacobian(self, theta: FloatArray) -> FloatArray:
        """Return F' by central differences, exact for the coupled rung's quadratic field."""
        step = 1e-4 * float(np.sqrt(np.mean(theta**2)))
        moves = step * np.eye(len(theta))
        return np.asarray((self.field(theta + moves) - self.field(theta - moves)).T / (2 * step))

    def curvature(self, theta: FloatArray, P: FloatArray) -> FloatArray:
        """Return F''[P] by second differences along P's principal axes."""
        values, axes = np.linalg.eigh(P)
        if values[-1] <= 0:
            return np.zeros_like(theta)
        kept = values > 1e-9 * values[-1]
        step = 1e-2 * float(np.linalg.norm(theta))
        moves = step * axes[:, kept].T
        bent = self.field(theta + moves) + self.field(theta - moves) - 2 * self.field(theta[None])
        return np.asarray(values[kept] @ bent / step**2)

    def covariance(self, theta: FloatArray) -> FloatArray:
        """Return the covariance of one sequence's gradient, shape (n, n)."""
        now = self._matrices(theta[None])
        d = len(self._S)
        p = np.full((len(self._counts), d), 1 / d)
        if self._live:
            logits = self._counts @ (now.W_emb @ now.W1 @ now.W2)[0]
            p += (logits - logits.mean(axis=1, keepdims=True)) / d
        residual = -p
        residual[np.arange(len(p)), self._labels] += 1
        gradients = _pulled_back(now, self._counts[:, :, None] * residual[:, None])
        mean = self._shares @ gradients
        return np.asarray((self._shares[:, None] * gradients).T @ gradients - np.outer(mean, mean))


def _pulled_back(now: Matrices, drive: FloatArray) -> FloatArray:
    """Return the velocities of the three matrices for M = −∂L/∂B, packed, shape (k, n)."""
    W_emb, W1, W2 = (np.swapaxes(m, 1, 2) for m in now)
    backward = W_emb @ drive
    parts = drive @ (W2 @ W1), backward @ W2, W1 @ backward
    return np.concatenate([part.reshape(len(drive), -1) for part in parts], axis=1)
