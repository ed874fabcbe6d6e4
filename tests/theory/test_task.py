"""Tasks: equality, TOML, and every refusal by the name of its argument."""

import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given

from tests.theory.any_rule import tasks
from theory import InputError, Lookup, Mapping, Shift, Sum, Task, Window
from theory.edge.checked import MOST_ITEMS
from theory.task.task import task_from_dict

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


REFUSED: dict[str, list[dict[str, Any]]] = {
    "anchors": [{"memory_anchors": range(10, 22)}, {"reasoning_anchors": range(11, 22)}],
    "vocab_size": [{"vocab_size": 150}, {"vocab_size": 161 - 1, "held_out": ()}],
    "keys": [{"vocab_size": 100}, {"keys": []}, {"keys": [21, 21]}, {"keys": 7}, {"keys": [1.5]}],
    "n_anchors": [{"n_anchors": 0}, {"n_anchors": 10**9, "length": 10**9 + 1}, {"n_anchors": 1.5}],
    "length": [{"length": 2}, {"length": 10**6}, {"length": True}],
    "held_out": [
        *({"held_out": held} for held in ({(11,)}, {(11, 5)}, [11], {(11, 13, 11)}, {(11, 13.5)})),
        {"reasoning_anchors": None, "held_out": {(1, 2)}},
        {"held_out": [(a, b) for a in range(11, 21) for b in range(11, 21)]},
    ],
    "mappings": [
        {"reasoning_anchors": None, "memory_anchors": None, "held_out": ()},
        {"mappings": [Mapping([1], Sum())]},
        {"mappings": [Mapping([1], Sum())], "reasoning_anchors": None, "memory_anchors": None},
    ],
}


@pytest.mark.parametrize(
    ("argument", "change"), [(name, change) for name, changes in REFUSED.items() for change in changes]
)
def test_nonsense_is_refused_by_name(argument: str, change: dict[str, Any]) -> None:
    with pytest.raises(InputError, match=f"^{argument} = "):
        Task(**(PAPER | change))


RULES: dict[str, list[Any]] = {
    "table": [lambda: Shift({1: 5}), lambda: Shift({})],
    "low, high": [lambda: Lookup(5, 4), lambda: Lookup(low=5), lambda: Lookup(high=5)],
    "low": [lambda: Lookup(2.0, 5)],
    "vocab_size": [lambda: Lookup(150, 250), lambda: Lookup(150, 200), lambda: Shift({1: 98, 2: 0})],
    "mappings": [lambda: Shift({1: -100, 2: 0}), lambda: Lookup(-1, 5), lambda: Window()],
    "rule": [lambda: Sum, lambda: "sum"],
}


@pytest.mark.parametrize(("argument", "rule"), [(n, rule) for n, rules in RULES.items() for rule in rules])
def test_rules_that_do_not_fit_are_refused(argument: str, rule: Any) -> None:
    with pytest.raises(InputError, match=f"^{argument} = "):
        Task(keys=[3, 4], n_anchors=2, length=3, vocab_size=200, mappings=[Mapping([1, 2], rule(), "m")])


@pytest.mark.parametrize(
    ("rule", "labels"),
    [
        (Lookup(150, 199), range(150, 200)),
        (Shift({1: 97, 2: 0}), range(3, 199)),
        (Shift({1: -1, 2: 0}), range(1, 5)),
    ],
)
def test_rules_that_just_fit_are_not(rule: Any, labels: range) -> None:
    task = Task(keys=[3, 4], n_anchors=2, length=3, vocab_size=200, mappings=[Mapping([1, 2], rule, "m")])
    assert task.label_range(task.mappings[0]) == labels


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


def test_data_sets_are_shown_by_the_names_of_their_mappings() -> None:
    assert Task.paper().data_sets == {
        "mem": "memory",
        "rsn_train": "reasoning train",
        "rsn_test": "reasoning test",
    }
    size: dict[str, Any] = {"keys": range(20, 30), "n_anchors": 2, "length": 3, "vocab_size": 60}
    add, more = Mapping([1, 2], Sum(), "add", {"far": [(1, 2)]}), Mapping([3, 4], Sum(), "more")
    both = {"rsn_train": "all rules train", "rsn_test": "all rules test", "add": "add train", "more": "more"}
    assert Task(**size, mappings=[add, more]).data_sets == both
    assert Task(**size, mappings=[more]).data_sets == {"rsn_train": "more"}


def test_a_table_of_plain_data_may_have_integers_for_its_keys() -> None:
    """As Python's own and NumPy's, which JSON does not hold."""
    mapping = {"anchors": [1, 2], "rule": "shift", "table": {1: 5, np.int64(2): 0}}
    task = task_from_dict(
        {"keys": [9, 10], "n_anchors": 1, "length": 2, "vocab_size": 30, "mappings": [mapping]}
    )
    assert task.mappings[0].rule == Shift({1: 5, 2: 0})


ENDLESS = (f"1..{MOST_ITEMS + 1}", f"1..{10**11}", f"1..{'9' * 5000}", f"{'1' * 30}..{'1' * 30}")
BAD_TOML = {
    "TOML": ["keys = = 3", HEAD + "label = (key + a1) % 20"],
    "task": ['keyz = "21..120"'],
    "keys": [HEAD.replace("[9, 10]", f'"{keys}"') for keys in ("9-10", "26..20", *ENDLESS)],
    "mappings": [HEAD.replace("[[mappings]]", "[mappings]") + 'rule = "sum"'],
    "rule": [HEAD + 'rule = "som"'],
    "table": [HEAD + f'rule = "shift"\ntable = {table}' for table in ('{ "01" = 5, "2" = 0 }', "[1, 2]")],
    "table[1]": [HEAD + 'rule = "shift"\ntable = { "1" = true, "2" = 0 }'],
    "low": [HEAD + 'rule = "lookup"\nlow = true\nhigh = 5'],
    "name": [HEAD + 'rule = "sum"\nname = 3'],
    "held_out": [HEAD + 'rule = "sum"\nheld_out = [[true]]'],
    "labels": [HEAD + f'rule = "tabulated"\nlabels = {labels}' for labels in ('["1 2 x"]', '"1 2"')],
    "n_anchors": [HEAD.replace("n_anchors = 1", "n_anchors = 1.0") + 'rule = "sum"'],
}


@pytest.mark.parametrize(("argument", "text"), [(n, text) for n, texts in BAD_TOML.items() for text in texts])
def test_bad_toml_is_refused_by_name_and_names_its_file(tmp_path: Path, argument: str, text: str) -> None:
    with pytest.raises(InputError) as refusal:
        Task.from_toml(text)
    file = tmp_path / "mine.toml"
    file.write_text(text)
    with pytest.raises(InputError, match=r"mine\.toml"):
        Task.from_toml(file)
    assert refusal.value.argument.endswith(argument)


@pytest.mark.parametrize(
    ("text", "remedy"),
    [
        ('keyz = "21..120"', "did you mean 'keys'"),
        (HEAD + 'rule = "sum"\nlow = 3', "unknown key"),
        (HEAD + 'rule = "shift"\ntabel = { "1" = 5, "2" = 0 }', "did you mean 'table'"),
        (HEAD.replace("\nanchors", "\nanchor") + 'label = "key"', "did you mean 'anchors'"),
        (HEAD + 'lable = "key"', "did you mean 'label'"),
        (HEAD + 'rule = "shift"', "'table' is missing"),
        (HEAD + 'rule = "sum"\nheld_out = 0.3', r"fraction = 0\.3"),
        (HEAD.replace("length = 2\n", ""), "'length' is missing"),
    ],
)
def test_a_key_that_is_unknown_or_missing_is_named(text: str, remedy: str) -> None:
    with pytest.raises(InputError, match=remedy):
        Task.from_toml(text)
