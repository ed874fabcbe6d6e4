r"""AdamW's own mean steps on the population.

A batch of b sequences has the gradient :math:`\hat g = \bar g + \xi`. Adam's first moment averages ḡ, its
second moment

.. math::
    E\hat g^2 = \bar g^2 + \frac{\operatorname{Var} g}{b}\,\frac{n - b}{n - 1},

where Var g is the variance over single sequences (``GradientNoise``). The last factor is for batches drawn
without replacement from n sequences, and zero for the full batch. Where the second term dominates, the step
is again linear in ḡ, divided by the spread of the gradient rather than by its size.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Annotated, Literal

import numpy as np

from theory.edge.arrays import FloatArray
from theory.edge.checked import Between, Size, checked
from theory.edge.errors import InputError, IntegrationError
from theory.flows.batches import EMBEDDING_LIMIT, AdamSettings, BatchGradient, Batching, Softmax, warn_outside
from theory.flows.gradient import loss_function
from theory.flows.network import IDENTITY, ActivationLike, EmbMLPParameters, as_activation
from theory.integrate.trajectory import Matrices, Recorder, SolverStatistics, Trajectory
from theory.labels.counts import CountPopulation

Matrix = Literal["W_emb", "W1", "W2"]
MOST_STEPS = 10**8
ALL: tuple[Matrix, ...] = ("W_emb", "W1", "W2")


class AdamW:
    """AdamW on arrays, which every step changes in place; ``scale`` multiplies the second moments' roots."""

    def __init__(
        self,
        settings: AdamSettings,
        weights: Sequence[FloatArray],
        scale: Sequence[FloatArray | float] | None = None,
    ) -> None:
        self.settings, self.weights = settings, weights
        self.scale = [1.0] * len(weights) if scale is None else scale
        self.steps = 0
        self.first = [np.zeros_like(weight) for weight in weights]
        self.second = [np.zeros_like(weight) for weight in weights]

    def step(self, gradients: Sequence[FloatArray], squares: Sequence[FloatArray]) -> None:
        """Take one step; with noise ``squares`` are larger than the squared mean gradients."""
        self.steps += 1
        s, (b1, b2) = self.settings, self.settings.betas
        for weight, m, v, g, square, scale in zip(
            self.weights, self.first, self.second, gradients, squares, self.scale, strict=True
        ):
            m += (1 - b1) * (g - m)
            v += (1 - b2) * (square - v)
            root = scale * np.sqrt(v / (1 - b2**self.steps)) + s.epsilon
            weight *= 1 - s.rate * s.weight_decay
            weight -= s.rate / (1 - b1**self.steps) * m / root


@checked
def adam_steps(
    population: CountPopulation,
    initial: EmbMLPParameters,
    steps: Sequence[Annotated[int, Between(0, MOST_STEPS)]],
    settings: AdamSettings,
    *,
    batch_size: Size | None = None,
    n_sequences: Size | None = None,
    activation: ActivationLike = IDENTITY,
    softmax: Softmax = "live",
    moving: Sequence[Matrix] = ALL,
    noise_every: Size = 10,
    keep: Sequence[str] = ("W_emb",),
) -> Trajectory:
    r"""Return AdamW's mean steps on a population, each from one gradient of the whole population.

    Without a batch size these are the steps of full-batch training, exactly.

    Parameters
    ----------
    population : CountPopulation
        ``count_population`` of a task, or ``count_sample`` of a data set.
    initial : EmbMLPParameters
        The matrices before the first step.
    steps : sequence of int
        The numbers of steps after which the matrices are kept; increasing.
    settings : AdamSettings
        Rate, β1, β2, ε and weight decay.
    batch_size : int, optional
        b; None is the full batch.
    n_sequences : int, optional
        n, the number of sequences an epoch draws without replacement; None draws batches independently.
        If it is not a multiple of the batch size, the variance is a little too small.
    activation : Activation or str, optional
        σ.
    softmax : {"live", "uniform"}, optional
        "uniform" takes p ≡ u, as rungs 1 and 2 do.
    moving : sequence of str, optional
        The matrices that are trained; ("W_emb",) freezes the others, as rung 1 does.
    noise_every : int, optional
        Var g is recomputed after at most this many steps, or a twentieth of the steps taken if that is
        fewer: v averages over 1/(1 − β2) steps, during which Var g hardly changes.
    keep : sequence of str, optional
        Which matrices the trajectory keeps: "W_emb", "W1", "W2", "B" (their product).

    Returns
    -------
    Trajectory
        Its times are steps × rate.

    Raises
    ------
    InputError
        If vocabularies disagree, steps are not increasing, or a batch exceeds ``n_sequences``.
    IntegrationError
        If the weights overflow.

    Warns
    -----
    OutsideValidityWarning
        If batches are too small for the rate.
    """
    if not steps or any(a > b for a, b in itertools.pairwise(steps)):
        raise InputError("steps", steps, "not increasing numbers of steps", "give e.g. [0, 100, 300]")
    batching, sigma = Batching(batch_size, n_sequences), as_activation(activation)
    warn_outside(settings, batching, EMBEDDING_LIMIT)
    recorder = Recorder(initial.matrices, keep, loss_function(population, initial, sigma), ())
    gradient = BatchGradient(population, batching, sigma, softmax, noise_every)
    now = Matrices(*(matrix.copy() for matrix in initial.matrices))
    moved = [k for k, name in enumerate(Matrices._fields) if name in moving]
    adam = AdamW(settings, [now[k] for k in moved])
    for count in steps:
        with np.errstate(over="ignore", invalid="ignore"):
            while adam.steps < count:
                mean, spread = gradient.mean(now), gradient.variance(now, adam.steps)
                adam.step([mean[k] for k in moved], [mean[k] ** 2 + spread[k] for k in moved])
        if not all(np.isfinite(matrix).all() for matrix in now):
            time, remedy = adam.steps * settings.rate, "Lower the rate, or start from smaller weights"
            raise IntegrationError("adam_steps", "the weights overflow.", time, remedy)
        recorder.add(now)
    times = settings.rate * np.asarray(steps, np.float64)
    return recorder.trajectory(times, SolverStatistics("AdamW", adam.steps, adam.steps))
