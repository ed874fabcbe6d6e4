r"""The mean course of minibatch training, as a flow, and the scatter of runs about it: SGD and AdamW.

Batches of B sequences, drawn without replacement from n, have gradients :math:`\hat g` with

.. math::
    E\hat g = \bar g, \qquad
    E\hat g^2 = \bar g^2 + \frac{\operatorname{Var} g}{B}\,\frac{n - B}{n - 1},

both exact for the population of an Emb-MLP (``BatchGradient``). Clipping at norm N divides them by
:math:`D = \max(1, \sqrt{\sum E\hat g^2} / N)`. With the time t = Σ learning rate, η the rate and λ the weight
decay, SGD and AdamW follow on average

.. math::
    \dot\theta = -\frac{\bar g}{D} - \lambda\theta, \qquad
    \dot\theta = -\frac{\bar g / D}{\sqrt{\hat v} + \epsilon} - \lambda\theta, \quad
    \dot v = \frac{1 - \beta_2}{\eta}\Bigl(\frac{E\hat g^2}{D^2} - v\Bigr).

Both moments are also averaged over the scatter ζ of the weights (``WeightScatter``). With one draw of ζ for
the time between two recorded steps,

.. math:: \bar g \to \tfrac12\bigl(\bar g(\theta + \zeta) + \bar g(\theta - \zeta)\bigr),

which is Itô's correction :math:`\bar g + \frac12\bar g''[\zeta, \zeta]`. Here ζ is drawn for
independent batches: a reshuffled epoch scatters less, but its batches are correlated.

D and v̂ change slowly, if at all, except in the first steps. They are frozen over intervals, each as long as
the error allows: the change that the moments at its end would make to the displacement is compared with the
size of the weights.

Adam's first moment m averages gradients that are ℓ steps old in the mean, with ℓ = β1/(1 − β1) after the
first steps. If that is followed (``lagging``), what is integrated is

.. math:: x = \theta + \eta\ell Dm, \qquad \dot x = -(1 + \dot\ell) D\,\bar g(\theta) - \lambda x,

with x − θ frozen over each interval; otherwise the lag is neglected, as the finite size of a step always is.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol

import numpy as np
import numpy.typing as npt

from theory.edge.arrays import FloatArray
from theory.edge.errors import GradientLimitError, IntegrationError
from theory.flows.adam_moments import Denominator, FirstMoment
from theory.flows.batches import AdamSettings, OutsideValidityWarning, SGDSettings
from theory.integrate.chebyshev import RKC

_RADIUS = 0.1
"""The integrator knows the stiffness to within a tenth, which it keeps in reserve anyway."""
_SHORTEST = 0.1
"""In steps: moments are frozen for at least this long, whatever the error."""
MOST_GRADIENTS = 20_000
LONGEST_STEP = 1.5
"""SGD's rate times the largest curvature: times were right up to 1.3, and wrong from 1.4 to 2.5."""


class Scatter(Protocol):
    """Draws of the weights' distance from their mean course, at one point of it."""

    def independent(self, time: float, rng: np.random.Generator) -> FloatArray:
        """Return a draw after some time, had all batches been drawn independently."""

    def reshuffled(self, rng: np.random.Generator) -> FloatArray:
        """Return a draw at the end of a reshuffled epoch."""


class Gradients(Protocol):
    """What a course has to know of a network and its batches; all weights are packed into one vector."""

    @property
    def sizes(self) -> Sequence[int]:
        """The number of entries of each tensor, in the vector's order."""

    @property
    def dtype(self) -> npt.DTypeLike:
        """The precision in which gradients are computed."""

    def mean(self, y: FloatArray) -> FloatArray:
        """Return the mean of a batch's gradient, which is that of the whole training set."""

    def variance(self, y: FloatArray) -> FloatArray:
        """Return the variance of every entry of a batch's gradient."""

    def scatter(self, y: FloatArray, mobility: FloatArray, rate: float) -> Scatter | None:
        """Return the scatter of weights that move by ``rate`` · ``mobility`` · gradient; None without any."""


class Moment(NamedTuple):
    """A point of the course."""

    step: int
    mean: FloatArray  # of the weights, packed into one vector
    seen: tuple[FloatArray, ...]  # weights that a run may have there, averaging to the mean; scored here


@dataclass(frozen=True)
class MeanTraining:
    """The flow of one training run's mean, and the scatter of runs about it.

    ``tolerance`` holds for one step of the integrator and for one interval of frozen moments, relative to the
    root mean square of each tensor; ``max_gradients`` limits the gradients of the training set.
    """

    gradients: Gradients
    settings: AdamSettings | SGDSettings
    clip_norm: float  # 0: no clipping
    tolerance: float
    rng: np.random.Generator | None = None  # draws the scatter; without it the weights have none
    max_gradients: int = MOST_GRADIENTS
    scale: FloatArray | float = 1.0  # multiplies √v̂, entry by entry (``Narrow.scale``)
    lagging: bool = False  # whether Adam's first moment lags

    def follow(self, initial: FloatArray, steps: Iterable[int]) -> Iterator[Moment]:
        """Yield the weights after each number of steps, in the precision of the gradients.

        Raises
        ------
        IntegrationError
            If the integrator fails, or needs more gradients than it may compute.
        """
        course, scatter = Course(self, initial), None
        warned = isinstance(self.settings, AdamSettings)
        for step in steps:
            if step > course.done:
                course.go_on(step, self._felt(scatter, course.done))
                if not warned and course.stiffness > LONGEST_STEP:
                    warned = True
                    text = (
                        f"SGD's rate times the largest curvature is {course.stiffness:.2g} by step {step}: "
                        f"above {LONGEST_STEP:g} steps are too long to be taken for a flow, and training is "
                        'slower. Take route="batches".'
                    )
                    warnings.warn(text, OutsideValidityWarning, stacklevel=2)
                if self.rng is not None:
                    scatter = self.gradients.scatter(course.weights, course.mobility, self.settings.rate)
            yield self._moment(step, course.weights, scatter)

    def _felt(self, scatter: Scatter | None, done: float) -> FloatArray | None:
        """Return a displacement ζ from the mean; the gradient is taken at ζ and at −ζ."""
        if scatter is None or self.rng is None:
            return None
        return scatter.independent(done * self.settings.rate, self.rng).astype(np.float64)

    def _moment(self, step: int, mean: FloatArray, scatter: Scatter | None) -> Moment:
        if scatter is None or self.rng is None:
            return Moment(step, mean, (mean,))
        away = scatter.reshuffled(self.rng)
        return Moment(step, mean, (mean + away, mean - away))


class Point(NamedTuple):
    """Weights, the mean of −ḡ about them, the variance of ĝ, E ĝ² after clipping, and its divisor."""

    y: FloatArray
    descent: FloatArray
    variance: FloatArray
    squares: FloatArray
    divisor: float


class Course:
    """The mean weights reached so far, and how they go on.

    −ḡ is averaged over the weights at plus and minus one displacement from the current mean. The
    correction this makes must not be kept from the point where it was computed: with SGD at a rate of 0.5 the
    weights would grow by a tenth more within 2000 steps, and the flow would become too stiff to follow.
    """

    def __init__(self, training: MeanTraining, initial: FloatArray) -> None:
        self._of, self._gradients = training, training.gradients
        self._cuts = np.cumsum(training.gradients.sizes)[:-1]
        self._denominator = Denominator(training.settings, training.scale)
        self._y, self.done = initial.astype(np.float64), 0.0
        self._variance: FloatArray | None = None  # at the end of the last interval
        lengths = self._lengths(self._y)
        # A bias that starts at 0 is measured by the smallest of the other tensors.
        self._shortest = np.where(lengths > 0, 0.0, np.min(lengths[lengths > 0], initial=1.0))
        self._first = FirstMoment(training.settings if training.lagging else None)
        self._length, self._n_gradients = 1.0, 0
        self._felt: FloatArray | None = None
        self._last: tuple[FloatArray, list[FloatArray]] | None = None
        self._gain = 1.0
        self._scale: FloatArray | float = 1.0
        self._fastest: FloatArray | float = np.inf
        self._stepper: RKC | None = None
        self.stiffness = 0.0  # rate × the spectral radius of what moves the weights, at most so far

    @property
    def weights(self) -> FloatArray:
        """The mean of the weights."""
        return self._low(self._theta(self._y))

    @property
    def mobility(self) -> FloatArray:
        """The factor that multiplies the gradient, entry by entry."""
        return self._low(np.broadcast_to(np.minimum(self._scale, self._denominator.now()), self._y.shape))

    def _low(self, y: FloatArray) -> FloatArray:
        return y.astype(self._gradients.dtype)

    def go_on(self, step: int, felt: FloatArray | None) -> None:
        """Follow the mean to a step, with gradients averaged over the weights at ±``felt`` from it."""
        self._felt, self._last = felt, None
        here = self.point(self._y, self._variance)
        while self.done < step:
            rest = step - self.done
            h = min(self._length, rest)
            self._scale = self._denominator.inverse(here.squares, here.divisor, h)
            self._fastest = self._denominator.fastest(h)
            there = self.point(self._integrated(here, h))
            squares = here.squares + (there.squares - here.squares) / 4
            divisor = here.divisor + (there.divisor - here.divisor) / 4
            missed = self._denominator.inverse(squares, divisor, h) / self._scale - 1
            error = self._relative((there.y - here.y) * missed, there.y) / self._of.tolerance
            if error > 1 and h > _SHORTEST:
                self._length = h * max(0.2, 0.8 / np.sqrt(error))
                continue
            self._denominator.pass_by((here.squares + there.squares) / 2, h)
            self.done = float(step) if h == rest else self.done + h
            driven = (there.y - here.y) / (self._of.settings.rate * h)
            self._first.pass_by(driven + self._of.settings.weight_decay * here.y, h)
            self._y, self._variance, here = there.y, there.variance, there
            longer = h * min(2.0, 0.8 / np.sqrt(max(error, 1e-6)))
            self._length = longer if h < rest else max(longer, self._length)

    def _theta(self, x: FloatArray) -> FloatArray:
        return x - self._of.settings.rate * self._first.behind

    def point(self, y: FloatArray, variance: FloatArray | None = None) -> Point:
        """Return the quantities that drive the mean at some weights, where the variance may be known."""
        each = self._descents(y)
        if variance is None:
            away = self._low(self._theta(y) if self._felt is None else self._theta(y) + self._felt)
            variance = self._gradients.variance(away)
        squares = np.asarray(sum(descent**2 for descent in each) / len(each)) + variance
        norm, largest = float(np.sqrt(squares.sum())), self._of.clip_norm
        divisor = max(1.0, norm / largest) if largest > 0 else 1.0
        return Point(y, np.asarray(sum(each) / len(each)), variance, squares / divisor**2, divisor)

    def _descents(self, y: FloatArray) -> list[FloatArray]:
        """Return −ḡ at each of the scattered weights, reusing it at the point of the last call."""
        if self._last is None or self._last[0] is not y:
            at = self._theta(y)
            around = (at,) if self._felt is None else (at + self._felt, at - self._felt)
            self._n_gradients += len(around)
            if self._n_gradients > self._of.max_gradients:
                problem = f"{self._of.max_gradients} gradients did not reach the end."
                remedy = "Take the route by batches, ask for fewer epochs, or allow more by max_gradients"
                raise GradientLimitError(
                    "the mean course", problem, self.done * self._of.settings.rate, remedy
                )
            each = (self._gradients.mean(self._low(near)) for near in around)
            self._last = y, [-gradient.astype(np.float64) for gradient in each]
        return self._last[1]

    def _velocity(self, _: float, y: FloatArray) -> FloatArray:
        each = self._descents(y)
        return self._moved(np.asarray(sum(each) / len(each)), y)

    def _moved(self, descent: FloatArray, y: FloatArray) -> FloatArray:
        """Return the velocity of the weights; one that wakes up moves no faster than Adam lets it."""
        driven = np.clip(self._scale * descent, -self._fastest, self._fastest)
        return np.asarray(self._gain * driven - self._of.settings.weight_decay * y)

    def _integrated(self, here: Point, h: float) -> FloatArray:
        """Return the weights h steps further on, with the denominators held fixed."""
        rate, self._gain = self._of.settings.rate, self._first.gain(h)
        start, end = self.done * rate, (self.done + h) * rate
        lengths = np.maximum(self._lengths(here.y), self._shortest)
        atol = self._of.tolerance * np.repeat(lengths, self._gradients.sizes)
        if self._stepper is None:
            options: dict[str, Any] = {"difference": float(np.finfo(self._gradients.dtype).eps) ** 0.5}
            options |= {"radius_tolerance": _RADIUS}
            self._stepper = RKC(self._velocity, start, here.y, end, rtol=0.0, atol=atol, **options)
        else:
            if self._of.lagging:  # θ has jumped.
                self._last = None
            self._stepper.restart(start, here.y, self._velocity(start, here.y), end, atol)
        message = None
        while self._stepper.status == "running":
            message = self._stepper.step()
        if message is not None:
            remedy = "Ask for fewer epochs, a smaller rate or a looser tolerance"
            raise IntegrationError("the mean course", message, self._stepper.t, remedy)
        self.stiffness = max(self.stiffness, rate * self._stepper.radius)
        return self._stepper.y

    def _relative(self, missed: FloatArray, y: FloatArray) -> float:
        """Return the largest root mean square in a tensor, relative to that of its weights."""
        lengths = np.maximum(np.maximum(self._lengths(y), self._shortest), 1e-300)
        return float(np.max(self._lengths(missed) / lengths))

    def _lengths(self, y: FloatArray) -> FloatArray:
        """Return the root mean square of each tensor."""
        return np.array([np.sqrt(np.mean(part**2)) for part in np.split(y, self._cuts)])
