"""The memory accuracy that no sum of embeddings can pass."""

from __future__ import annotations

from collections import Counter, defaultdict
from itertools import product

import numpy as np
import pytest

from sim.config.task_files import as_task
from tests.validate.figures.synthetic import MEMORIES, RANGES, several
from theory import Task, draw_tables, enumerate_population, labels_of
from theory.task.task import task_from_dict
from validate.ceiling import _most_frequent, order_blind_ceiling
from validate.figures.paper import FIGURES, draw_figure
from validate.observe import kept

EMB_MLP = as_task("emb-mlp")


def best_accuracy(task: Task, seed: int) -> float:
    """Return the best memory accuracy without the order of tokens on one draw of the tables, by counting."""
    population = enumerate_population(task)
    labels = labels_of(task, population, draw_tables(task, np.random.default_rng(seed)))
    seen: dict[tuple[int, ...], Counter[int]] = defaultdict(Counter)
    table = np.array([m.is_table for m in task.mappings])[population.mapping] & ~population.held_out
    for sequence, label in zip(population.sequences[table].tolist(), labels[table].tolist(), strict=True):
        seen[tuple(sorted(sequence))][label] += 1
    right = sum(max(counts.values()) for counts in seen.values())
    return right / int(table.sum())


@pytest.mark.parametrize(
    "task", [EMB_MLP, task_from_dict(MEMORIES | {"n_anchors": 2})], ids=["paper", "window"]
)
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


@pytest.mark.parametrize(("draws", "labels"), [(1, 7), (2, 100), (3, 2), (4, 3), (6, 2)])
def test_the_most_frequent_label_by_enumeration(draws: int, labels: int) -> None:
    if labels**draws > 1000:
        assert _most_frequent(draws, labels) == pytest.approx(1 + 1 / labels)
        return
    counts = [max(Counter(d).values()) for d in product(range(labels), repeat=draws)]
    assert _most_frequent(draws, labels) == pytest.approx(np.mean(counts))


def test_there_is_none_without_tables_or_with_noise() -> None:
    assert order_blind_ceiling(Task.paper()) is None
    assert order_blind_ceiling(task_from_dict(RANGES)) is None


def test_no_kept_run_passes_it_and_large_weights_reach_it() -> None:
    ceiling = order_blind_ceiling(EMB_MLP)
    assert ceiling is not None
    final: dict[float, list[float]] = defaultdict(list)
    for run in kept("emb-mlp"):
        final[run.config.init_rate].append(run.metrics[-1]["accuracy"]["mem"])
    # A draw of the tables moves it: 45 pairs for each of 100 keys, of which one in 100 has equal labels.
    spread = 4 * 0.5 * 2 * np.sqrt(4500 * 0.01 * 0.99) / 10_000
    assert all(value <= ceiling + spread for values in final.values() for value in values)
    assert np.mean(final[0.3]) == pytest.approx(ceiling, abs=spread)


def test_fig_3b_draws_and_explains_it() -> None:
    sheet = draw_figure(3, kept("emb-mlp"))
    assert "Dotted, 0.5545: the expected ceiling" in sheet.caption
    (axes,) = sheet.axes_
    for ax in axes:
        dotted = [line for line in ax.get_lines() if line.get_linestyle() == ":"]
        assert [line.get_ydata()[0] for line in dotted] == [order_blind_ceiling(EMB_MLP)]
    assert "ceiling" not in FIGURES[3].build(several("transformer")).caption
