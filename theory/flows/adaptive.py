r"""AdamW in continuous time: the moments average over the past, and the weights follow their quotient.

Time τ counts steps. With :math:`\lambda_i = -\ln\beta_i` the bias-corrected moments obey

.. math::
    \dot m = \frac{\lambda_1}{1 - \beta_1^\tau} (\bar g - m), \qquad
    \dot v = \frac{\lambda_2}{1 - \beta_2^\tau} (E\hat g^2 - v), \qquad
    \dot\theta = -\eta\Big(\frac{m}{\sqrt v + \epsilon} + \lambda\theta\Big),

starting from m = ḡ and v = E ĝ². Between two gradients m and v relax in closed form, so that the step length
is set by how fast the gradient changes, not by the ten steps over which m averages.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated

import numpy as np

from theory.edge.arrays import ArrayLike, FloatArray, Real
from theory.edge.checked import Between, Size, checked
from theory.edge.errors import InputError, IntegrationError
from theory.flows.adam_steps import ALL, MOST_STEPS, Matrix
from theory.flows.batches import EMBEDDING_LIMIT, AdamSettings, BatchGradient, Batching, Softmax, warn_outside
from theory.flows.gradient import loss_function
from theory.flows.network import IDENTITY, ActivationLike, EmbMLPParameters, as_activation
from theory.integrate.trajectory import Matrices, Recorder, SolverStatistics, Trajectory, check_times
from theory.labels.counts import CountPopulation

_MOST_STRETCHES = 1_000_000
_LONGEST = 0.1
"""No stretch is longer than this share of v's memory 1/(1 − β2), the time over which v may change."""


@checked
def adaptive_flow(
    population: CountPopulation,
    initial: EmbMLPParameters,
    times: Real[ArrayLike, "*n_times"],
    settings: AdamSettings,
    *,
    batch_size: Size | None = None,
    n_sequences: Size | None = None,
    activation: ActivationLike = IDENTITY,
    softmax: Softmax = "live",
    moving: Sequence[Matrix] = ALL,
    rtol: Annotated[float, Between(1e-8, 0.1)] = 1e-3,
    noise_every: Size = 50,
    keep: Sequence[str] = ("W_emb",),
) -> Trajectory:
    r"""Return AdamW's flow on a population: ``adam_steps`` in continuous time, with far fewer gradients.

    Parameters
    ----------
    population, initial, settings, batch_size, n_sequences, activation, softmax, moving, noise_every, keep
        As in ``adam_steps``.
    times : array_like, shape (n_times,)
        Non-negative and increasing; in units of Σ learning rate, so that step k is at k · rate.
    rtol : float, optional
        Error allowed in a stretch, relative to the root mean square of each matrix.

    Raises
    ------
    InputError
        If vocabularies disagree, the times are negative or unsorted, or a batch exceeds ``n_sequences``.
    IntegrationError
        If the weights overflow or a million stretches do not reach the last time.

    Warns
    -----
    OutsideValidityWarning
        If batches are too small for the rate.
    """
    checked_times = check_times(times)
    if checked_times[-1] / settings.rate > MOST_STEPS:
        last, remedy = float(checked_times[-1]), f"stay below {MOST_STEPS} · rate"
        raise InputError("times", last, "would take months", remedy)
    batching, sigma = Batching(batch_size, n_sequences), as_activation(activation)
    warn_outside(settings, batching, EMBEDDING_LIMIT)
    recorder = Recorder(initial.matrices, keep, loss_function(population, initial, sigma), ())
    gradient = BatchGradient(population, batching, sigma, softmax, noise_every)
    with np.errstate(over="ignore", invalid="ignore"):
        flow = _Flow(gradient, initial, settings, [name in moving for name in ALL], rtol)
        for t in checked_times:
            flow.advance(float(t) / settings.rate)
            recorder.add(Matrices(*flow.state.weights))
    statistics = SolverStatistics("exponential Heun", flow.n_steps, flow.n_evaluations, rtol)
    return recorder.trajectory(checked_times, statistics)


@dataclass(frozen=True)
class _State:
    """The weights and moments of the three matrices."""

    weights: list[FloatArray]
    first: list[FloatArray]
    second: list[FloatArray]


class _Flow:
    """The flow's state, and its integration from one time to the next."""

    def __init__(
        self,
        gradient: BatchGradient,
        initial: EmbMLPParameters,
        settings: AdamSettings,
        moves: list[bool],
        rtol: float,
    ) -> None:
        self._gradient, self._settings, self._moves, self._rtol = gradient, settings, moves, rtol
        self.time, self.n_steps, self.n_evaluations = 0.0, 0, 0
        self._length = 1.0
        weights = list(initial.matrices)
        self._g, self._spread = self._at(weights), gradient.variance(initial.matrices, 0.0)
        squares = [g**2 + s for g, s in zip(self._g, self._spread, strict=True)]
        self.state = _State(weights, self._g, squares)

    def _at(self, weights: list[FloatArray]) -> list[FloatArray]:
        self.n_evaluations += 1
        return list(self._gradient.mean(Matrices(*weights)))

    def advance(self, end: float) -> None:
        """Integrate up to a time, counted in steps."""
        while self.time < end:
            if self.n_steps == _MOST_STRETCHES:
                raise self._stopped("too many stretches.", "Loosen rtol")
            rest = end - self.time
            h = min(self._length, rest)
            reached, error = self._attempt(h)
            if not np.isfinite(error):
                raise self._stopped("the weights overflow.", "Lower the rate, or start from smaller weights")
            if error <= 1 or h <= 1e-3:
                self.state, self.time = reached, end if h == rest else self.time + h
                self.n_steps += 1
                self._g = self._at(reached.weights)
                self._spread = self._gradient.variance(Matrices(*reached.weights), self.time)
            longest = _LONGEST / (1 - self._settings.betas[1])
            self._length = min(h * min(2.0, 0.9 / np.sqrt(max(error, 0.05))), longest, 1 + self.time / 4)

    def _stopped(self, problem: str, remedy: str) -> IntegrationError:
        return IntegrationError("adaptive_flow", problem, self.time * self._settings.rate, remedy)

    def _attempt(self, h: float) -> tuple[_State, float]:
        """Return the state after h steps by Heun's rule, and its error divided by the tolerance."""
        predicted = self._relaxed(self._g, h)
        later = self._at(predicted.weights)
        reached = self._relaxed([(a + b) / 2 for a, b in zip(self._g, later, strict=True)], h)
        errors = [
            np.sqrt(np.mean((a - b) ** 2) / max(float(np.mean(b**2)), 1e-300))
            for a, b in zip(predicted.weights, reached.weights, strict=True)
        ]
        return reached, float(np.max(errors)) / self._rtol

    def _relaxed(self, gradient: list[FloatArray], h: float) -> _State:
        """Return the state after h steps during which the gradient's moments are held fixed."""
        s, t = self._settings, self.time
        # How far each bias-corrected moment goes towards its source.
        shares = [np.expm1(h * np.log(beta)) / np.expm1((t + h) * np.log(beta)) for beta in s.betas]
        memory = moment_memory(s.betas[0], t, h)
        left, half = (np.exp(-s.rate * s.weight_decay * x) for x in (h, h / 2))
        state = _State([], [], [])
        for k, g in enumerate(gradient):
            weight, m, v = self.state.weights[k], self.state.first[k], self.state.second[k]
            after = v + shares[1] * (g**2 + self._spread[k] - v)
            over = 0.5 / (np.sqrt(v) + s.epsilon) + 0.5 / (np.sqrt(after) + s.epsilon)
            moved = left * weight - half * s.rate * (h * g + memory * (m - g)) * over
            state.weights.append(moved if self._moves[k] else weight)
            state.first.append(m + shares[0] * (g - m))
            state.second.append(after)
        return state


def moment_memory(beta: float, t: float, h: float) -> float:
    r"""Return :math:`\int_0^h w(s)\,ds`, w(s) being the weight of the moment at t in the moment at t + s."""
    before, rate = beta**t, -np.log(beta)
    if before < 1e-10:
        return float((1 - beta**h) / rate)
    gone, later = -np.expm1(-rate * t), -np.expm1(-rate * (t + h))
    return float(gone / (before * rate) * (np.log(later) - np.log(gone))) if gone > 0 else 0.0
