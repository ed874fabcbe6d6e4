r"""AdamW's own steps on the population: the mean step, and how far batches scatter it.

A batch of b sequences has the gradient :math:`\hat g = \bar g + \xi`. Adam's first moment averages ḡ, its
second one

.. math::
    E\hat g^2 = \bar g^2 + \frac{\operatorname{Var} g}{b}\,\frac{n - b}{n - 1},

with Var g of one sequence (``GradientNoise``) and the last factor for batches drawn without replacement from
n sequences: the full batch has none of it. Where the second term is the larger one, the step is linear in ḡ
again, divided by the spread of the gradient and no longer by its size.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import replace
from typing import Annotated, Literal

import numpy as np

from theory.checked import Between, Size, checked
from theory.errors import InputError, IntegrationError
from theory.flows.activation import IDENTITY, Activation, ActivationLike, as_activation
from theory.flows.batch_gradient import BatchGradient, Softmax
from theory.flows.batch_noise import Batching, Scatter
from theory.flows.gradient import check_population, loss_function
from theory.flows.parameters import EmbMLPParameters, Matrices
from theory.integrate.adam import AdamSettings, AdamW
from theory.integrate.trajectory import Recorder, SolverStatistics, Trajectory
from theory.labels.counts import CountPopulation

Matrix = Literal["W_emb", "W1", "W2"]
_MOST_STEPS = 10**8
ALL: tuple[Matrix, ...] = ("W_emb", "W1", "W2")


@checked
def adam_steps(
    population: CountPopulation,
    initial: EmbMLPParameters,
    steps: Sequence[Annotated[int, Between(0)]],
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
    r"""Return AdamW's mean steps on a population, one gradient of the whole population for each.

    Without a batch size these are the steps of full-batch training, exactly.

    Parameters
    ----------
    population : CountPopulation
        ``count_population`` of a task, or ``count_sample`` of a data set.
    initial : EmbMLPParameters
        The matrices before the first step.
    steps : sequence of int
        After how many steps the matrices are kept; increasing.
    settings : AdamSettings
        Rate, β1, β2, ε and weight decay.
    batch_size : int, optional
        b; None is the full batch.
    n_sequences : int, optional
        n, how many sequences an epoch draws without replacement; None draws every batch afresh.
        A multiple of the batch size, or the variance is a little too small.
    activation : Activation, optional
        σ.
    softmax : {"live", "uniform"}, optional
        "uniform" takes p ≡ u, as rungs 1 and 2 do.
    moving : sequence of str, optional
        The matrices that are trained; ("W_emb",) freezes the others, as rung 1 does.
    noise_every : int, optional
        Var g is computed anew after at most so many steps (after a twentieth of those taken, if that is
        fewer): v averages over 1/(1 − β2) steps, in which Var g hardly changes.
    keep : sequence of str, optional
        Which matrices the trajectory keeps: "W_emb", "W1", "W2", "B" (their product).

    Returns
    -------
    Trajectory
        Its times are steps × rate. Beside the matrices, "variance" is kept: that of every entry of W_emb
        over the order of batches, shape (n_times, d, d_m), each batch's effect on later gradients left out.

    Raises
    ------
    InputError
        If vocabularies disagree, steps are not increasing, or a batch exceeds ``n_sequences``.
    IntegrationError
        If the weights overflow.
    """
    counted = _check_steps(steps)
    recorder = Recorder(keep, loss_function(population, initial, activation), ())
    model = PopulationAdam(
        population,
        initial,
        settings,
        batching=Batching(batch_size, n_sequences),
        activation=as_activation(activation),
        softmax=softmax,
        moving=moving,
        noise_every=noise_every,
    )
    variances = []
    for count in counted:
        with np.errstate(over="ignore", invalid="ignore"):
            while model.steps < count:
                model.step()
        _check_finite(model)
        recorder.add(model.weights)
        variances.append(model.scatter.variance)
    times = settings.rate * np.asarray(counted, np.float64)
    path = recorder.trajectory(times, SolverStatistics("AdamW", model.steps, model.steps))
    return replace(path, kept={**path.kept, "variance": np.array(variances)})


class PopulationAdam:
    """AdamW on the mean gradient of a population, one step after another.

    Parameters are those of ``adam_steps``.

    Attributes
    ----------
    weights : Matrices
        As they are now.
    scatter : Scatter
        The variance of W_emb over the order of batches.
    """

    def __init__(
        self,
        population: CountPopulation,
        initial: EmbMLPParameters,
        settings: AdamSettings,
        *,
        batching: Batching,
        activation: Activation = IDENTITY,
        softmax: Softmax = "live",
        moving: Sequence[Matrix] = ALL,
        noise_every: int = 10,
    ) -> None:
        check_population(population, initial)
        self.weights = Matrices(*(matrix.copy() for matrix in initial.matrices))
        self.scatter = Scatter(initial.W_emb.shape, batching.per_epoch, settings.betas[0])
        self._moving = [k for k, name in enumerate(Matrices._fields) if name in moving]
        self._adam = AdamW(settings, [self.weights[k] for k in self._moving])
        self._gradient = BatchGradient(population, batching, activation, softmax, noise_every)

    @property
    def steps(self) -> int:
        """How many steps were taken."""
        return self._adam.steps

    def step(self) -> None:
        """Take one step."""
        gradient = self._gradient.mean(self.weights)
        spread = self._gradient.variance(self.weights, self.steps)
        chosen = [(gradient[k], gradient[k] ** 2 + spread[k]) for k in self._moving]
        roots = self._adam.step([g for g, _ in chosen], [square for _, square in chosen])
        if 0 in self._moving:
            self.scatter.add(self._adam.settings.rate * np.sqrt(spread.W_emb) / roots[0])


def _check_finite(model: PopulationAdam) -> None:
    """Refuse to continue with weights that are not finite."""
    if not all(np.isfinite(matrix).all() for matrix in model.weights):
        remedy = "Lower the rate, or start from smaller weights"
        raise IntegrationError("adam_steps", "the weights overflow.", float(model.steps), remedy)


def _check_steps(steps: Sequence[int]) -> list[int]:
    """Return the steps as a list, or refuse none at all and unsorted ones."""
    counted = list(steps)
    if not counted or any(a > b for a, b in itertools.pairwise(counted)):
        raise InputError("steps", steps, "not increasing numbers of steps", "give e.g. [0, 100, 300]")
    if counted[-1] > _MOST_STEPS:
        raise InputError("steps", counted[-1], "would take months", f"ask for at most {_MOST_STEPS}")
    return counted
