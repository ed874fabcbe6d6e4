"""The training of an Emb-MLP, from theory alone: loss and accuracy of every data set at each step.

Weights and memory tables are drawn anew. By default a narrow network (``Narrow``) that learns like the one
asked about is trained on batches (``BatchTraining``), for less than a run. The mean course of training
(``MeanTraining``) is the other route: it explains the times, but costs more than a run. Either way every data
set's loss and accuracy is computed over all its sequences at once.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Annotated, Literal, NamedTuple

import numpy as np

from theory.edge.arrays import Float64, FloatArray, Int64, IntArray
from theory.edge.checks import Between
from theory.edge.display import Shown
from theory.edge.errors import InputError
from theory.flows.batch_training import BatchTraining
from theory.flows.batches import AdamSettings, Batching, SGDSettings
from theory.flows.gradient import scores, single_precision
from theory.flows.gradient_noise import BatchGradient
from theory.flows.mean_training import MeanTraining
from theory.flows.narrow import Narrow
from theory.flows.network import ActivationLike, as_activation
from theory.integrate.trajectory import first_passage
from theory.labels.counts import TRAINING, check_size, count_population
from theory.task.population import draw_tables, population_size
from theory.task.task import Task

HALF = 0.5
"""The accuracy at which a data set counts as learned."""
FIRST = 20
"""The first step that is recorded."""
Route = Literal["batches", "flow"]
Scores = dict[str, tuple[float, float]]
WidthShare = Annotated[float, Between(0.01, 1)]


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


class Followed(NamedTuple):
    """A point of training: the mean of the embedding there, and every data set's loss and accuracy."""

    step: int
    W_emb: FloatArray
    scores: Scores
    gradient_error: float = 0.0  # standard error of a sampled gradient, relative to its norm


@dataclass(frozen=True)
class EmbMLPTraining:
    """The training of an Emb-MLP, to be followed from starts of its own."""

    task: Task
    settings: AdamSettings | SGDSettings
    init_rate: float
    widths: tuple[int, int]
    batch_size: int
    clip_norm: float
    activation: ActivationLike
    route: Route
    width_share: float | None
    tolerance: float
    max_gradients: int

    @cached_property
    def batching(self) -> Batching:
        """How batches are drawn."""
        return Batching(self.batch_size, training_size(self.task))

    @property
    def steps_per_epoch(self) -> int:
        """The number of batches in an epoch."""
        return self.batching.per_epoch or 1

    @property
    def narrow(self) -> Narrow:
        """The network that is trained in place of the one asked about."""
        share = 1.0 if self.route == "flow" and self.width_share is None else self.width_share
        return Narrow.of(*self.widths, share)

    def recorded_steps(self, n_steps: int, growth: float) -> list[int]:
        """Return the steps to record up to a last one."""
        return recorded_steps(n_steps, growth, self.steps_per_epoch if self.route == "batches" else 1)

    def follow(self, steps: Iterable[int], seed: int) -> Iterator[Followed]:
        """Yield the points at some steps, from the weights and tables that a seed draws."""
        rng, narrow = np.random.default_rng(seed), self.narrow
        sigma = narrow.activation(as_activation(self.activation))
        population = single_precision(count_population(self.task, draw_tables(self.task, rng)))
        start = narrow.draw(self.task.vocab_size, self.init_rate, rng).matrices
        drawn, how, noise = (
            (population, self.batching, sigma),
            (self.settings, self.clip_norm),
            rng.spawn(1)[0],
        )
        if self.route == "batches":
            points = BatchTraining(*drawn, *how, narrow.scale, noise).follow(start, steps)
        else:
            gradients = BatchGradient(*drawn, start)
            scale = np.repeat(narrow.scale, gradients.sizes)
            course = MeanTraining(gradients, *how, self.tolerance, noise, self.max_gradients, scale)
            points = course.follow(start.packed(), steps)
        for now in points:
            each = [scores(population, start.unpack(seen), sigma) for seen in now.seen]
            yield Followed(now.step, start.unpack(now.mean).W_emb, mean_scores(each))

    def curves(
        self, steps: Sequence[int], seeds: Sequence[int], report: Callable[[int], None]
    ) -> LearningCurves:
        """Return every data set's loss and accuracy at some steps, from some starts."""
        found: list[list[Scores]] = []
        for seed in seeds:
            found.append([])
            for now in self.follow(steps, seed):
                found[-1].append(now.scores)
                report(now.step)
        names = [name for name in found[0][0] if name != TRAINING]
        loss, accuracy = (
            {name: np.array([[at[name][part] for at in start] for start in found]) for name in names}
            for part in (0, 1)
        )
        return LearningCurves(np.array(steps), accuracy, loss, self.steps_per_epoch)


def mean_scores(each: Sequence[Scores]) -> Scores:
    """Return the means of the losses and accuracies of several weights."""
    mean = {name: np.mean([at[name] for at in each], axis=0) for name in each[0]}
    return {name: (float(loss), float(hit)) for name, (loss, hit) in mean.items()}


def training_size(task: Task) -> int:
    """Return the number of training sequences in a task's population; refuse one too large to enumerate."""
    check_size(task)
    every, trained = (sum(task.n_combinations(m, held_out=h) for m in task.mappings) for h in (False, True))
    return population_size(task) * trained // every


def recorded_steps(n_steps: int, growth: float, epoch: int = 1) -> list[int]:
    """Return 0 and steps that grow by a factor, up to ``n_steps``; rounded to whole epochs after the first.

    In the middle of a reshuffled epoch a run's weights scatter more than at its end, where runs are observed.
    """
    number = math.ceil(math.log(n_steps / FIRST) / math.log(growth)) if n_steps > FIRST else 0
    inside = {round(FIRST * growth**k) for k in range(number)}
    whole = {s if s < epoch else epoch * round(s / epoch) for s in inside}
    return [0, *sorted(s for s in whole if s < n_steps), n_steps]
