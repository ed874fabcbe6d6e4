"""The mean course of any of sim's models in training by batches, from the gradients that torch computes.

``theory.flows.mean_training`` follows it; the Emb-MLP's gradients need no torch. A training set of more than
``MOST`` sequences is sampled: by each anchor combination and, within it, by key, with noise and positions as
they come, anew for each interval over which the course holds Adam's second moment fixed. The error of a
sampled gradient is thus averaged out as that of batches is, and is smaller, as long as such an interval has
fewer steps than a sample has batches.

A sample takes every n-th sequence in that order. Neighbours in it are alike, and a coin decides which of two
goes to which half: half the difference of the halves' gradients then has the variance of their mean, but for
the factor 1 − f of a finite population (balanced half-samples; Wolter 2007, *Introduction to Variance
Estimation*, section 8.2). This is exact where neighbours have anchors and key in common, else too large.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

import numpy as np
import torch
from torch import Tensor
from torch.func import grad, vmap

from sim.config.run import MemberConfig, steps_in_epoch
from sim.data.base import Dataset
from sim.data.dataset import TaskDataset, build_dataset
from sim.models.base import model_of
from sim.models.initial import build
from sim.models.layers import Parameters
from sim.seeds import numpy_stream
from theory.edge.arrays import FloatArray
from theory.flows.batches import Batching
from theory.flows.learning_curves import Followed, Scores, mean_scores, recorded_steps
from theory.flows.mean_training import MeanTraining
from theory.flows.predicted_embedding import GROWTH, PredictedEmbedding, Wanted, warn_if_apart
from theory.flows.weight_scatter import SampledScatter
from theory.labels.counts import TRAINING

MOST = 2000
"""Sequences in a gradient, an even number, and scored in each data set."""
SINGLE = 200
"""Sequences whose single gradients give the variance, and the scatter of the weights."""
TOLERANCE = 0.1
_ENTRIES = 2**26
"""The most numbers in these gradients; a quarter of them is computed at a time."""


class ModelGradients:
    """Mean and variance of a batch's gradient, with a model's parameters packed into one vector."""

    dtype = np.dtype(np.float32)

    def __init__(self, member: MemberConfig, data: Dataset, batch_size: int) -> None:
        self._model, self._data = model_of(member.model), data
        self._rng = numpy_stream(member.seed, "course")
        self.batching = Batching(min(batch_size, len(data.train)), len(data.train))
        self.initial = build([member])
        self.sizes = [value.numel() for value in self.initial.values()]
        self._of_single = vmap(grad(self._loss), in_dims=(None, 0, 0))
        self._single = torch.zeros(0)
        self._renew()

    def unpack(self, y: FloatArray) -> Parameters:
        """Return the parameters that a vector holds, each with an axis for one member."""
        parts = torch.split(torch.from_numpy(np.ascontiguousarray(y, self.dtype)), self.sizes)
        pairs = zip(self.initial.items(), parts, strict=True)
        return {name: part.view(value.shape) for (name, value), part in pairs}

    @staticmethod
    def pack(parameters: Parameters) -> FloatArray:
        """Return the parameters of one member as one vector."""
        return np.asarray(torch.cat([value.flatten() for value in parameters.values()]).numpy())

    def mean(self, y: FloatArray) -> FloatArray:
        """Return the gradient of the whole training set, or of the present sample of it."""
        return self._gradient(y, slice(None))

    def standard_error(self, y: FloatArray) -> float:
        """Return that of ``mean`` relative to its norm: 0 where the whole training set is taken."""
        n, taken = len(self._data.train), len(self._labels)
        if n == taken:
            return 0.0
        halves = slice(taken // 2), slice(taken // 2, None)
        one, other = (self._gradient(y, half) for half in halves)
        return float(np.linalg.norm(one - other) / np.linalg.norm(one + other) * (1 - taken / n) ** 0.5)

    def variance(self, y: FloatArray) -> FloatArray:
        """Return the variance of a batch's gradient; draws the sample anew for what comes after."""
        self._single = self._single_gradients(y)
        self._renew()
        return np.asarray(self.batching.factor * self._single.var(dim=0, correction=0).numpy())

    def scatter(self, y: FloatArray, mobility: FloatArray, rate: float) -> SampledScatter | None:
        """Return the scatter of the weights where ``variance`` was called last; None without any."""
        if self.batching.factor == 0:
            return None
        single = (self._single - self._single.mean(dim=0)).numpy()
        return SampledScatter(single, mobility, self.batching, rate)

    @torch.no_grad()
    def scores(self, y: FloatArray) -> Scores:
        """Return loss and accuracy of every data set, and of the training set."""
        found, parameters = {}, self.unpack(y)
        for name, rows in {**self._data.parts, TRAINING: self._data.train}.items():
            rows = rows[:: -(-len(rows) // MOST)]
            loss, correct, n = self._model.scores(
                parameters, self._data.tokens[None, rows], self._data.labels[None, rows]
            )
            found[name] = loss / n, correct / n
        return found

    def _gradient(self, y: FloatArray, rows: slice) -> FloatArray:
        tokens, labels = self._tokens[rows], self._labels[rows]
        return self.pack(self._model.gradients(self.unpack(y), tokens[None], labels[None])[1])

    def _loss(self, parameters: Parameters, tokens: Tensor, label: Tensor) -> Tensor:
        """Return the loss of one sequence (L,), of parameters without the axis of members."""
        own = {name: value[None] for name, value in parameters.items()}
        return self._model.losses(own, tokens[None, None], label[None, None])[0]

    def _single_gradients(self, y: FloatArray) -> Tensor:
        """Return the gradients of ``SINGLE`` sequences drawn from the sample, shape (n, n_parameters)."""
        own = {name: value[0] for name, value in self.unpack(y).items()}
        most = min(SINGLE, max(16, _ENTRIES // len(y)))
        drawn = torch.from_numpy(self._rng.permutation(len(self._labels))[:most])
        found = []
        for rows in torch.split(drawn, max(1, _ENTRIES // 4 // len(y))):
            single = self._of_single(own, self._tokens[rows], self._labels[rows])
            found.append(torch.cat([value.flatten(1) for value in single.values()], dim=1))
        return torch.cat(found)

    def _renew(self) -> None:
        """Take the training set, or a sample with its share of each anchor combination and key."""
        rows, n = self._data.train, len(self._data.train)
        if n > MOST:
            order = self._rng.permutation(n)
            if isinstance(self._data, TaskDataset):
                of = self._data.population
                origin = (part[rows.numpy()[order]] for part in (of.key, of.combination, of.mapping))
                order = order[np.lexsort([*origin])]
            taken = order[((np.arange(MOST) + self._rng.random()) * n / MOST).astype(int)]
            rows = rows[self._rng.permuted(taken.reshape(-1, 2), axis=1).T.flatten()]
        self._tokens, self._labels = self._data.tokens[rows], self._data.labels[rows]


def course_embedding(
    config: MemberConfig, accuracies: Sequence[float], seeds: Sequence[int], max_gradients: int
) -> PredictedEmbedding:
    """Return the embedding where the courses from some seeds first reach training accuracies.

    An accuracy that is not reached within twice the run's epochs is NaN. Raises and warns as
    ``predicted_embedding`` does; the training is one that ``check_course`` allows.
    """
    task, epochs, wanted = config.build_task(), 2 * config.training.epochs, Wanted(tuple(accuracies), True)
    per_epoch = steps_in_epoch(len(build_dataset(config).train), config.training.batch_size)
    grid = recorded_steps(epochs * per_epoch, GROWTH)
    members = [config.model_copy(update={"seed": seed}) for seed in seeds]
    learned = "mem" if all(mapping.is_table for mapping in task.mappings) else "rsn_train"
    found = wanted.embedding((follow(each, grid, max_gradients) for each in members), learned)
    warn_if_apart(found, task.anchors)
    return found


def follow(member: MemberConfig, steps: Iterable[int], max_gradients: int) -> Iterator[Followed]:
    """Yield the points of a run's mean course at some steps, from the weights that its seed draws.

    The learning rate is taken to be constant. Data sets are named as in a run's metrics.
    """
    training = member.training
    settings, size = training.flow(), training.batch_size
    data = build_dataset(member)
    assert settings is not None
    gradients = ModelGradients(member, data, len(data.train) if size == "full" else size)
    noise = numpy_stream(member.seed, "course/scatter")
    course = MeanTraining(
        gradients, settings, training.clip_norm, TOLERANCE, noise, max_gradients, lagging=True
    )
    for now in course.follow(gradients.pack(gradients.initial), steps):
        embedding = gradients.unpack(now.mean)[member.model.embedding][0].numpy()
        seen = mean_scores([gradients.scores(weights) for weights in now.seen])
        yield Followed(now.step, embedding, seen, gradients.standard_error(now.mean))
