"""What the scatter of weights does to learning: the numbers of learning_times.md, by training with torch.

python docs/theory/weight_scatter_numbers.py averaged      weights and their average over an epoch, SGD 0.5
python docs/theory/weight_scatter_numbers.py bent          what bends the mean of a small task's runs
python docs/theory/weight_scatter_numbers.py times         steps to half accuracy on a small task, and R²
python docs/theory/weight_scatter_numbers.py directions    curvature and noise along the noise's directions

Without a name it prints all of them, which takes a while.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np
import torch
from printing import print_sections
from small_runs import SMALL, Setting, trained
from torch.nn.functional import cross_entropy

from theory import TANH, AdamSettings, CountPopulation, SGDSettings, Task
from theory.arrays import FloatArray
from theory.flows.batches import Batching
from theory.flows.gradient import scores
from theory.flows.learning_curves import recorded_steps
from theory.flows.mean_training import MeanTraining, Moment
from theory.flows.weight_scatter import WeightScatter, curvature_factors
from theory.integrate.first_passage import first_passage
from theory.integrate.matrices import Matrices
from validate.judge.learning_times import r_squared

Scores = dict[str, tuple[float, float]]
CHOSEN = {
    "the first four": [
        (SGDSettings(0.3), 0.5, 5000),
        (SGDSettings(1.0), 0.5, 2500),
        (AdamSettings(1e-3), 0.6, 4000),
        (AdamSettings(3e-3), 0.6, 1500),
    ],
    "five written down afterwards": [
        (SGDSettings(0.6), 0.7, 4000),
        (SGDSettings(0.6), 0.35, 2500),
        (AdamSettings(2e-3), 0.4, 2500),
        (AdamSettings(2e-3), 0.75, 2000),
        (AdamSettings(5e-3), 0.5, 1500),
    ],
}
PARTS = ("memory", "reasoning train")


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
    for name, at in zip(("the weights", "their average"), now_and_averaged(paper, 3168), strict=True):
        print(name, {part: tuple(round(v, 3) for v in at[part]) for part in PARTS})


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
    for name, scatter in (("mean course", False), ("mean course, felt", True)):
        *_, last = course(plain, recorded_steps(585, 1.2), scatter)
        losses = scores(plain.start()[0], last.mean, TANH)
        print(f"| {name} | " + " | ".join(f"{losses[part][0]:.3f}" for part in PARTS) + " |", flush=True)


def course(setting: Setting, steps: Sequence[int], scatter: bool) -> Iterator[Moment]:
    population, start, *_ = setting.start()
    batching = Batching(setting.batch, setting.n_train)
    rng = np.random.default_rng(1) if scatter else None
    training = MeanTraining(population, setting.settings, batching, setting.clip, TANH, 3e-3, rng)
    return training.follow(start, steps)


def half_times(steps: Sequence[int], curve: Sequence[Scores]) -> list[float]:
    return [
        first_passage(np.array(steps, float), np.array([at[part][1] for at in curve]), 0.5) for part in PARTS
    ]


def times() -> None:
    """Print steps to half accuracy: mean course, with scatter, and two runs; and R² of their logs."""
    print("| setting | data set | mean course | with scatter | runs |\n| --- | --- | --- | --- | --- |")
    for group, chosen in CHOSEN.items():
        every: list[list[float]] = []
        for settings, init_rate, n_steps in chosen:
            setting = Setting(SMALL, settings, init_rate)
            population, K = setting.start()[0], setting.per_epoch
            steps = sorted({-(-s // K) * K for s in recorded_steps(n_steps, 1.15)})
            curves = ([seen(population, at) for at in course(setting, steps, on)] for on in (False, True))
            columns = [half_times(steps, curve) for curve in curves]
            for order in range(2):
                run = enumerate(trained(setting, steps[-1], order), 1)
                columns.append(half_times(steps[1:], [scored(population, w) for s, w in run if s in steps]))
            for k, part in enumerate(PARTS):
                name = f"{type(settings).__name__[:-8]} {settings.rate:g}, γ = {init_rate:g}"
                cells = [f"{column[k]:.0f}" for column in columns]
                print(f"| {name} | {part} | {cells[0]} | {cells[1]} | {', '.join(cells[2:])} |", flush=True)
                if all(np.isfinite(column[k]) for column in columns[2:]):
                    every.append([min(column[k], steps[-1]) for column in columns])
        logs = np.log2(np.array(every))
        observed = logs[:, 2:].ravel().tolist()
        for column, name in enumerate(("mean course", "with scatter")):
            print(f"R², {group}, {name}: {r_squared(observed, np.repeat(logs[:, column], 2).tolist()):.3f}")


def seen(population: CountPopulation, at: Moment) -> Scores:
    """Return the mean scores of the weights that a run may have."""
    each = [scores(population, weights, TANH) for weights in at.seen]
    return {name: tuple(np.mean([at[name] for at in each], axis=0).tolist()) for name in each[0]}


def directions() -> None:
    """Print H over Σ where Σ is largest, and the weights' total variance over the predicted one, SGD 0.5."""
    task = Task(
        keys=range(10, 18), reasoning_anchors=(4, 5, 6), memory_anchors=(1, 2, 3), n_anchors=2, length=3,
        vocab_size=32,
    )  # fmt: skip
    setting = Setting(task, SGDSettings(0.5), 0.5, d_m=6, d_f=8, batch=16, clip=0.0)
    print(f"n = {setting.n_train}, batches of {setting.batch}")
    print("| steps | |H − Σ|/|Σ| | H/Σ along Σ's top 20: median, range | variance of runs over predicted |")
    print("| --- | --- | --- | --- |")
    marks = [setting.per_epoch * k for k in (10, 50, 200)]
    runs = [
        [torch.cat([w.flatten() for w in weights]).clone() for s, weights in course if s in marks]
        for course in (enumerate(trained(setting, marks[-1], order), 1) for order in range(24))
    ]
    for k, mark in enumerate(marks):
        every = torch.stack([run[k] for run in runs]).double()
        mean = every.mean(0)
        ratio = float(every.var(0).sum()) / predicted_variance(setting, mean)
        H, noise = curvature_and_noise(setting, mean)
        values, axes = np.linalg.eigh(noise)
        top = axes[:, -20:]
        along = np.sum(top * (H @ top), axis=0) / values[-20:]
        off = np.linalg.norm(H - noise) / np.linalg.norm(noise)
        spread = f"{np.median(along):.2f}, {along.min():.2f} to {along.max():.2f}"
        print(f"| {mark} | {off:.2f} | {spread} | {ratio:.0f} |", flush=True)


def predicted_variance(setting: Setting, mean: torch.Tensor) -> float:
    """Return the total variance at the end of a reshuffled epoch, from 20 draws."""
    population, start, *_ = setting.start()
    now = start.matrices.unpack(mean.numpy())
    ones = Matrices(*(np.ones_like(matrix) for matrix in now))
    batching = Batching(setting.batch, setting.n_train)
    scatter = WeightScatter(curvature_factors(population, now, TANH), ones, batching, setting.settings.rate)
    rng = np.random.default_rng(0)
    return float(np.mean([np.sum(scatter.reshuffled(rng).packed() ** 2) for _ in range(20)]))


def curvature_and_noise(setting: Setting, mean: torch.Tensor) -> tuple[FloatArray, FloatArray]:
    """Return the Hessian of the loss and the covariance of one sequence's gradient, by autograd."""
    _, start, x, y = setting.start()
    sizes = [matrix.shape for matrix in start.matrices]

    def losses(vector: torch.Tensor) -> torch.Tensor:
        parts = vector.split([int(np.prod(size)) for size in sizes])
        W_emb, W1, W2 = (part.reshape(size) for part, size in zip(parts, sizes, strict=True))
        return cross_entropy(torch.tanh(W_emb[x].sum(1) @ W1) @ W2, y, reduction="none")

    rows = torch.func.jacrev(losses)(mean).numpy()
    H = torch.func.hessian(lambda vector: losses(vector).mean())(mean).numpy()
    return H, np.cov(rows.T, bias=True)


if __name__ == "__main__":
    sections = {"bent": bent, "averaged": averaged, "times": times, "directions": directions}
    print_sections(sections, __doc__)
