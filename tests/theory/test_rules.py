"""The protocol of rules: every rule answers every question, and a new rule is one class."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import pytest

from tests.theory.any_rule import affine, task_of
from theory import (
    Expression,
    InputError,
    Lookup,
    Mapping,
    Population,
    Shift,
    Sum,
    Task,
    Window,
    count_population,
    draw_tables,
    enumerate_population,
    finite_sample_spread,
    label_distribution,
    labels_of,
    last_position_distribution,
    marginal_distribution,
)
from theory.arrays import IntArray
from theory.task.domain import Domain
from theory.task.rule import Deterministic
from theory.task.rules import RULES as RULES_BY_NAME


def test_a_window_and_a_shift_are_unchanged_by_the_order_of_what_is_asked() -> None:
    """Rules are asked through one protocol: every rule of a task answers every question."""
    task = Task(
        keys=range(40, 45),
        n_anchors=2,
        length=3,
        vocab_size=90,
        mappings=[
            Mapping([1, 2], Sum(), "a"),
            Mapping([3, 4], Shift({3: 5, 4: -1}), "b"),
            Mapping([5], Lookup(), "c"),
            Mapping([6], Window(), "d"),
            Mapping([7], Expression("key // a1"), "e"),
            Mapping([8], affine, "f"),
        ],
    )
    rng = np.random.default_rng(0)
    marginal = marginal_distribution(task)
    total = np.zeros(90)
    for mapping in task.mappings:
        domain = task.domain(mapping)
        entries = mapping.rule.entry_distributions(domain)
        assert entries.shape == (5, domain.n_combinations, 90)
        total += entries.mean(axis=0).sum(axis=0)
        labels = mapping.rule.draw_labels(
            domain, np.full(200, 41), np.full((200, 2), mapping.anchors[0]), rng
        )
        assert (entries[1, 0, np.unique(labels)] > 0).all()
        assert (mapping.rule.draw(domain, rng) is not None) == mapping.is_table
    np.testing.assert_allclose(total / total.sum(), marginal, atol=1e-15)


@pytest.mark.parametrize("k", [1, 5])
@pytest.mark.parametrize(("a", "b"), [(1, 1), (1, 3)])
def test_the_variance_of_a_window_is_that_of_its_entries(a: int, b: int, k: float) -> None:
    """Of every combination, from the distributions of its entries: within a key, and over all keys."""
    domain = Domain("window", tuple(range(40, 45)), (1, 2, 3), 2, 60)
    entries = Window().entry_distributions(domain)
    expected = []
    for combination, of_key in zip(domain.combinations().tolist(), entries.swapaxes(0, 1), strict=True):
        mean = 1 - (of_key.mean(axis=0) ** 2).sum()
        entry = 1 - (of_key**2).sum(axis=1).mean()
        both = combination.count(a) * combination.count(b)
        expected.append(both * (mean / k + (1 - 1 / k) * entry / len(domain.keys)))
    assert Window().mean_variance(domain, a, b, k) == pytest.approx(np.mean(expected))


def test_labels_of_another_tasks_population_are_refused() -> None:
    task, other = task_of(Sum()), task_of(Sum(), keys=(20, 21, 23, 31))
    tables = draw_tables(task, np.random.default_rng(0))
    mine = enumerate_population(task)
    with pytest.raises(InputError, match="population"):
        labels_of(task, enumerate_population(other), tables)
    moved = Population(mine.sequences, mine.mapping, mine.combination, (mine.key + 1) % 4, mine.held_out)
    with pytest.raises(InputError, match="population"):
        labels_of(task, moved, tables)


@dataclass(frozen=True)
class Doubled(Deterministic):
    """What a new rule takes: a name, a few words, and ``evaluate``."""

    offset: int
    kind: ClassVar[str] = "doubled"
    description: ClassVar[str] = "label = 2 key + offset"
    toml_keys: ClassVar[tuple[str, ...]] = ("offset",)
    required: ClassVar[tuple[str, ...]] = ("offset",)

    def evaluate(self, domain: Domain, keys: IntArray, anchors: IntArray) -> IntArray:
        return 2 * keys + self.offset

    def parameters(self) -> dict[str, Any]:
        return {"offset": self.offset}


def test_a_new_rule_is_one_class_and_one_entry_of_the_registry(monkeypatch: pytest.MonkeyPatch) -> None:
    task = task_of(Doubled(3))
    monkeypatch.setitem(RULES_BY_NAME, Doubled.kind, Doubled)
    assert Task.from_toml(task.to_toml()) == task
    assert task.label_range(task.mappings[0]) == range(43, 64)
    wanted = np.bincount([43, 45, 49, 63], minlength=130) / 4
    np.testing.assert_allclose(label_distribution(task, 1), wanted, atol=1e-15)
    last = last_position_distribution(task, 1, held_out=True)
    np.testing.assert_allclose(last, wanted, atol=1e-15)
    assert enumerate_population(task).held_out.any()
    assert finite_sample_spread(task, 1) >= 0
    assert count_population(task).label_distributions.shape[2] == 130
