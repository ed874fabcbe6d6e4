"""How a step's cost grows with members, width and length, and where it leaves the straight line.

One process, one thread. Each point is the median of some steps; ``exponent`` is the slope of log time between
a point and the one before, ``share_of_matmul_limit`` says how much of the machine's product speed is left.
"""

from __future__ import annotations

import math
import statistics
import time
from typing import Any

import torch

from sim import RunConfig, Trainer, matmul_route
from sim.fast.memory import keep_freed_memory
from sim.training.kernels import member_route
from tests.bench.products import fewest_seconds, needed_products

MEMBERS, WIDTHS, LENGTHS = (1, 2, 4, 8, 16, 32, 64), (64, 128, 256, 512, 1024), (5, 9, 17, 33, 65)
BATCH = 100


def bench_scaling(steps: int = 7) -> dict[str, Any]:
    """Return for every curve its points: the size, seconds a step, and what the curve does there."""
    torch.set_num_threads(1)
    keep_freed_memory()
    return {
        "members": _curve(MEMBERS, lambda n: _config(n_members=n), steps),
        "d_m": _curve(WIDTHS, lambda d: _config(d_m=d), steps),
        "L": _curve(LENGTHS, lambda length: _config(length=length), steps),
    }


def _config(n_members: int = 1, d_m: int = 200, length: int = 9) -> RunConfig:
    task = {
        "keys": "21..120",
        "n_anchors": 2,
        "length": length,
        "vocab_size": 200,
        "memory_anchors": "1..10",
        "reasoning_anchors": "11..20",
    }
    return RunConfig(
        model={"kind": "transformer", "norm": "pre", "d_m": d_m},  # type: ignore[arg-type]
        task=task,
        data={"source": "draw", "n_sequences": 2000},  # type: ignore[arg-type]
        seeds=tuple(range(n_members)),
    )


def _curve(sizes: tuple[int, ...], config_of: Any, steps: int) -> list[dict[str, float]]:
    points: list[dict[str, float]] = []
    for size in sizes:
        point = {"size": size, **_point(config_of(size), steps)}
        if points:
            last = points[-1]
            point["exponent"] = math.log(point["seconds"] / last["seconds"]) / math.log(size / last["size"])
        points.append(point)
    return points


def _point(config: RunConfig, steps: int) -> dict[str, float]:
    members = config.members()
    trainer = Trainer(members)
    route = member_route(members[0]).route
    times = []
    with matmul_route(route):
        for _ in range(steps + 1):
            start = time.perf_counter()
            trainer.step(*trainer.batches.at(0))
            times.append(time.perf_counter() - start)
    seconds = statistics.median(times[1:])
    products = needed_products(trainer.model, 200, BATCH, trainer.task.length)
    limit = len(members) * fewest_seconds(products, route, repeats=5)
    return {
        "seconds": seconds,
        "seconds_per_member": seconds / len(members),
        "share_of_matmul_limit": limit / seconds,
    }
