r"""When each data set is learned: loss and accuracy curves of the Emb-MLP, from theory alone.

Weights and memory tables are drawn anew. By default a narrow network (``Narrow``) that learns like the one
asked about is trained on batches (``BatchTraining``), for less than a run. The mean course of training
(``MeanTraining``) is the other route: it explains the times, but costs more than a run. Either way every data
set's loss and accuracy is computed over all its sequences at once.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Annotated, Literal, NamedTuple

import numpy as np

from theory.edge.arrays import Float64, FloatArray, Int64, IntArray
from theory.edge.checked import Between, Positive, Rate, Size, checked
from theory.edge.display import Shown
from theory.edge.errors import InputError
from theory.flows.batch_training import BatchTraining
from theory.flows.batches import (
    TIMES_LIMIT,
    AdamSettings,
    Batching,
    OutsideValidityWarning,
    SGDSettings,
    warn_outside,
)
from theory.flows.gradient import scores, single_precision
from theory.flows.gradient_noise import BatchGradient
from theory.flows.mean_training import MOST_GRADIENTS, MeanTraining
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
_DEPENDS, _ENDS_APART = 0.25, 0.05
"""A time is not to be relied on if half the width changes it by this many doublings, or, where neither width
reaches it, changes the accuracy at the end by this much."""
_SHORTEST_LEARNING = 10
"""The flow leaves out the lag of Adam's first moment: fewer such lags than this are too few to learn in."""


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
    route: Route = "batches",
    width_share: WidthShare | None = None,
    growth: Annotated[float, Between(1.001, 2)] = 1.15,
    tolerance: Positive = 3e-3,
    check_width: bool = True,
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
    route : {"batches", "flow"}, optional
        Whether to train a network on batches or to follow the mean course of training.
    width_share : float, optional
        Both widths of the network that is followed, as a share of ``d_m`` and ``d_f``. None is a quarter, but
        no fewer than 50 dimensions, for batches, and 1 for the flow.
    check_width : bool, optional
        Of batches: whether to train the first start at half the width as well, for some six tenths of a
        start's cost, and to warn of the data sets whose times depend on the width.
    growth : float, optional
        Curves are recorded, and the flow's scatter is redrawn, at steps that grow by this factor; for
        batches at whole epochs from the first one on.
    tolerance : float, optional
        Of the flow: the error of a step of the integrator, and of an interval over which Adam's second moment
        and the divisor of clipping are frozen; relative to the root mean square of each matrix.
    max_gradients : int, optional
        Of the flow: how many gradients of the population each start may take; one takes as long as some
        seventy training steps on batches of 100 at the paper's size.
    report : callable, optional
        Called with each recorded step, for each start, when the curves have reached it.

    Raises
    ------
    InputError
        If the task is too large to enumerate, a batch exceeds the training set, or no seed is given.
    IntegrationError
        If the weights overflow, or the flow would need more than ``max_gradients``.

    Warns
    -----
    OutsideValidityWarning
        For batches: if a time depends on the width of the narrow network. It does for tables that this is too
        small to memorise, in the lazy regime (γ = 0.3) and where SGD is nearly unstable. For the flow: if
        AdamW's batches are too small for its rate, if steps are too long to be taken for a flow, or learning
        is too fast for it.
    """
    if len(seeds) == 0:
        raise InputError("seeds", seeds, "no start", "give at least one")
    followed = route, width_share, tolerance, max_gradients
    training = EmbMLPTraining(
        task, settings, init_rate, (d_m, d_f), batch_size, clip_norm, activation, *followed
    )
    if route == "flow":
        warn_outside(settings, training.batching, TIMES_LIMIT)
    steps = training.recorded_steps(n_epochs * training.steps_per_epoch, growth)
    curves = training.curves(steps, seeds, report)
    if check_width:
        training.warn_of_width(curves, seeds[0], report)
    training.warn_of_lag(curves)
    return curves


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
    def _narrow(self) -> Narrow:
        share = 1.0 if self.route == "flow" and self.width_share is None else self.width_share
        return Narrow.of(*self.widths, share)

    def recorded_steps(self, n_steps: int, growth: float) -> list[int]:
        """Return the steps to record up to a last one."""
        return recorded_steps(n_steps, growth, self.steps_per_epoch if self.route == "batches" else 1)

    def follow(self, steps: Iterable[int], seed: int) -> Iterator[Followed]:
        """Yield the points at some steps, from the weights and tables that a seed draws."""
        rng, narrow = np.random.default_rng(seed), self._narrow
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

    def warn_of_width(self, curves: LearningCurves, seed: int, report: Callable[[int], None]) -> None:
        """Train the first start of narrow networks at half the width, and warn of times that it changes."""
        share = self._narrow.share
        if self.route == "flow" or share == 1:
            return
        narrower = replace(self, width_share=share / 2).curves(curves.steps.tolist(), [seed], report)
        if doubtful := _apart(curves, narrower):
            text = (
                f"At γ = {self.init_rate:g} and half of {share:.3g} of the widths the times of "
                f"{', '.join(doubtful)} are others: at the widths themselves they will be, too. "
                "Take width_share=1, which costs as much as a run."
            )
            warnings.warn(text, OutsideValidityWarning, stacklevel=4)

    def warn_of_lag(self, curves: LearningCurves) -> None:
        """Warn if the flow of AdamW learns too fast for the lag of the first moment, which it leaves out."""
        if self.route == "batches" or not isinstance(self.settings, AdamSettings):
            return
        first = min(curves.half_time(name) for name in curves.accuracy)
        lag = self.settings.betas[0] / (1 - self.settings.betas[0])
        if 0 < first < _SHORTEST_LEARNING * lag:
            text = (
                f"The flow learns in {first:.0f} steps, but leaves out that AdamW's first moment lags by "
                f'{lag:.3g}: training will be later. Take route="batches".'
            )
            warnings.warn(text, OutsideValidityWarning, stacklevel=4)


def mean_scores(each: Sequence[Scores]) -> Scores:
    """Return the means of the losses and accuracies of several weights."""
    mean = {name: np.mean([at[name] for at in each], axis=0) for name in each[0]}
    return {name: (float(loss), float(hit)) for name, (loss, hit) in mean.items()}


def _apart(curves: LearningCurves, narrower: LearningCurves) -> list[str]:
    """Return the data sets whose times, or accuracies at the end, differ for the first start of both."""
    found, end = [], float(curves.steps[-1])
    for name, rows in curves.accuracy.items():
        times = [of.half_times(name)[0] for of in (curves, narrower)]
        if np.isinf(times).all():
            far = abs(rows[0, -1] - narrower.accuracy[name][0, -1]) > _ENDS_APART
        else:
            a, b = (max(min(time, end), 1.0) for time in times)
            far = abs(math.log2(a / b)) > _DEPENDS
        found += [name] * bool(far)
    return found


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
