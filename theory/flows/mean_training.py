r"""The mean course of minibatch training, as a flow, and the scatter of runs about it: SGD and AdamW.

Batches of B sequences, drawn without replacement from n, have gradients :math:`\hat g` with

.. math::
    E\hat g = \bar g, \qquad
    E\hat g^2 = \bar g^2 + \frac{\operatorname{Var} g}{B}\,\frac{n - B}{n - 1},

both exact for a population (``population_field``, ``GradientNoise``). Clipping at norm N divides them by
:math:`D = \max(1, \sqrt{\sum E\hat g^2} / N)`. With the time t = Σ learning rate, η the rate and λ the weight
decay, SGD and AdamW follow on average

.. math::
    \dot\theta = -\frac{\bar g}{D} - \lambda\theta, \qquad
    \dot\theta = -\frac{\bar g / D}{\sqrt{\hat v} + \epsilon} - \lambda\theta, \quad
    \dot v = \frac{1 - \beta_2}{\eta}\Bigl(\frac{E\hat g^2}{D^2} - v\Bigr).

Both moments are means over the scatter ζ of the weights (``WeightScatter``) as well. With one draw of it
for the time between two recorded steps,

.. math:: \bar g \to \tfrac12\bigl(\bar g(\theta + \zeta) + \bar g(\theta - \zeta)\bigr),

which is Itô's correction :math:`\bar g + \frac12\bar g''[\zeta, \zeta]`. Here ζ is that of independent
batches: a reshuffled epoch has less of it, and a correlation of its batches instead.

Left out: that a step has a finite size, and Adam's first moment, which lags by β1/(1 − β1) steps.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Annotated, Any, NamedTuple

import numpy as np

from theory.arrays import FloatArray
from theory.checked import Between, Positive, checked_fields
from theory.errors import IntegrationError
from theory.flows.activation import Activation
from theory.flows.batch_gradient import BatchGradient
from theory.flows.batch_noise import Batching
from theory.flows.parameters import EmbMLPParameters, Matrices
from theory.flows.weight_scatter import WeightScatter, curvature_factors
from theory.integrate.adam import AdamSettings
from theory.integrate.chebyshev import RKC
from theory.labels.counts import CountPopulation

_RADIUS = 0.1
"""How well the integrator knows the stiffness: within a tenth, which it keeps in reserve anyway."""


@checked_fields
@dataclass(frozen=True)
class SGDSettings:
    """Plain stochastic gradient descent.

    Attributes
    ----------
    rate : float
    weight_decay : float
        As an L2 penalty.
    """

    rate: Positive
    weight_decay: Annotated[float, Between(0)] = 0.0


class _SecondMoment:
    """Adam's v, averaged over intervals in which E ĝ² is known at both ends."""

    def __init__(self, settings: AdamSettings) -> None:
        self._beta, self._epsilon = settings.betas[1], settings.epsilon
        self._value, self._before = np.zeros(1), np.zeros(1)
        self._taken, self._due = 0, 0

    def scale(self, squares: FloatArray, steps: int) -> FloatArray:
        """Return 1/(√v̂ + ε) in the middle of the next steps.

        The steps since the last call take in the mean of that call's E ĝ² and this one's; over the next ones
        it stays what it is.
        """
        keep = self._beta**self._due
        self._value = keep * self._value + (1 - keep) * (self._before + squares) / 2
        self._taken += self._due
        self._before, self._due = squares, steps
        ahead = self._beta ** (steps / 2)
        corrected = (ahead * self._value + (1 - ahead) * squares) / (1 - ahead * self._beta**self._taken)
        return np.asarray(1 / (np.sqrt(corrected) + self._epsilon))


def single_precision(population: CountPopulation) -> CountPopulation:
    """Return a population in float32, in which gradients take half the time."""
    names = ("left", "right", "label_distributions")
    low: dict[str, Any] = {name: getattr(population, name).astype(np.float32) for name in names}
    low["data_sets"] = {name: share.astype(np.float32) for name, share in population.data_sets.items()}
    return replace(population, **low)


class Moment(NamedTuple):
    """A point of the course.

    Attributes
    ----------
    mean : Matrices
        The mean of the weights.
    seen : tuple of Matrices
        Weights that a run may have there, on average the mean: at these it is evaluated.
    """

    mean: Matrices
    seen: tuple[Matrices, ...]


class MeanTraining:
    """The flow of one training run's mean, and the scatter of runs about it.

    Parameters
    ----------
    population : CountPopulation
        In the precision in which gradients are computed.
    settings : AdamSettings or SGDSettings
    batching : Batching
    clip_norm : float
        0: no clipping.
    activation : Activation
    tolerance : float
        Error of one step of the integrator, relative to the root mean square of each matrix.
    rng : numpy.random.Generator, optional
        Draws the scatter; without it the weights have none.
    """

    def __init__(
        self,
        population: CountPopulation,
        settings: AdamSettings | SGDSettings,
        batching: Batching,
        clip_norm: float,
        activation: Activation,
        tolerance: float,
        rng: np.random.Generator | None = None,
    ) -> None:
        self.settings, self.tolerance = settings, tolerance
        self._population, self._activation = population, activation
        self._batching, self._clip_norm = batching, clip_norm
        self._rng = rng if batching.factor > 0 else None
        self._gradient = BatchGradient(population, batching, activation, "live", noise_every=1)
        self._dtype = population.left.dtype
        self._difference = float(np.finfo(self._dtype).eps) ** 0.5

    def follow(self, initial: EmbMLPParameters, steps: Sequence[int]) -> Iterator[Moment]:
        """Yield the weights after each number of steps, in the population's precision.

        Raises
        ------
        IntegrationError
            If the integrator fails.
        """
        y, done = initial.matrices.packed(), 0
        drive = _Drive(self._velocity(initial), self.settings.weight_decay)
        moment = _SecondMoment(self.settings) if isinstance(self.settings, AdamSettings) else None
        scatter: WeightScatter | None = None
        stepper: RKC | None = None
        for step in steps:
            if step > done:
                drive.scatter(self._noise(scatter, done))
                away = self._low(initial, drive.around(y)[0])
                squares, divisor = self._squares(away, done, drive.mean_square(y))
                scale = 1.0 if moment is None else moment.scale(squares, step - done)
                drive.scale = scale / divisor
                stepper = stepper or self._stepper(drive, y, step)
                stepper.go_on(step * self.settings.rate, drive(0.0, y))
                stepper.atol = self.tolerance * _sizes(initial.unpack(y))
                _advance(stepper)
                y, done = stepper.y, step
                scatter = self._scatter(initial, y, drive.scale)
            yield self._moment(self._low(initial, y), scatter)

    def _stepper(self, drive: _Drive, y: FloatArray, step: int) -> RKC:
        options = {"difference": self._difference, "radius_tolerance": _RADIUS}
        return RKC(drive, 0.0, y, step * self.settings.rate, rtol=0.0, atol=1.0, **options)

    def _low(self, initial: EmbMLPParameters, y: FloatArray) -> Matrices:
        return Matrices(*(matrix.astype(self._dtype) for matrix in initial.unpack(y)))

    def _velocity(self, initial: EmbMLPParameters) -> Callable[[FloatArray], FloatArray]:
        return lambda y: -self._gradient.mean(self._low(initial, y)).packed().astype(np.float64)

    def _scatter(
        self, initial: EmbMLPParameters, y: FloatArray, scale: FloatArray | float
    ) -> WeightScatter | None:
        if self._rng is None:
            return None
        factors = curvature_factors(self._population, self._low(initial, y), self._activation)
        mobility = self._low(initial, np.broadcast_to(scale, y.shape))
        return WeightScatter(factors, mobility, self._batching, self.settings.rate)

    def _noise(self, scatter: WeightScatter | None, done: int) -> FloatArray | None:
        """Return a distance from the mean at which the gradient is taken, and at its opposite."""
        if scatter is None or self._rng is None:
            return None
        return scatter.independent(done * self.settings.rate, self._rng).packed().astype(np.float64)

    def _moment(self, mean: Matrices, scatter: WeightScatter | None) -> Moment:
        if scatter is None or self._rng is None:
            return Moment(mean, (mean,))
        away = scatter.reshuffled(self._rng)
        signs = (1, -1)
        seen = (Matrices(*(m + sign * z for m, z in zip(mean, away, strict=True))) for sign in signs)
        return Moment(mean, tuple(seen))

    def _squares(self, now: Matrices, step: int, mean_square: FloatArray) -> tuple[FloatArray, float]:
        """Return E ĝ² after clipping, and what clipping divides by."""
        squares = mean_square + self._gradient.variance(now, step).packed()
        norm, largest = float(np.sqrt(squares.sum())), self._clip_norm
        divisor = max(1.0, norm / largest) if largest > 0 else 1.0
        return squares / divisor**2, divisor


def _advance(stepper: RKC) -> None:
    """Go on to the end that the integrator has been given."""
    message = None
    while stepper.status == "running":
        message = stepper.step()
    if stepper.status == "failed":
        remedy = "Ask for fewer epochs, a smaller rate or a looser tolerance"
        raise IntegrationError("predict_learning", message or "no step succeeded.", stepper.t, remedy)


class _Drive:
    """The velocity: the mean descent direction, scaled entry by entry, and the decay.

    The mean is over the weights at plus and minus one distance, wherever they have got to. What the two add
    to −ḡ must not be held where it was computed: with SGD at a rate of 0.5 the weights then grow by a tenth
    more within 2000 steps, and the flow gets too stiff to follow.
    """

    def __init__(self, descent: Callable[[FloatArray], FloatArray], decay: float) -> None:
        self._descent, self._decay = descent, decay
        self.scale: FloatArray | float = 1.0
        self._noise: FloatArray | None = None
        self._last: tuple[FloatArray, list[FloatArray]] | None = None

    def scatter(self, noise: FloatArray | None) -> None:
        """Take the mean over weights at ± this distance from now on; none if None."""
        self._noise, self._last = noise, None

    def around(self, y: FloatArray) -> tuple[FloatArray, ...]:
        """Return the scattered weights whose mean is y."""
        return (y,) if self._noise is None else (y + self._noise, y - self._noise)

    def mean_square(self, y: FloatArray) -> FloatArray:
        """Return the mean square of ḡ over the scattered weights."""
        each = self._descents_at(y)
        return np.asarray(sum(found**2 for found in each) / len(each))

    def __call__(self, _: float, y: FloatArray) -> FloatArray:
        each = self._descents_at(y)
        return np.asarray(self.scale * (sum(each) / len(each)) - self._decay * y)

    def _descents_at(self, y: FloatArray) -> list[FloatArray]:
        """Return −ḡ of each of the scattered weights; not anew at the point where the last ones were."""
        if self._last is None or self._last[0] is not y:
            self._last = y, [self._descent(at) for at in self.around(y)]
        return self._last[1]


def _sizes(matrices: Matrices) -> FloatArray:
    """Return the root mean square of an entry's matrix, for every entry."""
    return np.concatenate([np.full(m.size, float(np.sqrt(np.mean(m**2)))) for m in matrices])
