"""Tasks: equality, TOML, and every refusal by the name of its argument."""

from __future__ import annotations

import pickle
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given

from tests.theory.any_rule import tasks
from theory import InputError, Lookup, Mapping, Shift, Sum, Task, Window
from theory.checked import MOST_ITEMS

PAPER: dict[str, Any] = {
    "keys": range(21, 121),
    "reasoning_anchors": range(11, 21),
    "memory_anchors": range(1, 11),
    "n_anchors": 2,
    "length": 9,
    "vocab_size": 200,
    "held_out": {(11, 13), (13, 11)},
}
HEAD = "keys = [9, 10]\nn_anchors = 1\nlength = 2\nvocab_size = 30\n[[mappings]]\nanchors = [1, 2]\n"


def test_the_papers_task() -> None:
    assert Task.paper() == Task(**PAPER)
    assert hash(Task.paper()) == hash(Task(**PAPER))
    assert Task.paper(length=3) != Task.paper()
    assert Task.paper().held_out == {(11, 13), (13, 11)}
    assert (Task.paper(length=3).length, Task.paper().n_noise) == (3, 6)
    reversed_keys = PAPER | {"keys": range(120, 20, -1)}
    assert Task(**reversed_keys) == Task.paper()


@given(tasks())
def test_a_task_survives_toml_and_pickling_in_any_order_of_mappings(task: Task) -> None:
    other = Task(
        keys=task.keys[::-1],
        n_anchors=task.n_anchors,
        length=task.length,
        vocab_size=task.vocab_size,
        mappings=task.mappings[::-1],
    )
    for again in (Task.from_toml(task.to_toml()), pickle.loads(pickle.dumps(task)), other):
        assert again == task
        assert hash(again) == hash(task)


def test_toml_in_its_short_form_from_text_and_from_a_file(tmp_path: Path) -> None:
    text = """
    keys = "21..120"
    n_anchors = 2
    length = 9
    vocab_size = 200
    reasoning_anchors = "11..20"
    memory_anchors = "1..10"
    held_out = [[11, 13], [13, 11]]
    """
    file = tmp_path / "task.toml"
    file.write_text(text)
    assert Task.from_toml(text) == Task.from_toml(file) == Task.from_toml(str(file)) == Task.paper()


@pytest.mark.parametrize(
    ("change", "argument", "named"),
    [
        ({"memory_anchors": range(10, 22)}, "anchors", "11"),
        ({"reasoning_anchors": range(11, 22)}, "anchors", "21"),
        ({"vocab_size": 150}, "vocab_size", "161"),
        ({"vocab_size": 100}, "keys", "120"),
        ({"n_anchors": 0}, "n_anchors", "q >= 1"),
        ({"n_anchors": 10**9, "length": 10**9 + 1}, "n_anchors", "at most"),
        ({"n_anchors": 1.5}, "n_anchors", "integer"),
        ({"length": 2}, "length", "at least 3"),
        ({"length": 10**6}, "length", "at most"),
        ({"keys": []}, "keys", "empty"),
        ({"keys": [21, 21]}, "keys", "twice"),
        ({"keys": 7}, "keys", "list"),
        ({"held_out": {(11,)}}, "held_out", "n_anchors = 2"),
        ({"held_out": {(11, 5)}}, "held_out", "5"),
        ({"held_out": [11]}, "held_out", "tuple"),
        ({"reasoning_anchors": None, "held_out": {(1, 2)}}, "held_out", "table"),
        ({"reasoning_anchors": None, "memory_anchors": None, "held_out": ()}, "mappings", "no mapping"),
        ({"held_out": [(a, b) for a in range(11, 21) for b in range(11, 21)]}, "held_out", "every"),
        ({"mappings": [Mapping([1], Sum())]}, "mappings", "into the mappings"),
    ],
)
def test_nonsense_is_refused_by_name(change: dict[str, Any], argument: str, named: str) -> None:
    with pytest.raises(InputError, match=named) as caught:
        Task(**(PAPER | change))
    assert caught.value.argument == argument


@pytest.mark.parametrize(
    ("rule", "argument"),
    [
        (lambda: Shift({1: 5}), "table"),
        (lambda: Shift({}), "table"),
        (lambda: Lookup(5, 4), "low, high"),
        (lambda: Lookup(low=5), "low, high"),
        (lambda: Lookup(150, 250), "vocab_size"),
        (lambda: Lookup(2.0, 5), "low"),
        (lambda: Shift({1: -100, 2: 0}), "mappings"),
        (lambda: Window(), "mappings"),
        (lambda: Sum, "rule"),
        (lambda: "sum", "rule"),
    ],
)
def test_rules_that_do_not_fit_are_refused(rule: Any, argument: str) -> None:
    with pytest.raises(InputError) as caught:
        Task(keys=[3, 4], n_anchors=2, length=3, vocab_size=200, mappings=[Mapping([1, 2], rule(), "m")])
    assert caught.value.argument in (argument, "function")


@pytest.mark.parametrize(
    "name",
    ["mem", "training", "a/b", "a\\b", "..", ".hidden", " padded", "line\nbreak", "nul\0", "x" * 65, 3],
)
def test_names_that_are_taken_or_no_part_of_a_file_name_are_refused(name: Any) -> None:
    with pytest.raises(InputError, match="name"):
        Mapping([1, 2], Sum(), name)


def test_a_name_that_is_a_data_set_of_another_mapping_is_refused() -> None:
    mappings = [Mapping([1, 2], Sum(), "x"), Mapping([3, 4], Sum(), "x train")]
    with pytest.raises(InputError, match="data set of 'x'"):
        Task(keys=[9, 10], n_anchors=1, length=2, vocab_size=30, mappings=mappings)
    Task(keys=[9, 10], n_anchors=1, length=2, vocab_size=30, mappings=mappings[1:])


@pytest.mark.parametrize(
    ("text", "named"),
    [
        ("keys = = 3", "not valid TOML.*line 1"),
        ('keyz = "21..120"', "did you mean 'keys'"),
        (HEAD.replace("[9, 10]", '"9-10"'), "first..last"),
        (HEAD.replace("[9, 10]", '"26..20"'), r"write \"20..26\""),
        (HEAD.replace("[9, 10]", f'"1..{MOST_ITEMS + 1}"'), "too many"),
        (HEAD.replace("length = 2\n", ""), "'length' is missing"),
        (HEAD.replace("[[mappings]]", "[mappings]") + 'rule = "sum"', r"write \[\[mappings\]\]"),
        (HEAD + "label = (key + a1) % 20", "put the expression in quotes"),
        (HEAD + 'rule = "som"', "choose one of.*lookup"),
        (HEAD + 'rule = "sum"\nlow = 3', "low.*unknown key"),
        (HEAD + 'rule = "shift"\ntabel = { "1" = 5, "2" = 0 }', "did you mean 'table'"),
        (HEAD.replace("\nanchors", "\nanchor") + 'label = "key"', "did you mean 'anchors'"),
        (HEAD + 'lable = "key"', "did you mean 'label'"),
        (HEAD + 'rule = "shift"', "'table' is missing"),
        (HEAD + 'rule = "shift"\ntable = { "01" = 5, "2" = 0 }', "table = '01'"),
        (HEAD + 'rule = "shift"\ntable = { "1" = true, "2" = 0 }', r"table\[1\]"),
        (HEAD + 'rule = "shift"\ntable = [1, 2]', "table = "),
        (HEAD + 'rule = "lookup"\nlow = true\nhigh = 5', "low = True"),
        (HEAD + 'rule = "sum"\nname = 3', "name = 3"),
        (HEAD + 'rule = "sum"\nheld_out = [[true]]', "held_out = True"),
        (HEAD + 'rule = "tabulated"\nlabels = ["1 2 x"]', "labels = "),
        (HEAD + 'rule = "tabulated"\nlabels = "1 2"', "labels = "),
        (HEAD.replace("n_anchors = 1", "n_anchors = 1.0") + 'rule = "sum"', "n_anchors = 1.0"),
    ],
)
def test_bad_toml_is_refused_by_name_and_names_its_file(tmp_path: Path, text: str, named: str) -> None:
    with pytest.raises(InputError, match=named):
        Task.from_toml(text)
    file = tmp_path / "mine.toml"
    file.write_text(text)
    with pytest.raises(InputError, match=rf"(?s)mine\.toml.*{named}"):
        Task.from_toml(file)
