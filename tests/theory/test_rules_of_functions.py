"""Functions and tables of labels as rules, and what is refused as one."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest

from tests.theory.any_rule import AFFINE, affine, task_of
from theory import (
    Expression,
    Function,
    InputError,
    Mapping,
    Sum,
    Tabulated,
    Task,
    label_distribution,
    sample_label_distribution,
)

COUNT = itertools.count()


def only_arrays(key: Any, anchors: Any) -> Any:
    out = key.copy()
    out[key > 22] += anchors[0][key > 22]
    return out


def test_functions_of_integers_and_of_arrays_are_rules() -> None:
    by_expression = task_of(Expression(AFFINE))
    table = np.array(
        [[affine(k, c) for c in itertools.product((1, 2, 5), repeat=2)] for k in (20, 21, 23, 30)]
    )
    for rule in (affine, Function(affine), lambda k, a: np.int64(affine(k, a)), Tabulated(table)):
        task = task_of(rule)
        assert task.mappings[0].rule == Tabulated(table)
        assert task == task_of(affine)
        assert hash(task) == hash(task_of(affine))
        assert label_distribution(task, 2, exact=True) == label_distribution(by_expression, 2, exact=True)
    assert task_of(only_arrays).label_range(task_of(only_arrays).mappings[0]) == range(20, 36)


def test_a_function_is_called_with_integers_so_that_nothing_wraps_around() -> None:
    task = task_of(lambda key, anchors: 7 ** (key * anchors[0]) % 97)
    assert isinstance(task.mappings[0].rule, Tabulated)
    assert task.mappings[0].rule.labels_[3][8] == pow(7, 150, 97)


@pytest.mark.parametrize("rule", [affine, Expression(AFFINE), Expression("g(a1) + key", {1: 4, 2: 5, 5: -6})])
def test_a_task_with_any_rule_goes_through_toml(rule: Any) -> None:
    task = task_of(rule)
    again = Task.from_toml(task.to_toml())
    assert again == task
    assert hash(again) == hash(task)


def large(rule: Any) -> Task:
    """120 000 pairs of key and combination: too many for a task to keep a function's labels."""
    return Task(
        keys=range(400, 1600), n_anchors=2, length=3, vocab_size=2000, mappings=[Mapping(range(10), rule)]
    )


def test_a_function_of_many_labels_is_kept_as_it_is_and_not_written() -> None:
    def one_by_one(key: int, anchors: tuple[int, ...]) -> int:
        return (int(key) * int(anchors[0]) + int(anchors[1])) % 97

    task, arrays, expression = large(one_by_one), large(affine), large(Expression(AFFINE))
    assert not task.mappings[0].rule.takes_arrays  # type: ignore[attr-defined]
    assert arrays.mappings[0].rule.takes_arrays  # type: ignore[attr-defined]
    wanted = label_distribution(expression, 3, exact=True)
    assert label_distribution(arrays, 3, exact=True) == wanted
    assert label_distribution(task, 3, exact=True) == wanted
    with pytest.raises(InputError, match="cannot be written to a file; write it as an expression"):
        task.to_toml()


def test_a_function_of_too_many_labels_to_call_is_sampled() -> None:
    task = Task(
        keys=range(400, 1600),
        n_anchors=4,
        length=5,
        vocab_size=2000,
        mappings=[Mapping(range(10), lambda key, anchors: int(key * anchors[0] + anchors[3]) % 97)],
    )
    assert task.label_range(task.mappings[0]) == range(2000)
    with pytest.raises(
        InputError,
        match=r"it takes no arrays, so it needs .* calls, one by one, and the limit is 1e\+06 \(1e\+07",
    ):
        label_distribution(task, 3)
    found = sample_label_distribution(task, 3, np.random.default_rng(0), n_samples=2000)
    assert found.shares[:97].sum() == pytest.approx(1)


def test_a_function_that_differs_on_arrays_is_called_one_by_one() -> None:
    """With arrays 7 ** 89 wraps around."""
    task = large(lambda key, anchors: 7 ** (key % 90) % 97)
    assert not task.mappings[0].rule.takes_arrays  # type: ignore[attr-defined]
    assert label_distribution(task, 3)[pow(7, 89, 97)] > 0


@pytest.mark.parametrize(
    ("function", "words"),
    [
        (lambda k, a: k / 2, "returns 10.0, not an integer"),
        (lambda k, a: k > 2, "returns True, not an integer"),
        (lambda k, a: float("nan"), "returns nan, not an integer"),
        (lambda k, a: None, "returns None, not an integer"),
        (lambda k, a: [k], "returns [20], not an integer"),
        (lambda k, a: np.array([k, k]), "not an integer"),
        (lambda k, a: np.float64(3), "not an integer"),
        (lambda k: k, "raises TypeError"),
        (lambda k, a: {20: 3}[k], "raises KeyError (21) for key 21 and anchors (1, 1)"),
        (lambda k, a: 10**30, "far outside any vocabulary"),
        (lambda k, a: 200, "labels up to 200; give at least 201"),
        (lambda k, a: -1, "smallest label is -1, below 0"),
        (lambda k, a: next(COUNT) % 100, "not deterministic"),
    ],
)
def test_a_function_that_is_no_rule_is_refused(function: Any, words: str) -> None:
    with pytest.raises(InputError) as caught:
        task_of(function)
    assert words in str(caught.value)


def test_a_class_or_a_name_is_no_rule() -> None:
    for rule in (Sum, "sum", 3, None):
        with pytest.raises(InputError, match="rule"):
            Mapping([1, 2], rule, "m")  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "labels",
    [
        [[1, 2]],
        [[1] * 9] * 3,
        [[1] * 8] * 4,
        [[1] * 9, [1] * 9, [1] * 9, [1] * 8],
        [[1.0] * 9] * 4,
        3,
        [3] * 4,
    ],
)
def test_a_table_of_another_shape_or_kind_is_refused(labels: Any) -> None:
    with pytest.raises(InputError, match="labels"):
        task_of(Tabulated(labels))


@pytest.mark.parametrize(
    "lines", ["[3]", '"1 2"', '["1 2 x"]', '["1  2"]', '["+1 2"]', '["1.0"]', "[[true]]"]
)
def test_lines_of_labels_are_read_strictly(lines: str) -> None:
    text = "keys = [5]\nn_anchors = 1\nlength = 2\nvocab_size = 9\n[[mappings]]\nanchors = [1, 2]\n"
    with pytest.raises(InputError, match="labels"):
        Task.from_toml(f'{text}rule = "tabulated"\nlabels = {lines}')
