"""Tasks and rules as TOML, drawn tables and labels, sampled labels of a large task, bound (13)."""

from collections.abc import Iterator
from typing import Any

import numpy as np

import theory
from theory import Expression, Lookup, Mapping, Shift, Sum, Task, Window
from theory.labels.sampled import drawn_shares

RULES = {
    "sum": Sum(),
    "shift": Shift({2: 1, 3: -2, 5: 4}),
    "lookup": Lookup(),
    "lookup range": Lookup(40, 52),
    "window": Window(),
    "affine": Expression("(key * a1 + a2) % 61"),
    "branches": Expression(
        "key + g(a1) if a1 < a2 or key % 3 == 0 else abs(key - 2 * a2)", {2: 4, 3: 0, 5: 9}
    ),
    "long": Expression("(key ** 40 * a1 ** a2 - 7 ** 30) % 53"),
    "total": Expression("min(max(key + total // 2, 12), 60)"),
    "chain": Expression("-1 * -key if not 2 < a1 <= a2 != 5 else key + a1 * a2 - (key // -a2) % 5"),
    "function": lambda key, anchors: (key * anchors[0] + max(anchors)) % 63,
}
LARGE = [
    Mapping(range(1, 60), Expression("(key * a1 + a2 * a3) % 499"), "rule", {(1, 2, 3), (4, 4, 4)}),
    Mapping(range(60, 70), Window(), "window"),
]


def entries() -> Iterator[tuple[str, Any]]:
    yield from of_rules()
    yield from of_samples()
    yield from of_bounds()


def of_rules() -> Iterator[tuple[str, Any]]:
    for name, rule in RULES.items():
        held_out = set() if name.startswith(("lookup", "window")) else {(2, 5), (3, 3)}
        mapping = Mapping((2, 3, 5), rule, name, held_out)
        task = Task(keys=range(20, 33), n_anchors=2, length=4, vocab_size=64, mappings=[mapping])
        population = theory.enumerate_population(task)
        tables = theory.draw_tables(task, np.random.default_rng(1))
        assert Task.from_toml(task.to_toml()) == task
        yield f"{name}: TOML", task.to_toml()
        yield f"{name}: labels", theory.labels_of(task, population, tables)
        for without in (False, True):
            rng = np.random.default_rng(2)
            yield f"{name}: drawn, held_out={without}", drawn_shares(task, 3, rng, 500, held_out=without)


def of_samples() -> Iterator[tuple[str, Any]]:
    rng = np.random.default_rng(3)
    large = Task(keys=range(300, 600), n_anchors=3, length=9, vocab_size=900, mappings=LARGE)
    for token in (4, 61, 320):
        yield f"large: {token}", drawn_shares(large, token, rng, 3000, held_out=True)
    sampled = theory.sample_labels(large, [1, 4, 61, 330], rng, n_samples=2000, held_out=True)
    found = sampled.estimate(lambda moments: moments.centred())
    yield "large: inner products", [found.value, found.standard_error]
    found = sampled.estimate(lambda moments: moments.centred(np.full(4, 0.25)))
    yield "large: inner products about their mean", [found.value, found.standard_error]


def of_bounds() -> Iterator[tuple[str, Any]]:
    for q in (2, 5, 9):
        summed = Task(
            keys=range(21, 121), reasoning_anchors=range(11, 21), n_anchors=q, length=q + 1, vocab_size=400
        )
        bound = theory.inner_product_bound(summed, summed.anchors, init_rate=0.8)
        yield f"bound (13) at q = {q}", [bound.shape, bound.noise, bound.shape_leading, bound.noise_leading]
