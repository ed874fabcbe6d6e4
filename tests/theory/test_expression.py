"""Label expressions: values against Python's own arithmetic, and everything that is refused."""

import ast
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from theory import Expression, InputError, Mapping, Task
from theory.task.arithmetic import MAX_BITS, MAX_DEPTH, MAX_LENGTH
from theory.task.domain import Domain, Selection

TABLE = {-3: 7, 0: 1, 1: 5, 2: -4, 3: 0}
DOMAIN = Domain("m", (0, 1, 5, 9), (1, 2, 3), 2, 100)
COMBINATIONS = DOMAIN.combinations()
KEYS, ANCHORS = np.repeat(np.array(DOMAIN.keys), len(COMBINATIONS)), np.tile(COMBINATIONS, (4, 1))
ROWS = [
    {"key": key, "a1": a, "a2": b, "total": a + b}
    for key, (a, b) in zip(KEYS.tolist(), ANCHORS.tolist(), strict=True)
]


def numbers(depth: int) -> st.SearchStrategy[str]:
    names = st.sampled_from(["key", "a1", "a2", "total"])
    leaf = st.one_of(names, st.integers(0, 12).map(str), st.sampled_from([str(2**62), str(2**62 - 1)]))
    if depth == 0:
        return leaf
    inner = numbers(depth - 1)
    binary = st.builds("({} {} {})".format, inner, st.sampled_from(["+", "-", "*", "//", "%"]), inner)
    power = st.builds("({} ** {})".format, inner, st.integers(0, 5).map(str))
    call = st.builds("{}({}, {})".format, st.sampled_from(["min", "max"]), inner, inner)
    unary = st.builds("{}({})".format, st.sampled_from(["abs", "-", "+"]), inner)
    choice = st.builds("({} if {} else {})".format, inner, conditions(depth - 1), inner)
    return st.one_of(leaf, binary, power, call, unary, st.just("g(a1)"), choice)


def conditions(depth: int) -> st.SearchStrategy[str]:
    sign = st.sampled_from(["<", "<=", ">", ">=", "==", "!="])
    inner = numbers(max(depth, 0))
    simple = st.builds("{} {} {}".format, inner, sign, inner)
    chain = st.builds("{} {} {} {} {}".format, inner, sign, inner, sign, inner)
    if depth <= 0:
        return st.one_of(simple, chain)
    sides = conditions(depth - 1)
    joined = st.builds("({} {} {})".format, sides, st.sampled_from(["and", "or"]), sides)
    return st.one_of(simple, chain, joined, st.builds("(not {})".format, simple))


def python_value(text: str, names: dict[str, int]) -> Any:
    """Return Python's value of the text, or the exception it raises."""
    scope = {"min": min, "max": max, "abs": abs, "g": TABLE.__getitem__, **names}
    try:
        return eval(text, {"__builtins__": {}}, scope)
    except (ZeroDivisionError, KeyError) as error:
        return error


@given(numbers(3))
@settings(max_examples=200)
def test_values_are_those_of_python_integers(text: str) -> None:
    wanted = [python_value(text, names) for names in ROWS]
    rule = Expression(text, TABLE)
    assert Expression(rule.text, TABLE) == rule
    assert ast.dump(ast.parse(rule.text)) == ast.dump(ast.parse(text))
    if all(isinstance(w, int) and abs(w) < 2**62 for w in wanted):
        try:
            assert rule.evaluate(DOMAIN, KEYS, ANCHORS).tolist() == wanted
        except InputError as refusal:
            if str(MAX_BITS) not in str(refusal):  # A number on the way that is too long.
                raise
    else:
        with pytest.raises(InputError, match="label = "):
            rule.evaluate(DOMAIN, KEYS, ANCHORS)


@pytest.mark.parametrize(
    "text",
    [
        "7 ** (key * a1 * a2) % 97",
        f"({2**62} * a1 * 4 + key) % 89",
        f"2 ** {MAX_BITS - 1} % 97 + key",
        "a1 // key if key != 0 and 12 // key > 1 else 4 if key < 1 or 5 % key == 5 else 3",
        "7 if 0 < key < 12 // key else 2",
    ],
)
def test_nothing_wraps_around_and_a_side_that_is_not_taken_is_not_evaluated(text: str) -> None:
    found = Expression(text).evaluate(DOMAIN, KEYS, ANCHORS)
    assert found.tolist() == [python_value(text, names) for names in ROWS]


def test_totals_beyond_64_bits_are_exact() -> None:
    rule, domain = Expression("(total + key) % 7"), Domain("m", (0, 1, 5), (10**18 - 2, 10**18 - 1), 12, 7)
    keys = np.repeat(domain.keys, domain.n_combinations)
    anchors = np.tile(domain.combinations(), (3, 1))
    labels = [(sum(row) + key) % 7 for key, row in zip(keys.tolist(), anchors.tolist(), strict=True)]
    assert rule.evaluate(domain, keys, anchors).tolist() == labels
    shares = [labels.count(label) / len(labels) for label in range(7)]
    assert rule.distribution(domain, Selection()).weights == pytest.approx(shares, rel=1e-14)


@pytest.mark.parametrize(
    "text",
    ["\tkey\t+ a1", "key +\r\n a1\r\n", "key\u00a0+\u00a0a1", "key # the key\n + a1 # and (an anchor"],
)
def test_white_space_of_any_kind_is_a_space_and_a_comment_ends_with_its_line(text: str) -> None:
    assert Expression(text).text == "key + a1"


def test_limits_of_length_and_depth_are_exact() -> None:
    for make, most, problem in (
        (
            lambda n: "min(key, " + "1" * 15 + ", a1" * 100 + ", " + " " * (n - 428) + "2)",
            MAX_LENGTH,
            "characters, and the limit",
        ),
        (lambda n: "-" * (n - 1) + "1", MAX_DEPTH, "nested deeper"),
    ):
        Expression(make(most))
        with pytest.raises(InputError, match=problem):
            Expression(make(most + 1))


OUTSIDE = (
    *("key / 2", "2 ^ key", "key & 1", "key + b", "a0 + 1", "__import__(1)", "key.real", "key[0]", "kéy"),
    *("lambda: key", "1e3 + key", "key + 2j", "True + key", "key + 0x10", "key + 1_0", f"key + {2**63}"),
    *("(key > 3) * 2", "a1 if key else 2", "2 if key is a1 else 3", "min()", "abs(key, a1)", "f(key)"),
    *("min(key, default=2)", "min(*key)", "(yield)", "g(a1)", "key +", "((key)", "1if key < 2 else 3", ""),
    *("(" * 150 + "key" + ")" * 149, "+".join(["a1"] * 330), "min(" + ",".join(["a1"] * 300) + ")"),
)


@pytest.mark.parametrize("text", OUTSIDE)
def test_text_outside_the_grammar_is_refused(text: str) -> None:
    with pytest.raises(InputError, match=r"^label = "):
        Expression(text)


@pytest.mark.parametrize("text", ["key + b", "  key + b", "key + 0x10", "key + b.c"])
def test_a_refusal_names_the_column(text: str) -> None:
    with pytest.raises(InputError, match="column 7: "):
        Expression(text)


@pytest.mark.parametrize(
    ("text", "argument", "named"),
    [
        ("key // (a1 - a2)", "label", r"key // \(a1 - a2\): division by zero for key = 5, a1 = 1, a2 = 1"),
        ("key % (a1 - 1)", "label", "division by zero for key = 5, a1 = 1"),
        ("key ** (1 - a1)", "label", "negative exponent for key = 5, a1 = 2"),
        ("key ** key ** 5 % 97", "label", f"{MAX_BITS} bits"),
        (f"2 ** {MAX_BITS} % 97 + key", "label", f"{MAX_BITS} bits"),
        (f"{2**62} * 5 + key", "label", "end it with % n"),
        ("a3 + key", "label", "unknown name a3: .*use a1 to a2"),
        ("g(a1 + 2) + key", "label", r"g has no entry for key = 5, a1 = 2"),
        ("key - 6", "mappings", "-1"),
        ("key * a1 * a2", "vocab_size", "118"),
    ],
)
def test_an_expression_that_fails_for_some_key_is_refused_with_it(
    text: str, argument: str, named: str
) -> None:
    mapping = Mapping([1, 2, 3], Expression(text, {1: 1, 2: 2, 3: 3} if "g(" in text else None), "m")
    size = 117 if "key * a1" in text else 10**6
    with pytest.raises(InputError, match=named) as caught:
        Task(keys=range(5, 14), n_anchors=2, length=3, vocab_size=size, mappings=[mapping])
    assert caught.value.argument == argument


def test_where_labels_are_too_many_to_compute_a_sample_is_checked() -> None:
    """20^20 combinations: extreme ones and 500 others."""
    many = {"keys": range(50, 90), "n_anchors": 20, "length": 21, "vocab_size": 97}
    task = Task(mappings=[Mapping(range(1, 21), Expression("(key * a1 + a20) % 97"), "m")], **many)
    assert task.label_range(task.mappings[0]) == range(97)
    with pytest.raises(InputError, match=r"^vocab_size = "):
        Task(mappings=[Mapping(range(1, 21), Expression("key + a1 * a20"), "m")], **many)
    with pytest.raises(InputError, match=r"^label = "):
        Task(mappings=[Mapping(range(1, 21), Expression("(a1 - a2) ** key ** a3"))], **many)
