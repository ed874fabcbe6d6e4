"""Tasks: equality, TOML, and what is refused."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from theory import InputError, Lookup, Mapping, Shift, Sum, Task, Window

PAPER: dict[str, Any] = {
    "keys": range(21, 121),
    "reasoning_anchors": range(11, 21),
    "memory_anchors": range(1, 11),
    "n_anchors": 2,
    "length": 9,
    "vocab_size": 200,
    "held_out": {(11, 13), (13, 11)},
}


def test_the_papers_task() -> None:
    assert Task.paper() == Task(**PAPER)
    assert hash(Task.paper()) == hash(Task(**PAPER))
    assert Task.paper(length=3) != Task.paper()
    assert Task.paper(length=3).length == 3
    assert Task.paper().held_out == {(11, 13), (13, 11)}


def test_order_of_mappings_and_tokens_makes_no_difference() -> None:
    one = Task(
        keys=[5, 6, 7],
        n_anchors=1,
        length=2,
        vocab_size=20,
        mappings=[Mapping([1, 2], Sum(), "a"), Mapping([3], Lookup(), "b")],
    )
    other = Task(
        keys=[7, 6, 5],
        n_anchors=1,
        length=2,
        vocab_size=20,
        mappings=[Mapping([3], Lookup(), "b"), Mapping([2, 1], Sum(), "a")],
    )
    assert one == other
    assert hash(one) == hash(other)


@st.composite
def tasks(draw: st.DrawFn) -> Task:
    """Draw tasks of every rule, with gaps among keys, shift tables of both signs and held-out sets."""
    q = draw(st.integers(1, 3))
    keys = draw(st.sets(st.integers(40, 60), min_size=1, max_size=6))
    n_mappings = draw(st.integers(1, 3))
    mappings = []
    for index in range(n_mappings):
        anchors = sorted(draw(st.sets(st.integers(8 * index, 8 * index + 7), min_size=1, max_size=3)))
        rule = draw(
            st.one_of(
                st.just(Sum()),
                st.just(Lookup()),
                st.builds(lambda low, n: Lookup(low, low + n), st.integers(0, 50), st.integers(0, 9)),
                st.just(Window()) if max(anchors) * q <= 40 else st.just(Sum()),
                st.builds(
                    lambda shifts, a=anchors: Shift(dict(zip(a, shifts, strict=False))),
                    st.lists(st.integers(-10, 9), min_size=len(anchors), max_size=len(anchors)),
                ),
            )
        )
        combination = st.tuples(*[st.sampled_from(anchors)] * q)
        held = set() if rule.is_table else draw(st.sets(combination, max_size=len(anchors) ** q - 1))  # type: ignore[attr-defined]
        mappings.append(Mapping(anchors, rule, f"m{index}", held))
    extra = draw(st.integers(0, 1))
    return Task(keys=keys, n_anchors=q, length=q + 1 + extra, vocab_size=160, mappings=mappings)


@given(tasks())
def test_toml_round_trip(task: Task) -> None:
    again = Task.from_toml(task.to_toml())
    assert again == task
    assert hash(again) == hash(task)


def test_toml_short_form_and_file(tmp_path: Path) -> None:
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
    assert Task.from_toml(text) == Task.from_toml(file) == Task.paper()


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"memory_anchors": range(10, 22)}, ["anchors = 11", "two mappings"]),
        ({"reasoning_anchors": range(11, 22)}, ["anchors = 21", "key"]),
        ({"vocab_size": 150}, ["vocab_size = 150", "at least 161"]),
        ({"vocab_size": 100}, ["keys = 120", "vocabulary"]),
        ({"n_anchors": 0}, ["n_anchors = 0", "q >= 1"]),
        ({"n_anchors": 1.5}, ["n_anchors = 1.5", "integer"]),
        ({"length": 2}, ["length = 2", "at least 3"]),
        ({"keys": []}, ["keys = []", "empty"]),
        ({"keys": [21, 21]}, ["keys = 21", "twice"]),
        ({"keys": 7}, ["keys = 7", "range"]),
        ({"held_out": {(11,)}}, ["held_out = (11,)", "n_anchors = 2"]),
        ({"held_out": {(11, 5)}}, ["held_out = (11, 5)", "5 is not an anchor"]),
        ({"held_out": [11]}, ["held_out = 11", "not a list", "tuple"]),
        ({"reasoning_anchors": None, "held_out": {(1, 2)}}, ["held_out = (1, 2)", "generalise"]),
        ({"reasoning_anchors": None, "memory_anchors": None, "held_out": ()}, ["no mapping"]),
        ({"held_out": [(a, b) for a in range(11, 21) for b in range(11, 21)]}, ["every combination"]),
    ],
)
def test_nonsense_is_refused_by_name(change: dict[str, Any], words: list[str]) -> None:
    with pytest.raises(InputError) as caught:
        Task(**(PAPER | change))
    assert all(word in str(caught.value) for word in words)


@pytest.mark.parametrize(
    ("rule", "words"),
    [
        (lambda: Shift({1: 5}), ["table = {1: 5}", "every anchor"]),
        (lambda: Shift({}), ["not a shift table"]),
        (lambda: Lookup(5, 4), ["(5, 4)", "empty"]),
        (lambda: Lookup(low=5), ["only one end"]),
        (lambda: Lookup(150, 250), ["labels up to 250"]),
        (lambda: Shift({1: -100, 2: 0}), ["below 0"]),
        (lambda: Window(), ["below 0"]),
    ],
)
def test_rules_that_do_not_fit_are_refused(rule: Any, words: list[str]) -> None:
    with pytest.raises(InputError) as caught:
        Task(keys=[3, 4], n_anchors=2, length=3, vocab_size=200, mappings=[Mapping([1, 2], rule(), "m")])
    assert all(word in str(caught.value) for word in words)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("keys = = 3", ["not valid TOML", "line 1"]),
        ('keyz = "21..120"', ["keyz", "did you mean 'keys'"]),
        ('keys = "21-120"\nn_anchors=2\nlength=3\nvocab_size=200', ["21-120", "first..last"]),
        ('keys = "5..9"\nn_anchors=1\nvocab_size=20', ["'length' is missing"]),
        (
            'keys="5..9"\nn_anchors=1\nlength=2\nvocab_size=20\n[[mappings]]\nanchors=[1]\nrule="som"',
            ["som", "choose one of", "lookup"],
        ),
        (
            'keys="5..9"\nn_anchors=1\nlength=2\nvocab_size=20\n[[mappings]]\nanchors=[1]\nrule="sum"\nlow=3',
            ["low", "unknown key"],
        ),
    ],
)
def test_bad_toml_is_refused_by_name(text: str, words: list[str]) -> None:
    with pytest.raises(InputError) as caught:
        Task.from_toml(text)
    assert all(word in str(caught.value) for word in words)


def test_a_missing_file_is_named() -> None:
    with pytest.raises(InputError, match=r"nowhere\.toml.*no such file"):
        Task.from_toml(Path("nowhere.toml"))


@pytest.mark.parametrize(
    "name",
    [
        "mem",
        "rsn_train",
        "rsn_test",
        "training",
        "all anchors",
        "../../victim",
        "a/b",
        "a\\b",
        "/tmp/x",
        "..",
        ".hidden",
        " padded",
        "line\nbreak",
        "nul\0",
        "bell\a",
        "turned\u202e",
        "x" * 65,
        3,
        True,
    ],
)
def test_names_that_are_taken_or_no_part_of_a_file_name_are_refused(name: Any) -> None:
    with pytest.raises(InputError, match="name"):
        Mapping([1, 2], Sum(), name)


def test_a_name_that_is_a_data_set_of_another_mapping_is_refused() -> None:
    mappings = [Mapping([1, 2], Sum(), "x"), Mapping([3, 4], Sum(), "x train")]
    with pytest.raises(InputError, match="data set of 'x'"):
        Task(keys=[9, 10], n_anchors=1, length=2, vocab_size=30, mappings=mappings)
    Task(keys=[9, 10], n_anchors=1, length=2, vocab_size=30, mappings=mappings[1:])


def test_a_misspelt_key_of_a_mapping_is_named_before_the_missing_one() -> None:
    text = HEAD.replace("\nanchors", "\nanchor") + 'label = "key"'
    with pytest.raises(InputError, match=r"'anchor': unknown key; did you mean 'anchors'"):
        Task.from_toml(text)


def test_a_range_the_wrong_way_round_is_named() -> None:
    text = HEAD.replace("[9, 10]", '"26..20"') + 'rule = "sum"'
    with pytest.raises(InputError, match=r"keys = '26..20': a range that ends before it .* \"20..26\""):
        Task.from_toml(text)


def test_one_table_of_mappings_is_told_how_a_list_of_them_is_written() -> None:
    text = HEAD.replace("[[mappings]]", "[mappings]") + 'rule = "sum"'
    with pytest.raises(InputError, match=r"mappings = .*: not a list; write \[\[mappings\]\], or"):
        Task.from_toml(text)


HEAD = "keys = [9, 10]\nn_anchors = 1\nlength = 2\nvocab_size = 30\n[[mappings]]\nanchors = [1, 2]\n"


@pytest.mark.parametrize(
    ("lines", "words"),
    [
        ('rule = "shift"\ntable = { "01" = 5, "1" = 6, "2" = 0 }', ["table = '01'", "not an integer"]),
        ('rule = "shift"\ntable = { "+1" = 5, "2" = 0 }', ["'+1'"]),
        ('rule = "shift"\ntable = { "1_0" = 5, "2" = 0 }', ["'1_0'"]),
        ('rule = "shift"\ntable = { "1" = true, "2" = 0 }', ["table[1] = True", "not an integer"]),
        ('rule = "shift"\ntable = { "1" = "4", "2" = 0 }', ["table[1] = '4'", "not an integer"]),
        ('rule = "shift"\ntable = [1, 2]', ["table = [1, 2]", "not a shift table"]),
        ('rule = "shift"', ["'table' is missing"]),
        ('lable = "key"', ["'lable': unknown key", "did you mean 'label'"]),
        ('rule = "shift"\ntabel = { "1" = 5, "2" = 0 }', ["'tabel': unknown key", "did you mean 'table'"]),
        ('rule = "lookup"\nlow = true\nhigh = 5', ["low = True", "not an integer"]),
        ('rule = "lookup"\nlow = "2"\nhigh = 5', ["low = '2'", "not an integer"]),
        ('rule = "lookup"\nlow = 2.0\nhigh = 5', ["low = 2.0", "not an integer"]),
        ('rule = "expression"', ["'label' is missing"]),
        ('rule = "tabulated"', ["'labels' is missing"]),
        ('rule = "function"', ["function", "unknown rule"]),
        ('rule = "sum"\nlabel = "key"', ["'label'", "unknown key"]),
        ("label = 3", ["label = 3", "not an expression"]),
        ('label = "g(a1)"\ntable = { "01" = 4 }', ["table = '01'"]),
        ('label = "key"\nlow = 3', ["'low'", "unknown key"]),
        ('rule = "sum"\nname = 3', ["name = 3"]),
        ('rule = "sum"\nheld_out = [[true]]', ["held_out = True", "not an integer"]),
        ('rule = ["sum"]', ["rule = ['sum']", "unknown rule"]),
    ],
)
def test_mappings_in_toml_are_read_strictly(lines: str, words: list[str]) -> None:
    with pytest.raises(InputError) as caught:
        Task.from_toml(HEAD + lines)
    assert all(word in str(caught.value) for word in words), str(caught.value)


@pytest.mark.parametrize("key", ["n_anchors", "length", "vocab_size"])
@pytest.mark.parametrize("value", ["true", '"3"', "3.0", "[3]"])
def test_sizes_in_toml_are_integers(key: str, value: str) -> None:
    text = f"{HEAD}rule = 'sum'".replace(f"{key} = ", f"{key} = {value} # ")
    with pytest.raises(InputError, match=f"{key} = .*not an integer"):
        Task.from_toml(text)
