"""The accuracy that a model cannot pass which does not read the order of tokens, by counting."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Sequence
from itertools import product
from math import comb

import numpy as np
import pytest

from sim.config.run import make_member_config
from sim.config.task_files import as_task
from sim.data.dataset import build_dataset
from tests.validate.figures.synthetic import MEMORIES, RANGES
from theory import Expression, Lookup, Mapping, Task, draw_tables, enumerate_population, labels_of
from theory.task.task import task_from_dict, task_to_dict
from validate.predict.ceiling import order_blind_ceiling, rule_ceiling

EMB_MLP, WINDOW = as_task("emb-mlp"), task_from_dict(MEMORIES | {"n_anchors": 2})
RULE, BLIND = "(key + 5 * a1 + 3 * a2 * a3) % 37", "key + a1 * a2 * a3 % 5"


def counted(sequences: Sequence[Sequence[int]], labels: Sequence[int]) -> float:
    """Return the best accuracy that sees each sequence as a bag of tokens."""
    seen: dict[tuple[int, ...], Counter[int]] = defaultdict(Counter)
    for sequence, label in zip(sequences, labels, strict=True):
        seen[tuple(sorted(sequence))][label] += 1
    return sum(max(counts.values()) for counts in seen.values()) / len(labels)


def best_accuracy(task: Task, seed: int) -> float:
    """Return the best memory accuracy on one draw of the tables."""
    population = enumerate_population(task)
    labels = labels_of(task, population, draw_tables(task, np.random.default_rng(seed)))
    table = np.array([m.is_table for m in task.mappings])[population.mapping] & ~population.held_out
    return counted(population.sequences[table].tolist(), labels[table].tolist())


def ordered(label: str) -> Task:
    """Return a task with three anchors, a rule of which two combinations are held out, and a table."""
    own = Mapping((1, 2, 3), Expression(label), "own", [(1, 2, 3), (3, 3, 1)])
    mappings = [own, Mapping((5, 6), Lookup(), "memory")]
    return Task(keys=range(10, 14), n_anchors=3, length=4, vocab_size=37, mappings=mappings)


@pytest.mark.parametrize("task", [EMB_MLP, WINDOW])
def test_the_ceiling_is_the_mean_over_drawn_tables(task: Task) -> None:
    found = [best_accuracy(task, seed) for seed in range(8)]
    error = np.std(found, ddof=1) / np.sqrt(len(found))
    ceiling = order_blind_ceiling(task)
    assert ceiling is not None
    assert abs(ceiling - np.mean(found)) < 4 * error
    assert error < 0.01


def test_the_papers_ceiling_by_hand() -> None:
    """Of 100 pairs ten are equal; of 90 the better of two labels out of 100 is right, 1.01 times of 2."""
    assert order_blind_ceiling(EMB_MLP) == pytest.approx((10 + 45 * 1.01) / 100) == pytest.approx(0.5545)


def test_hundreds_of_orderings_by_hand() -> None:
    """Of m orderings with one of two labels each, B and m − B get one, B binomial."""
    mapping = Mapping(range(1, 5), Lookup(30, 31), "memory")
    task = Task(keys=(20, 21), n_anchors=6, length=7, vocab_size=40, mappings=[mapping])
    orderings = Counter(tuple(sorted(c)) for c in product(range(4), repeat=6)).values()
    best = [sum(comb(m, j) * max(j, m - j) for j in range(m + 1)) / 2**m for m in orderings]
    assert max(orderings) == 180
    assert order_blind_ceiling(task) == pytest.approx(sum(best) / 4**6)


def test_there_is_none_without_tables_or_with_noise_or_too_much_to_count() -> None:
    assert order_blind_ceiling(Task.paper()) is None
    assert order_blind_ceiling(task_from_dict(RANGES)) is None
    large = Task(
        keys=range(20, 37),
        n_anchors=5,
        length=6,
        vocab_size=37,
        mappings=[Mapping(range(1, 16), Expression(RULE))],
    )
    assert rule_ceiling(large, large.mappings[0]) is None


@pytest.mark.parametrize("label", [RULE, BLIND])
def test_the_ceiling_of_a_rule_is_that_of_its_training_data(label: str) -> None:
    task = ordered(label)
    config = make_member_config({"task": task_to_dict(task), "init_rate": 0.8, "seed": 3})
    made = build_dataset(config)
    rows = made.parts["rsn_train"]
    by_hand = counted(made.tokens[rows].tolist(), made.labels[rows].tolist())
    assert rule_ceiling(task, task.mappings[0]) == pytest.approx(by_hand)
    assert rule_ceiling(task, task.mappings[1]) is None
