"""Labels follow the rule or the drawn table; functions are rules; a new rule is one class."""

import itertools
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import theory
from tests.theory.any_rule import affine, label_formula, task_of, tasks
from theory import Function, InputError, Population, Sum, Tabulated, Task
from theory.edge.arrays import IntArray
from theory.task.domain import Domain
from theory.task.rule import RULES as KNOWN
from theory.task.rule import Deterministic


@given(tasks(most_keys=3), st.integers(0, 99))
def test_labels_of_sequences_follow_the_rule_or_the_drawn_table(task: Task, seed: int) -> None:
    population = theory.enumerate_population(task)
    tables = theory.draw_tables(task, np.random.default_rng(seed))
    labels = theory.labels_of(task, population, tables)
    assert len({tuple(row) for row in population.sequences.tolist()}) == len(population)
    nested = [None if table is None else table.tolist() for table in tables]
    np.testing.assert_array_equal(theory.labels_of(task, population, nested), labels)
    drawn: dict[Any, set[int]] = {}
    for sequence, label, held_out in zip(
        population.sequences.tolist(), labels.tolist(), population.held_out, strict=True
    ):
        first = next(i for i, token in enumerate(sequence) if task.mapping_of(token))
        mapping = task.mapping_of(sequence[first])
        entry = sequence[first - 1], tuple(sequence[first : first + task.n_anchors])
        assert label_formula(task, mapping, *entry)[label] > 0
        assert held_out == (entry[1] in mapping.held_out)
        drawn.setdefault(entry, set()).add(label)
    assert all(len(of_entry) == 1 for of_entry in drawn.values())


def test_the_population_of_another_task_is_refused() -> None:
    task, other = task_of(Sum()), task_of(Sum(), keys=(20, 21, 23, 31))
    tables = theory.draw_tables(task, np.random.default_rng(0))
    mine = theory.enumerate_population(task)
    keys = ((mine.key + 1) % 4, mine.key + 1, mine.key - 1)
    moved = [Population(mine.sequences, mine.mapping, mine.combination, k, mine.held_out) for k in keys]
    for foreign in (theory.enumerate_population(other), *moved):
        with pytest.raises(InputError, match="population"):
            theory.labels_of(task, foreign, tables)
    for wrong in (tables[:1], [None, None], [tables[1], None], [None, tables[1][:2]]):
        with pytest.raises(InputError, match="tables"):
            theory.labels_of(task, mine, wrong)


@dataclass(frozen=True)
class Doubled(Deterministic):
    """A new rule takes a name, a few words, and ``evaluate``."""

    offset: int
    kind: ClassVar[str] = "doubled"
    description: ClassVar[str] = "label = 2 key + offset"
    toml_keys: ClassVar[tuple[str, ...]] = ("offset",)
    required: ClassVar[tuple[str, ...]] = ("offset",)

    def evaluate(self, domain: Domain, keys: IntArray, anchors: IntArray) -> IntArray:
        return 2 * keys + self.offset

    def parameters(self) -> dict[str, Any]:
        return {"offset": self.offset}


def test_a_new_rule_is_one_class() -> None:
    assert KNOWN["doubled"] is Doubled
    task = task_of(Doubled(3))
    assert Task.from_toml(task.to_toml()) == task
    assert task.label_range(task.mappings[0]) == range(43, 64)
    wanted = np.bincount([43, 45, 49, 63], minlength=130) / 4
    np.testing.assert_allclose(theory.label_distribution(task, 1), wanted, atol=1e-15)
    assert theory.finite_sample_cosines(task, [1, 1]).cosine == pytest.approx(np.ones((2, 2)))
    assert theory.count_population(task).label_distributions.shape[2] == 130


@pytest.mark.timeout(20)  # It took minutes: nearly all products of a convolution of values far apart are 0.
def test_tokens_may_be_far_apart() -> None:
    far = Task(
        keys=range(1000), n_anchors=2, length=3, vocab_size=10**6, reasoning_anchors=[10**4, 4 * 10**5]
    )
    found = theory.label_distribution(far, 3)
    assert {int(y): float(found[y]) for y in np.flatnonzero(found)} == {
        20003: 0.25,
        410003: 0.5,
        800003: 0.25,
    }


def test_one_anchor_may_occur_more_often_than_an_array_has_axes() -> None:
    mapping = theory.Mapping([5], theory.Expression("key + 1"))
    task = Task(keys=range(5), n_anchors=65, length=66, vocab_size=6, mappings=[mapping])
    assert theory.finite_sample_cosines(task, [5], n_sequences=7).spread == pytest.approx((1 - 1 / 5) / 7)


def test_functions_of_integers_are_kept_as_their_labels() -> None:
    table = [[affine(k, c) for c in itertools.product((1, 2, 5), repeat=2)] for k in (20, 21, 23, 30)]
    for rule in (affine, Function(affine), lambda k, a: np.int64(affine(k, a)), Tabulated(table)):
        task = task_of(rule)
        assert task.mappings[0].rule == Tabulated(table)
        assert hash(task) == hash(task_of(affine))
    wide = task_of(lambda key, anchors: 7 ** (key * anchors[0]) % 97)
    assert theory.label_distribution(wide, 5)[pow(7, 150, 97)] > 0


COUNT = itertools.count()
NO_RULES: dict[str, tuple[Any, ...]] = {
    "rule": (
        *(lambda k, a: k / 2, lambda k, a: k > 2, lambda k, a: None, lambda k, a: np.array([k, k])),
        *(lambda k: k, lambda k, a: {20: 3}[k], lambda k, a: 10**30, lambda k, a: next(COUNT) % 100),
    ),
    "labels": (Tabulated([[1, 2]]), Tabulated([[1] * 9, [1] * 9, [1] * 9, [1] * 8])),
    "vocab_size": (lambda k, a: 130,),
    "mappings": (lambda k, a: -1,),
}


@pytest.mark.parametrize(
    ("argument", "function"), [(name, rule) for name, rules in NO_RULES.items() for rule in rules]
)
def test_a_function_or_a_table_that_is_no_rule_is_refused(argument: str, function: Any) -> None:
    with pytest.raises(InputError, match=f"^{argument} = "):
        task_of(function)


def test_the_key_and_the_anchors_are_named_for_which_a_function_fails() -> None:
    with pytest.raises(InputError, match=r"KeyError \(21\) for key 21 and anchors \(1, 1\)"):
        task_of(lambda k, a: {20: 3}[k])
    task_of(lambda k, a: 129)
