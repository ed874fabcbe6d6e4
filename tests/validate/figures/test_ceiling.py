"""The memory accuracy that no sum of embeddings can pass."""

from __future__ import annotations

from collections import Counter, defaultdict
from itertools import product

import numpy as np
import pytest

from sim.config.run import make_member_config
from sim.config.task_files import as_task
from sim.data.dataset import build_dataset
from tests.validate.figures.synthetic import MEMORIES, RANGES, several
from theory import Expression, Lookup, Mapping, Task, draw_tables, enumerate_population, labels_of
from theory.task.task import task_from_dict, task_to_dict
from validate.figures.paper import FIGURES, draw_figure
from validate.judge.ceiling import (
    _most_frequent,
    one_token_ceiling,
    order_blind_ceiling,
    rule_ceiling,
    training_ceiling,
)
from validate.observe import kept
from validate.predict.prediction import Prediction

EMB_MLP = as_task("emb-mlp")


def best_accuracy(task: Task, seed: int, *, alike: bool = False) -> float:
    """Return the best memory accuracy without the order of tokens on one draw of the tables, by counting.

    With ``alike`` the anchors of a table cannot be told apart.
    """
    population = enumerate_population(task)
    labels = labels_of(task, population, draw_tables(task, np.random.default_rng(seed)))
    seen: dict[tuple[int, ...], Counter[int]] = defaultdict(Counter)
    table = np.array([m.is_table for m in task.mappings])[population.mapping] & ~population.held_out
    for sequence, label in zip(population.sequences[table].tolist(), labels[table].tolist(), strict=True):
        one = {token: m.anchors[0] for m in task.mappings for token in m.anchors} if alike else {}
        seen[tuple(sorted(one.get(token, token) for token in sequence))][label] += 1
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


def test_anchors_with_one_embedding_are_one_token() -> None:
    found = [best_accuracy(EMB_MLP, seed, alike=True) for seed in range(8)]
    error = np.std(found, ddof=1) / np.sqrt(len(found))
    ceiling = one_token_ceiling(EMB_MLP)
    assert ceiling == pytest.approx(0.0423, abs=1e-4)
    assert abs(ceiling - np.mean(found)) < 4 * error
    assert one_token_ceiling(task_from_dict(MEMORIES | {"n_anchors": 2})) is None
    assert one_token_ceiling(as_task("paper")) is None  # Noise.


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


def ordered(label: str, length: int = 4) -> Task:
    """Return a task with three anchors, a rule of which two combinations are held out, and a table."""
    held_out = [(1, 2, 3), (3, 3, 1)]
    mappings = [Mapping((1, 2, 3), Expression(label), "own", held_out), Mapping((5, 6), Lookup(), "memory")]
    return Task(keys=range(10, 14), n_anchors=3, length=length, vocab_size=37, mappings=mappings)


RULE = "(key + 5 * a1 + 3 * a2 * a3) % 37"


def counted(sequences: list[list[int]], labels: list[int]) -> float:
    """Return the best accuracy by trying every answer to every bag of tokens."""
    bags: dict[tuple[int, ...], list[int]] = defaultdict(list)
    for sequence, label in zip(sequences, labels, strict=True):
        bags[tuple(sorted(sequence))].append(label)
    return sum(max(found.count(label) for label in range(37)) for found in bags.values()) / len(labels)


@pytest.mark.parametrize("label", [RULE, "key if a1 < a2 else a3", "key + a1 * a2 * a3 % 5"])
def test_a_rules_ceiling_by_hand(label: str) -> None:
    task = ordered(label)
    trained = [c for c in product((1, 2, 3), repeat=3) if c not in task.mappings[0].held_out]
    assert len(trained) == 25
    pairs = [(key, *c) for key in task.keys for c in trained]
    labels = [eval(label, {}, dict(zip(("key", "a1", "a2", "a3"), pair, strict=True))) for pair in pairs]
    ceiling = rule_ceiling(task, task.mappings[0])
    assert ceiling == pytest.approx(counted([list(pair) for pair in pairs], labels))
    assert (ceiling == 1) == (label == "key + a1 * a2 * a3 % 5")
    assert rule_ceiling(task, task.mappings[1]) is None


def test_what_is_too_much_to_count_has_none() -> None:
    rule = Expression("(key + 5 * a1 + 3 * a2 * a3) % 37")
    large = Task(
        keys=range(20, 37),
        n_anchors=5,
        length=6,
        vocab_size=37,
        mappings=[Mapping(range(1, 16), rule, "own")],
    )
    assert rule_ceiling(large, large.mappings[0]) is None
    config = make_member_config({"task": task_to_dict(large), "init_rate": 0.8, "seed": 3})
    assert training_ceiling(config, "rsn_train") is None


@pytest.mark.parametrize(
    ("length", "data"),
    [
        (4, {}),
        (5, {}),
        (4, {"shuffle_labels": True}),
        (5, {"source": "draw", "n_sequences": 35 * 12}),
    ],
)
@pytest.mark.parametrize("part", ["rsn_train", "mem"])
def test_the_ceiling_of_a_run_is_that_of_its_data(length: int, data: dict[str, object], part: str) -> None:
    task = ordered(RULE, length)
    config = make_member_config({"task": task_to_dict(task), "init_rate": 0.8, "seed": 3, "data": data})
    made = build_dataset(config)
    rows = made.parts[part]
    by_hand = counted(made.tokens[rows].tolist(), made.labels[rows].tolist())
    assert training_ceiling(config, part) == pytest.approx(by_hand)
    if not data and length == 4 and part == "rsn_train":
        assert by_hand == pytest.approx(rule_ceiling(task, task.mappings[0]))


def test_predict_says_which_rules_no_emb_mlp_can_fit() -> None:
    task = ordered(RULE)
    (note,) = Prediction.of(task).order_notes()
    ceiling = rule_ceiling(task, task.mappings[0])
    assert ceiling is not None
    assert (
        "labels of 'own' depend on the order of the anchors, which an Emb-MLP does not read: it gets" in note
    )
    assert f"at most {100 * ceiling:.0f} % of the training data right. A Transformer reads it" in note
    assert note in Prediction.of(task).notes()
    (noisy,) = Prediction.of(ordered(RULE, 5)).order_notes()
    assert "does not read. A Transformer" in noisy
    assert Prediction.of(ordered("key + a1 * a2 * a3 % 5")).order_notes() == []
    assert Prediction.of(EMB_MLP).order_notes() == []
