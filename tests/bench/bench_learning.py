"""What predicting the learning curves costs, beside a step of the training that is predicted."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable
from typing import Any

import numpy as np

from theory import TANH, AdamSettings, EmbMLPParameters, Task, count_population, draw_tables, predict_learning
from theory.flows.gradient import population_field
from theory.flows.gradient_noise import GradientNoise
from theory.flows.mean_training import single_precision
from theory.flows.parameters import Matrices
from theory.flows.weight_scatter import curvature_factors

EPOCHS = 2


def bench_learning() -> dict[str, Any]:
    """Return seconds, in the paper's Emb-MLP setting, one thread."""
    task, rng = Task.paper(length=3), np.random.default_rng(0)
    population = single_precision(count_population(task, draw_tables(task, rng)))
    start = EmbMLPParameters.draw(task.vocab_size, d_m=200, d_f=512, init_rate=0.5, rng=rng)
    weights = Matrices(*(matrix.astype(np.float32) for matrix in start.matrices))
    field, noise = population_field(population, TANH), GradientNoise(population)
    settings = AdamSettings(1e-4)
    work: dict[str, Callable[[], object]] = {
        "one gradient of the population": lambda: field(weights),
        "its noise, entry by entry": lambda: noise.moments(weights, TANH),
        "factors of the weights' scatter": lambda: curvature_factors(population, weights, TANH),
        f"curves, AdamW 1e-4, {EPOCHS} epochs": lambda: predict_learning(
            task, settings, init_rate=0.5, n_epochs=EPOCHS
        ),
        "the same of the mean course alone": lambda: predict_learning(
            task, settings, init_rate=0.5, n_epochs=EPOCHS, scatter=False
        ),
    }
    return {
        "what": "learning curves without training, s",
        **{name: _seconds(call) for name, call in work.items()},
    }


def _seconds(call: Callable[[], object], rounds: int = 3) -> dict[str, float]:
    times = []
    for _ in range(rounds):
        start = time.perf_counter()
        call()
        times.append(time.perf_counter() - start)
    return {"median": statistics.median(times), "min": min(times), "max": max(times)}
