r"""Mean and covariance of SGD on batches to first order in the learning rate, on rungs 2 and 3.

A step is :math:`\theta + \eta(F(\theta) + \xi)` with F = −∇L and :math:`\Sigma = \operatorname{Cov} \xi`, the
covariance of one sequence's gradient over the batch size; batches are drawn independently. Let J = F'. With
time in units of Σ learning rate the covariance P and the mean's distance δ from the flow obey

.. math::
    \dot P = JP + PJ^\top + \eta\Sigma, \qquad
    \dot\delta = J\delta + \tfrac12 F''[P] - \tfrac{\eta}{2} JF.

The last term is Euler's: :math:`-\frac\eta2 JF = -\frac\eta4 \nabla|\nabla L|^2`. The one before it is Itô's:
noise samples the curvature of the drift, and P is of order η/b. What is left out is of order η².

Batches of a reshuffled epoch of length T add up to all n sequences, so that each sequence's noise is a
Brownian bridge. Let F_i be the descent direction of sequence i and M_i how far its noise, at rate one, has
moved the weights since the epoch began: :math:`\dot M_i = JM_i + F_i - F`. The bridge takes from P, and a
batch's correlation with those before it in its epoch adds to δ:

.. math::
    P = A - \frac{\eta s}{T}\, E\,M_i M_i^\top, \quad
    \dot A = JA + AJ^\top + \eta s\, \Sigma_1, \qquad
    \dot\delta = \dots - \frac{\eta c}{T}\, E\,F_i' M_i,

with Σ_1 that of one sequence, :math:`s = \frac1b\frac{n}{n-1}` and :math:`c = \frac1b\frac{n-b}{n-1}`. At an
epoch's end A becomes P, and M zero. For short epochs the new term is
:math:`-\frac{\eta c}4\nabla E|\nabla L_i - \nabla L|^2`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy.integrate import solve_ivp

from theory.arrays import ArrayLike, Float64, FloatArray, Real
from theory.checked import Positive, Size, checked
from theory.display import Shown, spread
from theory.errors import InputError, IntegrationError
from theory.flows.batch_noise import Batching
from theory.flows.gradient import check_population
from theory.flows.parameters import EmbMLPParameters
from theory.flows.stacked_fields import Rung, StackedFields
from theory.integrate.trajectory import check_times
from theory.labels.counts import CountPopulation

_MOST_PARAMETERS = 1000
"""P has the square of this many entries, and each derivative takes as many fields."""
_MOST_PAIRS = 20_000
_FAR = 100.0
"""Weights this many times their start are taken to blow up."""
Velocity = Callable[[float, FloatArray], FloatArray]


@dataclass(frozen=True, repr=False)
class SGDMoments(Shown):
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

    def _shown(self) -> tuple[str, list[str], list[list[str]]]:
        rows = [
            [
                f"{self.times[i]:.4g}",
                f"{np.linalg.norm(self.flow[i]):.4g}",
                f"{np.linalg.norm(self.shift[i]):.4g}",
                f"{np.trace(self.covariance[i]):.4g}",
            ]
            for i in spread(len(self.times))
        ]
        title = f"{self.flow.shape[1]} weights at {len(self.times)} times up to {self.times[-1]:g}"
        return title, ["time", "‖flow‖", "‖shift‖", "trace of the covariance"], rows


@checked
def sgd_moments(
    population: CountPopulation,
    initial: EmbMLPParameters,
    times: Real[ArrayLike, "*n_times"],
    *,
    rate: Positive,
    batch_size: Size,
    n_sequences: Size | None = None,
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
        b.
    n_sequences : int, optional
        n, how many sequences an epoch draws without replacement; None draws every batch independently.
        A multiple of the batch size, or the variance is a little too small.
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
    start = initial.matrices.packed()
    noise = _Noise.of(rate, Batching(batch_size, n_sequences))
    course = _Course(StackedFields(population, initial, rung), rate, noise, len(start))
    # SciPy wants each time once.
    distinct, which = np.unique(checked, return_inverse=True)
    values = course.follow(start, distinct)[which]
    n = len(start)
    return SGDMoments(checked, values[:, :n], values[:, n : 2 * n], values[:, 2 * n :].reshape(-1, n, n))


@dataclass(frozen=True)
class _Noise:
    """ηs, ηc and the length T of an epoch; T is infinite for independent batches."""

    free: float
    drawn: float
    epoch: float

    @classmethod
    def of(cls, rate: float, batching: Batching) -> _Noise:
        K = batching.per_epoch
        epoch = np.inf if K is None else K * rate
        return cls(rate * batching.independent_factor, rate * batching.factor, epoch)


class _Course:
    """Flow, shift and covariance in time: independent batches throughout, or one epoch after another.

    The state is θ, δ, A and, where epochs are reshuffled, every sequence's M.
    """

    def __init__(self, model: StackedFields, rate: float, noise: _Noise, n: int) -> None:
        self._model, self._rate, self._noise, self._n = model, rate, noise, n
        self._bridged = bool(np.isfinite(noise.epoch))
        self._moved = (n, model.n_pairs if self._bridged else 0)

    def follow(self, start: FloatArray, times: FloatArray) -> FloatArray:
        """Return θ, δ and P at increasing times, shape (n_times, 2n + n²)."""
        n, size, begin = self._n, float(np.linalg.norm(start)), 0.0
        y = np.concatenate([start, np.zeros(n + n * n + n * self._moved[1])])
        found: list[FloatArray] = []
        while len(found) < len(times):
            end = min(begin + self._noise.epoch, times[-1])
            inside = times[len(found) :][times[len(found) :] <= end * (1 + 1e-12)]
            stops = np.unique([*np.minimum(inside, end), end])
            states = _solve(self._velocity, y, begin, stops, size, n)
            found += [self._observed(states[np.searchsorted(stops, min(t, end))]) for t in inside]
            y, begin = self._next_epoch(states[-1]), end
        return np.array(found)

    def _covariance(self, y: FloatArray) -> FloatArray:
        n = self._n
        A, M = y[2 * n : 2 * n + n * n].reshape(n, n), self._moves(y)
        return A - self._noise.free / self._noise.epoch * M @ M.T

    def _moves(self, y: FloatArray) -> FloatArray:
        """Return every M_i, times the root of its share, shape (n, n_pairs)."""
        return y[2 * self._n + self._n**2 :].reshape(self._moved)

    def _observed(self, y: FloatArray) -> FloatArray:
        return np.concatenate([y[: 2 * self._n], self._covariance(y).ravel()])

    def _next_epoch(self, y: FloatArray) -> FloatArray:
        return np.concatenate([self._observed(y), np.zeros(self._moves(y).size)])

    def _velocity(self, _: float, y: FloatArray) -> FloatArray:
        n, model = self._n, self._model
        theta, delta, A, M = y[:n], y[n : 2 * n], y[2 * n : 2 * n + n * n].reshape(n, n), self._moves(y)
        F, J = model.field(theta[None])[0], model.jacobian(theta)
        drift = J @ (delta - self._rate / 2 * F) + model.curvature(theta, self._covariance(y)) / 2
        spread = J @ A
        spread = spread + spread.T + self._noise.free * model.covariance(theta)
        if self._bridged:
            drift -= self._noise.drawn / self._noise.epoch * model.turned(theta, M)
            M = J @ M + model.deviations(theta)
        return np.concatenate([F, drift, spread.ravel(), M.ravel()])


def _solve(
    velocity: Velocity, y0: FloatArray, begin: float, times: FloatArray, size: float, n: int
) -> FloatArray:
    """Return the solution, one row for each time, or say where it ends: the coupled flow may blow up."""

    def far(_: float, y: FloatArray) -> float:
        return _FAR * size - float(np.linalg.norm(y[:n]))

    if times[-1] <= begin:
        return np.tile(y0, (len(times), 1))
    far.terminal = True  # type: ignore[attr-defined]
    atol = 1e-7 * size / np.sqrt(n)
    with np.errstate(over="ignore", invalid="ignore"):
        found = solve_ivp(velocity, (begin, times[-1]), y0, t_eval=times, events=far, rtol=1e-5, atol=atol)
    if found.status != 0 or not np.isfinite(found.y).all():
        reached = float(found.t_events[0][0]) if found.status == 1 and found.t_events else begin
        problem = "the weights leave every bound."
        raise IntegrationError("sgd_moments", problem, reached, "Ask for earlier times")
    return np.asarray(found.y.T)


def _check_size(initial: EmbMLPParameters, population: CountPopulation) -> None:
    size = initial.matrices.packed().size
    if size > _MOST_PARAMETERS:
        problem, remedy = f"has {size} weights", f"give at most {_MOST_PARAMETERS}, a small model"
        raise InputError("initial", "a model", problem, remedy)
    pairs = int(np.count_nonzero(population.label_distributions))
    if pairs > _MOST_PAIRS:
        problem, remedy = "are too many pairs of counts and label", "give a smaller task"
        raise InputError("population", pairs, problem, remedy)
