"""Steps per second of the engine, of a plain loop, and of the machine's own matrix products."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable
from typing import Any

import torch

from sim import RunConfig, Trainer, choose_route, matmul_route
from tests.bench.reference import reference_losses

STEPS, ROUNDS = 200, 5


def bench_train() -> dict[str, Any]:
    """Return steps per second of the paper's Emb-MLP on one thread, medians of interleaved rounds."""
    torch.set_num_threads(1)
    member = RunConfig().members()[0]
    route = choose_route(100, (200, 512, 200))
    trainer = Trainer([member])
    rates: dict[str, list[float]] = {"plain loop": [], "engine, default product": [], "engine": []}
    # In turn, so that a drift of the machine's speed meets all of them.
    for _ in range(ROUNDS):
        rates["plain loop"].append(_rate(lambda: reference_losses(member, STEPS)))
        rates["engine, default product"].append(_rate(lambda: _steps(trainer)))
        with matmul_route(route.route):
            rates["engine"].append(_rate(lambda: _steps(trainer)))
    operations = 2 * 100 * (200 * 512 + 512 * 200) * 3
    limit = route.gflops[route.route] * 1e9 / operations
    medians = {name: statistics.median(values) for name, values in rates.items()}
    return {
        "what": "Emb-MLP, d_m 200, d_f 512, batch 100, AdamW, one thread",
        "steps_per_second": {
            name: {"median": medians[name], "min": min(values), "max": max(values)}
            for name, values in rates.items()
        },
        "matmul": route.as_dict(),
        "matmul_limit_steps_per_second": limit,
        "ratio_engine_over_plain": medians["engine"] / medians["plain loop"],
        "share_of_matmul_limit": medians["engine"] / limit,
    }


def _rate(work: Callable[[], object]) -> float:
    start = time.perf_counter()
    work()
    return STEPS / (time.perf_counter() - start)


def _steps(trainer: Trainer) -> None:
    generator = torch.Generator().manual_seed(0)
    order = torch.randperm(trainer.n_train, generator=generator)
    for step in range(STEPS):
        first = step * 100 % (trainer.n_train - 100)
        trainer.step(order[first : first + 100].view(1, -1))
