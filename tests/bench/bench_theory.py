"""How long the label distributions take, from the paper's sizes to large ones."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable
from typing import Any

import numpy as np

from tests.theory.large_task import LARGE
from theory import Task, label_distribution, label_table, last_position_matrix, normed_transformer_drive


def bench_theory() -> dict[str, Any]:
    """Return medians in milliseconds."""
    work: dict[str, Callable[[], object]] = {
        "whole table, paper": lambda: label_table(Task.paper()),
        "one anchor, q = 200, N_Z = 100 000": lambda: label_distribution(LARGE, 15),
        "the same, exact fractions": lambda: label_distribution(LARGE, 15, exact=True),
        "drive with post-norm, paper": _normed_drive(),
    }
    return {
        "what": "label distributions and a drive, ms",
        **{name: _milliseconds(call) for name, call in work.items()},
    }


def _normed_drive() -> Callable[[], object]:
    """Return the drive of the paper's two-layer Transformer with its statistics and weights at hand."""
    rng, C_last = np.random.default_rng(0), last_position_matrix(Task.paper())
    W_E, W_U = 200**-0.8 * rng.standard_normal((2, 200, 200))
    return lambda: normed_transformer_drive(C_last, W_E, W_U, norm="post", n_layers=2)


def _milliseconds(call: Callable[[], object], rounds: int = 5) -> dict[str, float]:
    times = []
    for _ in range(rounds):
        start = time.perf_counter()
        call()
        times.append(1e3 * (time.perf_counter() - start))
    return {"median": statistics.median(times), "min": min(times), "max": max(times)}
