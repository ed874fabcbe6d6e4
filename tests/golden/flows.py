"""The ladder of flows, AdamW's steps, the staircase and learning times on a small task."""

import warnings
from collections.abc import Iterator
from typing import Any

import numpy as np

import theory
from theory import AdamSettings, EmbMLPParameters, SGDSettings, Task, Trajectory

TASK = Task(
    keys=range(8, 14),
    reasoning_anchors=range(4, 7),
    memory_anchors=range(1, 4),
    n_anchors=2,
    length=3,
    vocab_size=28,
    held_out={(4, 5), (5, 4)},
)
RTOLS = {": losses": 1e-4}
"""Single precision over a thousand steps: kinds of processor differ by 1e-5 of a loss, never in accuracy."""


def kept(path: Trajectory) -> list[Any]:
    matrices = [path[name] for name in ("W_emb", "W1", "W2", "B") if name in path.kept]
    return [path.times, *matrices, *path.losses.values()]


def entries() -> Iterator[tuple[str, Any]]:
    rng = np.random.default_rng(3)
    population = theory.count_population(TASK, theory.draw_tables(TASK, rng))
    start = EmbMLPParameters.draw(TASK.vocab_size, d_m=10, d_f=14, init_rate=0.8, rng=rng)
    C, S = population.token_label_matrix(), population.cooccurrence()
    clock = theory.blow_up_bound(C, start)
    times, later = np.linspace(0, 0.9 * clock, 4), np.linspace(0, 4 * clock, 5)
    both: dict[str, Any] = {"keep": ("W_emb", "W1", "W2", "B"), "weight_decay": 1e-3}
    decayed = theory.blow_up_bound(C, start, weight_decay=1e-3)
    yield "start and clock", [start.matrices.packed(), clock, decayed, theory.frozen_direction(C, start)]
    yield "frozen_flow", kept(theory.frozen_flow(C, start, times, **both))
    yield "coupled_flow", kept(theory.coupled_flow(C, start, times, **both))
    yield "linearised_flow", kept(theory.linearised_flow(C, S, start, later, **both))
    blown = theory.coupled_flow(C, start, np.linspace(0, 50 * clock, 40))
    yield "coupled_flow: blow-up", [blown.blow_up, len(blown.times)]
    for activation in ("identity", "tanh"):
        flow = theory.population_flow(population, start, later, activation=activation, keep=("W_emb", "B"))
        yield f"population_flow, {activation}", kept(flow)
    warnings.simplefilter("ignore")  # of batches too small for what is predicted
    stairs = theory.saddle_staircase(C, S, start.scaled(0.1), 2)
    yield "saddle_staircase", [stairs.times, stairs.drives, stairs.ranks, stairs.slow_share]
    threshold = theory.escape_threshold(start)
    long = theory.linearised_flow(C, S, start, np.linspace(0, 30 * clock, 200))
    yield "measured_rank_steps", theory.measured_rank_steps(long, threshold, 2)
    u, _, w = np.linalg.svd(C)
    yield "escape_dose", [theory.escape_dose(start, u[:, k], w[k], threshold) for k in range(3)]
    sizes: dict[str, Any] = {"init_rate": 0.6, "n_epochs": 40, "d_m": 16, "d_f": 24, "batch_size": 12}
    for name, optimizer in {"AdamW": AdamSettings(1e-3), "SGD": SGDSettings(0.3)}.items():
        for route, growth in (("flow", 1.2), ("batches", 1.15)):
            given = sizes | {"route": route, "growth": growth}
            curves = theory.predict_learning(TASK, optimizer, seeds=(0, 1), **given)
            yield f"predict_learning, {name}, {route}: steps", curves.steps
            yield f"predict_learning, {name}, {route}: accuracies", curves.accuracy
            yield f"predict_learning, {name}, {route}: losses", curves.loss
