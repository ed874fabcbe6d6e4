"""Emb-MLPs trained by torch, for the scripts that hold AdamW's flow and the learning times against runs."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch.nn.functional import cross_entropy

from theory import (
    AdamSettings,
    CountPopulation,
    EmbMLPParameters,
    SGDSettings,
    Task,
    count_population,
    draw_tables,
    enumerate_population,
    labels_of,
)
from theory.flows.gradient import single_precision
from theory.flows.learning_curves import training_size

SMALL = Task(
    keys=range(12, 52),
    reasoning_anchors=range(6, 11),
    memory_anchors=range(1, 6),
    n_anchors=2,
    length=3,
    vocab_size=72,
    held_out={(6, 8), (8, 6)},
)


@dataclass(frozen=True)
class Setting:
    """A task, its network and how it is trained."""

    task: Task
    settings: AdamSettings | SGDSettings
    init_rate: float
    d_m: int = 40
    d_f: int = 80
    batch: int = 50
    clip: float = 1.0
    independent: bool = False
    seed: int = 7

    def start(self) -> tuple[CountPopulation, EmbMLPParameters, torch.Tensor, torch.Tensor]:
        """Return the population, the start, and the sequences and labels trained on."""
        rng = np.random.default_rng(self.seed)
        tables = draw_tables(self.task, rng)
        sizes = {"d_m": self.d_m, "d_f": self.d_f, "init_rate": self.init_rate}
        start = EmbMLPParameters.draw(self.task.vocab_size, rng=rng, **sizes)  # type: ignore[arg-type]
        everything = enumerate_population(self.task)
        rows = ~everything.held_out
        labels = labels_of(self.task, everything, tables)[rows]
        population = single_precision(count_population(self.task, tables))
        return population, start, torch.as_tensor(everything.sequences[rows]), torch.as_tensor(labels)

    @property
    def n_train(self) -> int:
        return training_size(self.task)

    @property
    def per_epoch(self) -> int:
        return -(-self.n_train // self.batch)


def batches(setting: Setting, order: int) -> Iterator[torch.Tensor]:
    n, generator = setting.n_train, torch.Generator().manual_seed(order)
    while True:
        if setting.independent:
            yield torch.randint(n, (setting.batch,), generator=generator)
        else:
            yield from torch.split(torch.randperm(n, generator=generator), setting.batch)


def trained(setting: Setting, n_steps: int, order: int) -> Iterator[list[torch.Tensor]]:
    """Yield the weights after each step; ``order`` is the seed of the batches alone."""
    _, start, x, y = setting.start()
    weights = [torch.tensor(m.astype(np.float32), requires_grad=True) for m in start.matrices]
    kind: Any = torch.optim.AdamW if isinstance(setting.settings, AdamSettings) else torch.optim.SGD
    optimizer = kind(weights, lr=setting.settings.rate, weight_decay=setting.settings.weight_decay)
    drawn = batches(setting, order)
    for _ in range(n_steps):
        batch = next(drawn)
        hidden = torch.tanh(weights[0][x[batch]].sum(1) @ weights[1])
        optimizer.zero_grad()
        torch.autograd.backward(cross_entropy(hidden @ weights[2], y[batch]))
        torch.nn.utils.clip_grad_norm_(weights, setting.clip or float("inf"))
        optimizer.step()
        yield [w.detach() for w in weights]
