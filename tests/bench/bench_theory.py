"""How long the label distributions take, from the paper's sizes to large ones."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable
from typing import Any

import numpy as np

from tests.theory.large_task import LARGE
from theory import (
    AdamSettings,
    CountPopulation,
    EmbMLPParameters,
    Task,
    adam_steps,
    adaptive_flow,
    count_population,
    draw_tables,
    label_distribution,
    label_table,
    last_position_matrix,
    last_token_adam,
    leading_query_key_matrix,
    normed_emb_mlp_drive,
    normed_transformer_drive,
    one_mode_answers,
    saddle_staircase,
    sgd_moments,
)


def bench_theory() -> dict[str, Any]:
    """Return medians in milliseconds."""
    work: dict[str, Callable[[], object]] = {
        "whole table, paper": lambda: label_table(Task.paper()),
        "one anchor, q = 200, N_Z = 100 000": lambda: label_distribution(LARGE, 15),
        "the same, exact fractions": lambda: label_distribution(LARGE, 15, exact=True),
        **_of_a_small_task(),
        "drive with post-norm, paper": _normed_drive(),
        "a hundred AdamW steps of the residual path, paper": _adam_steps(),
        "drive of queries and keys, 1000 sequences": _query_key(),
        "drive of the Emb-MLP with a norm, 1000 sequences": _normed_emb_mlp_drive(),
        **_optimisers(),
    }
    return {
        "what": "label distributions, drives, limits of small weights and optimisers, ms",
        **{name: _milliseconds(call) for name, call in work.items()},
    }


def _normed_drive() -> Callable[[], object]:
    """Return the drive of the paper's two-layer Transformer with its statistics and weights at hand."""
    rng, C_last = np.random.default_rng(0), last_position_matrix(Task.paper())
    W_E, W_U = 200**-0.8 * rng.standard_normal((2, 200, 200))
    return lambda: normed_transformer_drive(C_last, W_E, W_U, norm="post", n_layers=2)


def _normed_emb_mlp_drive() -> Callable[[], object]:
    """Return the drive of the Emb-MLP with a norm behind the sum, at the paper's widths."""
    rng = np.random.default_rng(0)
    initial = EmbMLPParameters.draw(200, d_m=200, d_f=512, init_rate=0.8, rng=rng)
    sequences, labels = rng.integers(0, 200, (1000, 3)), rng.integers(0, 200, 1000)
    return lambda: normed_emb_mlp_drive(initial, sequences, labels)


def _of_a_small_task() -> dict[str, Callable[[], object]]:
    """Twelve keys, five anchors to a mapping, one pair held out; two modes from a start of 6e-4."""
    task = Task(
        keys=range(20, 32),
        reasoning_anchors=range(1, 6),
        memory_anchors=range(6, 11),
        n_anchors=2,
        length=3,
        vocab_size=42,
        held_out={(2, 4), (4, 2)},
    )
    tables = draw_tables(task, np.random.default_rng(0))
    population = count_population(task, tables)
    C, S = population.token_label_matrix(), population.cooccurrence()
    rng = np.random.default_rng(1)
    start = EmbMLPParameters(*(6e-4 * rng.standard_normal(s) for s in ((42, 12), (12, 20), (20, 42))))
    return {
        "saddle_staircase, two modes, scale 6e-4": lambda: saddle_staircase(C, S, start, 2),
        "one_mode_answers, 180 distinct sequences": lambda: one_mode_answers(sums(task)),
    }


def sums(task: Task) -> CountPopulation:
    """Return the population of the task's sums alone."""
    mapping = next(m for m in task.mappings if not m.is_table)
    alone = Task(keys=task.keys, n_anchors=2, length=3, vocab_size=42, mappings=[mapping])
    return count_population(alone)


def _adam_steps() -> Callable[[], object]:
    """Return AdamW's steps on a table of last tokens and labels, with post-norm and the noise of batches."""
    rng = np.random.default_rng(0)
    W_E, W_U = 200**-0.8 * rng.standard_normal((2, 200, 200))
    joint, position = rng.random((200, 200)), 200**-0.8 * rng.standard_normal(200)
    options: dict[str, Any] = {"position": position, "norm": "post", "n_layers": 2, "batch_size": 100}
    return lambda: last_token_adam(joint, W_E, W_U, [100], AdamSettings(1e-4), **options)


def _query_key() -> Callable[[], object]:
    """Return the leading drive of W_Q and W_K on a sample, at the paper's widths."""
    rng = np.random.default_rng(0)
    sequences, labels = rng.integers(0, 200, (1000, 9)), rng.integers(0, 200, 1000)
    W_E, W_U, W_VO = 200**-0.8 * rng.standard_normal((3, 200, 200))
    return lambda: leading_query_key_matrix(sequences, labels, W_E, W_E[:9], W_U, W_VO, 64, norm="pre")


def _optimisers() -> dict[str, Callable[[], object]]:
    """Return AdamW to step 10 on the paper's Emb-MLP task at d_m = 64, and SGD's moments on a small one."""
    rng, settings = np.random.default_rng(0), AdamSettings(1e-4)
    task = Task.paper(length=3)
    population = count_population(task, draw_tables(task, rng))
    initial = EmbMLPParameters.draw(200, d_m=64, d_f=128, init_rate=0.8, rng=rng)
    batches = {"batch_size": 100, "n_sequences": 19_800}
    few = Task(
        keys=[3, 4, 5], reasoning_anchors=[2], memory_anchors=[1], n_anchors=1, length=2, vocab_size=10
    )
    small = EmbMLPParameters.draw(10, d_m=3, d_f=4, init_rate=0.8, rng=rng)
    return {
        "10 steps of Adam, full batch": lambda: adam_steps(population, initial, [10], settings),
        "10 steps of Adam, batch 100": lambda: adam_steps(population, initial, [10], settings, **batches),
        "the same as a flow": lambda: adaptive_flow(population, initial, [1e-3], settings, **batches),
        "SGD's moments, 82 weights": lambda: sgd_moments(
            count_population(few), small, [5.0], rate=0.1, batch_size=4
        ),
        "the same, reshuffled, 6 batches an epoch": lambda: sgd_moments(
            count_population(few), small, [5.0], rate=0.1, batch_size=1, n_sequences=6
        ),
    }


def _milliseconds(call: Callable[[], object], rounds: int = 5) -> dict[str, float]:
    times = []
    for _ in range(rounds):
        start = time.perf_counter()
        call()
        times.append(1e3 * (time.perf_counter() - start))
    return {"median": statistics.median(times), "min": min(times), "max": max(times)}
