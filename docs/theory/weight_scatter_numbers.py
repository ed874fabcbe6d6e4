"""What the scatter of weights does to learning: the numbers of learning_times.md, by training with torch.

python docs/theory/weight_scatter_numbers.py averaged      weights and their average over an epoch, SGD 0.5
python docs/theory/weight_scatter_numbers.py bent          what bends the mean of a small task's runs
python docs/theory/weight_scatter_numbers.py times         steps to half accuracy on a small task
python docs/theory/weight_scatter_numbers.py new           the same at settings chosen afterwards, and R²

Without a name it prints all of them, which takes a while.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import torch
from printing import print_sections
from torch.nn.functional import cross_entropy

from theory import (
    TANH,
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
from theory.flows.batch_noise import Batching
from theory.flows.gradient import scores
from theory.flows.learning_curves import recorded_steps, training_size
from theory.flows.mean_training import MeanTraining, Moment, single_precision
from theory.flows.parameters import Matrices
from theory.integrate.first_passage import first_passage
from validate.judge.learning_times import r_squared

Settings = AdamSettings | SGDSettings
Chosen = tuple[Settings, float, int]
"""An optimiser, γ and the number of steps."""
Scores = dict[str, tuple[float, float]]
SMALL = Task(
    keys=range(12, 52),
    reasoning_anchors=range(6, 11),
    memory_anchors=range(1, 6),
    n_anchors=2,
    length=3,
    vocab_size=72,
    held_out={(6, 8), (8, 6)},
)
SETTINGS: list[Chosen] = [
    (SGDSettings(0.3), 0.5, 5000),
    (SGDSettings(1.0), 0.5, 2500),
    (AdamSettings(1e-3), 0.6, 4000),
    (AdamSettings(3e-3), 0.6, 1500),
]
NEW: list[Chosen] = [
    (SGDSettings(0.6), 0.7, 4000),
    (SGDSettings(0.6), 0.35, 2500),
    (AdamSettings(2e-3), 0.4, 2500),
    (AdamSettings(2e-3), 0.75, 2000),
    (AdamSettings(5e-3), 0.5, 1500),
]
PARTS = ("memory", "reasoning train")


@dataclass(frozen=True)
class Setting:
    """A task, its network and how it is trained."""

    task: Task
    settings: Settings
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
        start = EmbMLPParameters.draw(
            self.task.vocab_size, d_m=self.d_m, d_f=self.d_f, init_rate=self.init_rate, rng=rng
        )
        everything = enumerate_population(self.task)
        rows = ~everything.held_out
        labels = labels_of(self.task, everything, tables)[rows]
        population = single_precision(count_population(self.task, tables))
        return population, start, torch.as_tensor(everything.sequences[rows]), torch.as_tensor(labels)

    @property
    def per_epoch(self) -> int:
        return -(-training_size(self.task) // self.batch)


def batches(setting: Setting, n: int, order: int) -> Iterator[torch.Tensor]:
    generator = torch.Generator().manual_seed(order)
    while True:
        if setting.independent:
            yield torch.randint(n, (setting.batch,), generator=generator)
        else:
            drawn = torch.randperm(n, generator=generator)
            yield from (drawn[first : first + setting.batch] for first in range(0, n, setting.batch))


def trained(setting: Setting, n_steps: int, order: int) -> Iterator[list[torch.Tensor]]:
    """Yield the weights after each step."""
    _, start, x, y = setting.start()
    weights = [torch.tensor(m.astype(np.float32), requires_grad=True) for m in start.matrices]
    kind: Any = torch.optim.AdamW if isinstance(setting.settings, AdamSettings) else torch.optim.SGD
    optimizer = kind(weights, lr=setting.settings.rate, weight_decay=setting.settings.weight_decay)
    drawn = batches(setting, len(y), order)
    for _ in range(n_steps):
        batch = next(drawn)
        hidden = torch.tanh(weights[0][x[batch]].sum(1) @ weights[1])
        optimizer.zero_grad()
        torch.autograd.backward(cross_entropy(hidden @ weights[2], y[batch]))
        torch.nn.utils.clip_grad_norm_(weights, setting.clip or float("inf"))
        optimizer.step()
        yield [w.detach() for w in weights]


def scored(population: CountPopulation, weights: Sequence[torch.Tensor]) -> Scores:
    return scores(population, Matrices(*(w.numpy() for w in weights)), TANH)


def now_and_averaged(setting: Setting, n_steps: int) -> tuple[Scores, Scores]:
    """Return the scores of the last weights, and of their average over the last epoch."""
    population, *_ = setting.start()
    total: list[torch.Tensor] = []
    for step, weights in enumerate(trained(setting, n_steps, 0)):
        if step == n_steps - setting.per_epoch:
            total = [w.clone() for w in weights]
        elif total:
            total = [a + w for a, w in zip(total, weights, strict=True)]
    return scored(population, weights), scored(population, [t / setting.per_epoch for t in total])


def averaged() -> None:
    """Print both for the paper's Emb-MLP task, from the start of the kept predictions."""
    paper = Setting(Task.paper(length=3), SGDSettings(0.5), 0.5, d_m=200, d_f=512, batch=100, seed=1000)
    for name, found in zip(("the weights", "their average"), now_and_averaged(paper, 3168), strict=True):
        print(name, {part: tuple(round(v, 3) for v in found[part]) for part in PARTS})


def bent() -> None:
    """Print the averaged weights' losses after a Σ rate of 585 steps at rate 1, made in several ways."""
    plain = Setting(SMALL, SGDSettings(1.0), 0.5)
    ways = {
        "rate 1": plain,
        "rate 1, independent batches": replace(plain, independent=True),
        "rate 0.25": replace(plain, settings=SGDSettings(0.25)),
    }
    print("| training | memory | reasoning train |\n| --- | --- | --- |")
    for name, setting in ways.items():
        _, average = now_and_averaged(setting, round(585 / setting.settings.rate))
        print(f"| {name} | " + " | ".join(f"{average[part][0]:.3f}" for part in PARTS) + " |", flush=True)
    steps = recorded_steps(585, 1.2)
    for name, scatter in (("mean course", False), ("mean course, felt", True)):
        found = [scores(plain.start()[0], now.mean, TANH) for now in course(plain, steps, scatter)][-1]
        print(f"| {name} | " + " | ".join(f"{found[part][0]:.3f}" for part in PARTS) + " |", flush=True)


def course(setting: Setting, steps: Sequence[int], scatter: bool) -> Iterator[Moment]:
    population, start, *_ = setting.start()
    batching = Batching(setting.batch, training_size(setting.task))
    rng = np.random.default_rng(1) if scatter else None
    training = MeanTraining(population, setting.settings, batching, setting.clip, TANH, 3e-3, rng)
    return training.follow(start, steps)


def half_times(steps: Sequence[int], curve: Sequence[Scores]) -> list[float]:
    return [
        first_passage(np.array(steps, float), np.array([at[part][1] for at in curve]), 0.5) for part in PARTS
    ]


def times(chosen: Sequence[Chosen] = SETTINGS) -> None:
    """Print steps to half accuracy: mean course, with scatter, and two runs; and R² of their logs."""
    print("| setting | data set | mean course | with scatter | runs |\n| --- | --- | --- | --- | --- |")
    every: list[list[float]] = []
    for settings, init_rate, n_steps in chosen:
        setting = Setting(SMALL, settings, init_rate)
        population, *_ = setting.start()
        K = setting.per_epoch
        steps = sorted({-(-s // K) * K for s in recorded_steps(n_steps, 1.15)})
        curves = ([seen(population, at) for at in course(setting, steps, on)] for on in (False, True))
        found = [half_times(steps, curve) for curve in curves]
        for order in range(2):
            run = enumerate(trained(setting, steps[-1], order), 1)
            found.append(half_times(steps[1:], [scored(population, w) for s, w in run if s in steps]))
        for k, part in enumerate(PARTS):
            name = f"{type(settings).__name__[:-8]} {settings.rate:g}, γ = {init_rate:g}"
            cells = [f"{row[k]:.0f}" for row in found]
            print(f"| {name} | {part} | {cells[0]} | {cells[1]} | {', '.join(cells[2:])} |", flush=True)
            every.append(
                [min(row[k], steps[-1]) for row in found]
                if all(np.isfinite(row[k]) for row in found[2:])
                else []
            )
    logs = np.log2(np.array([row for row in every if row]))
    observed = logs[:, 2:].ravel()
    for column, name in enumerate(("mean course", "with scatter")):
        print(f"R², {name}: {r_squared(observed.tolist(), np.repeat(logs[:, column], 2).tolist()):.3f}")


def seen(population: CountPopulation, at: Moment) -> Scores:
    """Return the mean scores of the weights that a run may have."""
    each = [scores(population, weights, TANH) for weights in at.seen]
    return {name: tuple(np.mean([at[name] for at in each], axis=0).tolist()) for name in each[0]}


if __name__ == "__main__":
    sections = {"bent": bent, "averaged": averaged, "times": times, "new": lambda: times(NEW)}
    print_sections(sections, __doc__)
