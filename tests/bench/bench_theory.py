"""How long the theory takes: labels from the paper's sizes to large ones, a flow, counting."""

from __future__ import annotations

import timeit
from collections.abc import Callable
from typing import Any

import numpy as np

import theory
from tests.bench.products import spread
from tests.theory.test_held_out_functions import LARGE
from theory import EmbMLPParameters, Task

VOCABULARY, N_TOKENS = 50_257, 1_000_000


def bench_theory(rounds: int = 5) -> dict[str, Any]:
    """Return milliseconds of each call: medians with their range."""
    found: dict[str, Any] = {}
    for name, call in calls().items():
        call()
        found[name] = spread([1e3 * each for each in timeit.repeat(call, number=1, repeat=rounds)])
    return found


def calls() -> dict[str, Callable[[], object]]:
    """Return the calls that are timed, with everything that they need at hand."""
    task, rng = Task.paper(length=3), np.random.default_rng(0)
    population = theory.count_population(task, theory.draw_tables(task, rng))
    start = EmbMLPParameters.draw(task.vocab_size, d_m=200, d_f=512, init_rate=0.8, rng=rng)
    # Independent Zipf tokens have more distinct pairs than any text: the hardest to count.
    weights = 1 / np.arange(1, VOCABULARY + 1)
    tokens = rng.choice(VOCABULARY, size=N_TOKENS, p=weights / weights.sum())
    texts = np.split(tokens, range(200, N_TOKENS, 200))
    return {
        "whole label table, paper": lambda: theory.label_table(Task.paper()),
        "one anchor, q = 200, N_Z = 100 000": lambda: theory.label_distribution(LARGE, 15),
        "one anchor, exact fractions": lambda: theory.label_distribution(LARGE, 15, exact=True),
        "population flow to Σ learning rate 1": lambda: theory.population_flow(population, start, [0.0, 1.0]),
        f"counting {N_TOKENS:,} tokens of {VOCABULARY:,}": lambda: theory.corpus_counts(texts, VOCABULARY),
    }
