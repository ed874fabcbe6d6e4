r"""When each data set is learned: loss and accuracy curves of the Emb-MLP, from theory alone.

A task's population is finite, so all of it can drive the flow: the mean course of training
(``MeanTraining``) is followed from newly drawn weights and memory tables, and every data set's loss and
accuracy is computed over all its sequences at once.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any

import numpy as np

from theory.edge.arrays import Float64, FloatArray, Int64, IntArray
from theory.edge.checked import Between, Positive, Rate, Size, checked
from theory.edge.display import Shown
from theory.edge.errors import InputError
from theory.flows.batches import TIMES_LIMIT, AdamSettings, Batching, SGDSettings, warn_outside
from theory.flows.gradient import scores, single_precision
from theory.flows.mean_training import MOST_GRADIENTS, MeanTraining
from theory.flows.network import ActivationLike, EmbMLPParameters, as_activation
from theory.integrate.trajectory import Matrices, first_passage
from theory.labels.counts import TRAINING, check_size, count_population
from theory.task.population import draw_tables, population_size
from theory.task.task import Task

HALF = 0.5
"""The accuracy at which a data set counts as learned."""
FIRST = 20
"""The first step that is recorded."""


@dataclass(frozen=True, eq=False, repr=False)
class LearningCurves(Shown):
    """Predicted loss and accuracy of every data set.

    Attributes
    ----------
    steps : ndarray, shape (n,)
        Numbers of steps, from 0.
    accuracy, loss : mapping of str to ndarray, shape (n_starts, n)
        Keyed by data set: a mapping's name, split in two ("reasoning train", "reasoning test") where
        combinations are held out. The loss is the mean cross entropy in nats.
    steps_per_epoch : int
    """

    steps: Int64[IntArray, " n"]
    accuracy: Mapping[str, Float64[FloatArray, "n_starts n"]]
    loss: Mapping[str, Float64[FloatArray, "n_starts n"]]
    steps_per_epoch: int

    def half_times(self, name: str) -> Float64[FloatArray, " n_starts"]:
        """Return the steps after which each start's accuracy first reaches one half; ∞ if it never does."""
        return np.array([first_passage(self.steps, row, HALF) for row in self._accuracy(name)])

    def half_time(self, name: str) -> float:
        """Return the median of ``half_times`` over the starts."""
        return float(np.median(self.half_times(name)))

    def bias(self, slow: str, fast: str) -> float:
        """Return log2 of the ratio of two data sets' half-times; ±∞ if one is not learned.

        NaN if neither is, or if one is half learned from the start: then there is no ratio.
        """
        times = self.half_time(slow), self.half_time(fast)
        if min(times) == 0 or math.isinf(min(times)):
            return math.nan
        return math.inf if math.isinf(times[0]) else float(np.log2(times[0]) - np.log2(times[1]))

    def matched(self, name: str, at: str) -> Float64[FloatArray, " n_starts"]:
        """Return each start's accuracy on a data set when another one's passes one half; NaN if never."""
        rows = zip(self.half_times(at), self._accuracy(name), strict=True)
        return np.array([np.interp(t, self.steps, row) if t < math.inf else math.nan for t, row in rows])

    def _accuracy(self, name: str) -> FloatArray:
        if name not in self.accuracy:
            raise InputError("name", name, "no such data set", f"choose from {', '.join(self.accuracy)}")
        return self.accuracy[name]

    def _shown(self) -> tuple[str, list[str], list[list[str]]]:
        """Return a line per data set: medians over the starts, and means at the end."""
        rows = [
            [
                name,
                f"{self.half_time(name):.4g}",
                f"{own[:, -1].mean():.3f}",
                f"{self.loss[name][:, -1].mean():.3f}",
            ]
            for name, own in self.accuracy.items()
        ]
        n = len(next(iter(self.accuracy.values()), ()))
        halves = ", ".join(f"{name} {half}" for name, half, *_ in rows)
        title = f"{self.steps[-1]} steps, {n} start{'s' * (n != 1)}; half learned after: {halves}"
        return title, ["data set", "half learned after steps", "accuracy at the end", "loss"], rows


@checked
def predict_learning(
    task: Task,
    settings: AdamSettings | SGDSettings,
    *,
    init_rate: Rate,
    n_epochs: Size,
    d_m: Size = 200,
    d_f: Size = 512,
    batch_size: Size = 100,
    clip_norm: Annotated[float, Between(0)] = 1.0,
    activation: ActivationLike = "tanh",
    seeds: Sequence[Annotated[int, Between(0)]] = (0,),
    growth: Annotated[float, Between(1.001, 2)] = 1.2,
    tolerance: Positive = 3e-3,
    scatter: bool = True,
    max_gradients: Size = MOST_GRADIENTS,
    report: Callable[[int], None] = lambda step: None,
) -> LearningCurves:
    """Return the loss and accuracy curves that training an Emb-MLP on a task will have.

    Parameters
    ----------
    task : Task
    settings : AdamSettings or SGDSettings
        The optimiser, with its rate and weight decay.
    init_rate : float
        γ: every matrix starts with standard deviation fan_in^-γ.
    n_epochs : int
        How many passes over the training set to follow.
    d_m, d_f : int, optional
        Widths.
    batch_size : int, optional
        Sequences per step.
    clip_norm : float, optional
        The norm at which gradients are clipped; 0 for none.
    activation : Activation or str, optional
        σ.
    seeds : sequence of int, optional
        One start for each: it draws weights and memory tables.
    growth : float, optional
        Curves are recorded, and the scatter is redrawn, at steps that grow by this factor.
    tolerance : float, optional
        Error of a step of the integrator, and of an interval over which Adam's second moment and the divisor
        of clipping are frozen; relative to the root mean square of each matrix.
    scatter : bool, optional
        Whether the weights scatter about their mean, as batches make them do; otherwise the curves are those
        of the mean course.
    max_gradients : int, optional
        How many gradients of the population each start may take; a training step on a batch costs about a
        seventieth of one.
    report : callable, optional
        Called with each recorded step, for each start, when the curves have reached it.

    Raises
    ------
    InputError
        If the task is too large to enumerate, a batch exceeds the training set, or no seed is given.
    IntegrationError
        If the integrator fails or would need more than ``max_gradients``.

    Warns
    -----
    OutsideValidityWarning
        If AdamW's batches are too small for its rate.
    """
    if len(seeds) == 0:
        raise InputError("seeds", seeds, "no start", "give at least one")
    n_sequences = training_size(task)
    warn_outside(settings, Batching(batch_size, n_sequences), TIMES_LIMIT)
    steps_per_epoch = -(-n_sequences // batch_size)
    steps = recorded_steps(n_epochs * steps_per_epoch, growth)
    sizes: dict[str, Any] = {"init_rate": init_rate, "d_m": d_m, "d_f": d_f, "batch_size": batch_size}
    options: dict[str, Any] = {"clip_norm": clip_norm, "activation": activation, "tolerance": tolerance}
    options |= {"scatter": scatter, "max_gradients": max_gradients}
    found = []
    for seed in seeds:
        scored = []
        for step, _, now in follow_training(task, settings, steps, seed, **sizes, **options):
            scored.append(now)
            report(step)
        found.append(scored)
    names = [name for name in found[0][0] if name != TRAINING]
    loss, accuracy = (
        {name: np.array([[at[name][part] for at in start] for start in found]) for name in names}
        for part in (0, 1)
    )
    return LearningCurves(np.array(steps), accuracy, loss, steps_per_epoch)


def follow_training(
    task: Task,
    settings: AdamSettings | SGDSettings,
    steps: Iterable[int],
    seed: int,
    *,
    init_rate: float,
    d_m: int,
    d_f: int,
    batch_size: int,
    clip_norm: float,
    activation: ActivationLike,
    tolerance: float,
    scatter: bool,
    max_gradients: int,
) -> Iterator[tuple[int, Matrices, dict[str, tuple[float, float]]]]:
    """Yield each step with the mean of the weights there, and every data set's loss and accuracy."""
    batching, sigma = Batching(batch_size, training_size(task)), as_activation(activation)
    rng = np.random.default_rng(seed)
    population = single_precision(count_population(task, draw_tables(task, rng)))
    start = EmbMLPParameters.draw(task.vocab_size, d_m=d_m, d_f=d_f, init_rate=init_rate, rng=rng)
    noise = rng.spawn(1)[0] if scatter else None
    training = MeanTraining(population, settings, batching, clip_norm, sigma, tolerance, noise, max_gradients)
    for now in training.follow(start, steps):
        each = [scores(population, seen, sigma) for seen in now.seen]
        mean = {name: np.mean([at[name] for at in each], axis=0) for name in each[0]}
        yield now.step, now.mean, {name: (float(loss), float(hit)) for name, (loss, hit) in mean.items()}


def training_size(task: Task) -> int:
    """Return the number of training sequences in a task's population; refuse one too large to enumerate."""
    check_size(task)
    every, trained = (sum(task.n_combinations(m, held_out=h) for m in task.mappings) for h in (False, True))
    return population_size(task) * trained // every


def recorded_steps(n_steps: int, growth: float) -> list[int]:
    """Return 0 and steps that grow by a factor, up to ``n_steps``."""
    number = math.ceil(math.log(n_steps / FIRST) / math.log(growth)) if n_steps > FIRST else 0
    inside = {round(FIRST * growth**k) for k in range(number)}
    return [0, *sorted(s for s in inside if s < n_steps), n_steps]
