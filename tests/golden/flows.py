"""The ladder of flows, AdamW's steps and flow, the staircase, horizons and learning times on small tasks."""

import warnings
from collections.abc import Iterator
from typing import Any

import numpy as np

from theory import (
    TANH,
    AdamSettings,
    EmbMLPParameters,
    SGDSettings,
    Task,
    Trajectory,
    adam_steps,
    adaptive_flow,
    blow_up_bound,
    count_population,
    coupled_flow,
    draw_tables,
    escape_dose,
    escape_threshold,
    frozen_direction,
    frozen_flow,
    gradient_orders,
    linearised_flow,
    measured_rank_steps,
    population_flow,
    predict_learning,
    saddle_staircase,
    validity_horizon,
)

KEEPABLE = ("W_emb", "W1", "W2", "B")


def small_task() -> Task:
    """Return a task of 16 tokens whose flows take fractions of a second."""
    return Task(
        keys=range(8, 14),
        reasoning_anchors=range(4, 7),
        memory_anchors=range(1, 4),
        n_anchors=2,
        length=3,
        vocab_size=28,
        held_out={(4, 5), (5, 4)},
    )


def arrays(path: Trajectory) -> list[float]:
    """Return everything that a trajectory holds, in one list."""
    kept = [path[name] for name in KEEPABLE if name in path.kept]
    parts = [path.times, *kept, *path.losses.values(), *path.invariants.values()]
    return [float(x) for part in parts for x in np.ravel(part)]


def entries() -> Iterator[tuple[str, Any]]:
    """Yield the entries."""
    task, rng = small_task(), np.random.default_rng(3)
    population = count_population(task, draw_tables(task, rng))
    start = EmbMLPParameters.draw(task.vocab_size, d_m=10, d_f=14, init_rate=0.8, rng=rng)
    C, S = population.token_label_matrix(), population.cooccurrence()
    clock = blow_up_bound(C, start)
    times = np.linspace(0, 0.9 * clock, 4)
    later = np.linspace(0, 4 * clock, 5)
    both = {"population": population, "keep": ("W_emb", "W1", "W2", "B")}
    yield "start and clock", [*start.matrices.packed(), clock, blow_up_bound(C, start, weight_decay=1e-3)]
    yield "frozen_direction", frozen_direction(C, start)
    yield "frozen_flow", arrays(frozen_flow(C, start, times, weight_decay=1e-3, **both))
    yield "coupled_flow", arrays(coupled_flow(C, start, times, weight_decay=1e-3, **both))
    blown = coupled_flow(C, start, np.linspace(0, 50 * clock, 40))
    yield "coupled_flow: blow-up", [blown.blow_up or 0.0, len(blown.times)]
    yield "linearised_flow", arrays(linearised_flow(C, S, start, later, weight_decay=1e-3, **both))
    for activation in ("identity", "tanh"):
        flow = population_flow(population, start, later, activation=activation, keep=("W_emb", "B"))
        yield f"population_flow, {activation}", arrays(flow)
        expansion = gradient_orders(population, start, activation)
        yield f"gradient_orders, {activation}", list(expansion.terms.values())
    warnings.simplefilter("ignore")  # of batches too small for what is predicted
    for batch_size in (None, 6):
        settings = AdamSettings(2e-3, weight_decay=0.01)
        options: dict[str, Any] = {
            "batch_size": batch_size,
            "n_sequences": 96,
            "activation": TANH,
            "keep": ("W_emb", "W1", "W2"),
        }
        yield (
            f"adam_steps, batch {batch_size}",
            arrays(adam_steps(population, start, [0, 7, 90], settings, **options)),
        )
        flow = adaptive_flow(population, start, np.array([0, 7, 90]) * settings.rate, settings, **options)
        yield f"adaptive_flow, batch {batch_size}", arrays(flow)
    frozen = adam_steps(
        population, start, [5], AdamSettings(1e-3), batch_size=4, softmax="uniform", moving=["W_emb"]
    )
    yield "adam_steps, frozen", arrays(frozen)
    staircase = saddle_staircase(C, S, start.scaled(0.1), 2)
    yield "saddle_staircase", [*staircase.times, *staircase.drives, *staircase.ranks, staircase.slow_share]
    long = linearised_flow(C, S, start, np.linspace(0, 30 * clock, 200))
    yield "measured_rank_steps", measured_rank_steps(long, escape_threshold(start), 2)
    u, _, w = np.linalg.svd(C)
    yield "escape_dose", [escape_dose(start, u[:, k], w[k], escape_threshold(start)) for k in range(3)]
    rows = validity_horizon(
        population, [4, 5, 6], [0.6, 0.9], [0.05, 0.2], d_m=10, d_f=14, rng=np.random.default_rng(0)
    )
    yield "validity_horizon", [(row.time, row.clock, row.span) for row in rows]
    for name, optimizer in {"AdamW": AdamSettings(1e-3), "SGD": SGDSettings(0.3)}.items():
        curves = predict_learning(
            task, optimizer, init_rate=0.6, n_epochs=40, d_m=16, d_f=24, batch_size=12, seeds=(0, 1)
        )
        numbers = [*curves.accuracy.values(), *curves.loss.values()]
        yield f"predict_learning, {name}: steps", curves.steps
        yield f"predict_learning, {name}: curves", np.round(numbers, 3)
