"""Label expressions: values against Python's own arithmetic, bounds, and everything that is refused."""

from __future__ import annotations

import ast
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from theory import Expression, InputError, Mapping, Task
from theory.task.domain import Domain
from theory.task.expression_nodes import Bounds, _power_bits
from theory.task.expression_parser import MAX_DEPTH, MAX_LENGTH, parse
from theory.task.intervals import MAX_BITS, Interval

TABLE = {-3: 7, 0: 1, 1: 5, 2: -4, 3: 0}
NAMES = ("key", "a1", "a2", "total")
DOMAIN = Domain("m", (0, 1, 5, 9), (1, 2, 3), 2, 100)


def numbers(depth: int) -> st.SearchStrategy[str]:
    leaf = st.one_of(st.sampled_from(NAMES), st.integers(0, 12).map(str), st.just(str(2**62)))
    if depth == 0:
        return leaf
    inner = numbers(depth - 1)
    binary = st.builds("({} {} {})".format, inner, st.sampled_from(["+", "-", "*", "//", "%"]), inner)
    power = st.builds("({} ** {})".format, inner, st.integers(0, 5).map(str))
    call = st.builds("{}({}, {})".format, st.sampled_from(["min", "max"]), inner, inner)
    unary = st.builds("{}({})".format, st.sampled_from(["abs", "-", "+"]), inner)
    lookup = st.just("g(a1)")
    choice = st.builds("({} if {} else {})".format, inner, conditions(depth - 1), inner)
    return st.one_of(leaf, binary, power, call, unary, lookup, choice)


def conditions(depth: int) -> st.SearchStrategy[str]:
    sign = st.sampled_from(["<", "<=", ">", ">=", "==", "!="])
    inner = numbers(max(depth, 0))
    simple = st.builds("{} {} {}".format, inner, sign, inner)
    chain = st.builds("{} {} {} {} {}".format, inner, sign, inner, sign, inner)
    if depth <= 0:
        return st.one_of(simple, chain)
    joined = st.builds(
        "({} {} {})".format, conditions(depth - 1), st.sampled_from(["and", "or"]), conditions(depth - 1)
    )
    return st.one_of(simple, chain, joined, st.builds("(not {})".format, simple))


def python_value(text: str, names: dict[str, int]) -> Any:
    """Return what Python makes of the text, or the exception it raises."""
    scope = {"min": min, "max": max, "abs": abs, "g": TABLE.__getitem__, **names}
    try:
        return eval(text, {"__builtins__": {}}, scope)
    except (ZeroDivisionError, KeyError) as error:
        return error


def grid() -> tuple[np.ndarray[Any, Any], np.ndarray[Any, Any]]:
    combinations = DOMAIN.combinations()
    return np.repeat(np.array(DOMAIN.keys), len(combinations)), np.tile(combinations, (4, 1))


@given(numbers(3))
@settings(max_examples=150, deadline=None)
def test_values_are_those_of_python_integers(text: str) -> None:
    keys, anchors = grid()
    rows = zip(keys.tolist(), anchors.tolist(), strict=True)
    wanted = [python_value(text, {"key": k, "a1": a[0], "a2": a[1], "total": sum(a)}) for k, a in rows]
    rule = Expression(text, TABLE)
    if all(isinstance(w, int) and abs(w) < 2**63 for w in wanted):
        try:
            found = rule.evaluate(DOMAIN, keys, anchors).tolist()
        except InputError as refusal:
            if str(MAX_BITS) not in str(refusal):  # A number on the way that is too long.
                raise
        else:
            assert found == wanted
    else:
        with pytest.raises(InputError, match="column"):
            rule.evaluate(DOMAIN, keys, anchors)


@given(numbers(3))
@settings(max_examples=100, deadline=None)
def test_canonical_text_reads_as_the_same_rule_and_bounds_hold(text: str) -> None:
    rule = Expression(text, TABLE)
    assert Expression(rule.text, TABLE) == rule
    assert ast.dump(ast.parse(rule.text)) == ast.dump(ast.parse(text))
    keys, anchors = grid()
    root, _, _ = parse(text, rule.table)
    bounds = {"key": Interval(0, 9), "a1": Interval(1, 3), "a2": Interval(1, 3), "total": Interval(2, 6)}
    interval = Bounds(bounds).of(root)
    for key, a in zip(keys.tolist(), anchors.tolist(), strict=True):
        value = python_value(text, {"key": key, "a1": a[0], "a2": a[1], "total": sum(a)})
        if isinstance(value, int):
            assert interval.low <= value <= interval.high


def test_the_bits_of_a_power_are_bounded_before_it_is_taken() -> None:
    bases, exponents = np.array([-3, -2, -1, 0, 1, 2, 3, 4, 2]), np.array([9] * 8 + [10**9])
    bits = _power_bits(bases, exponents).tolist()
    assert bits == [9, 9, 0, 0, 0, 9, 9, 18, MAX_BITS + 1]


def test_nothing_wraps_around_at_64_bits() -> None:
    keys, anchors = grid()
    # 7^(9·3·3) has 228 bits; in int64 the remainder would be another number.
    found = Expression("7 ** (key * a1 * a2) % 97").evaluate(DOMAIN, keys, anchors)
    assert found.tolist() == [
        pow(7, k * a * b, 97) for k, (a, b) in zip(keys.tolist(), anchors.tolist(), strict=True)
    ]
    huge = Expression(f"({2**62} * a1 * 4 + key) % 89").evaluate(DOMAIN, keys, anchors)
    assert huge.tolist() == [
        (2**64 * a + k) % 89 for k, a in zip(keys.tolist(), anchors[:, 0].tolist(), strict=True)
    ]


def test_the_longest_number_that_is_allowed_is_computed() -> None:
    keys, anchors = grid()
    found = Expression(f"2 ** {MAX_BITS - 1} % 97 + key").evaluate(DOMAIN, keys, anchors)
    assert found.tolist() == [pow(2, MAX_BITS - 1, 97) + key for key in keys.tolist()]
    with pytest.raises(InputError, match=f"more than {MAX_BITS} bits"):
        Expression(f"2 ** {MAX_BITS} % 97 + key").evaluate(DOMAIN, keys, anchors)


def test_a_side_that_is_not_taken_is_not_evaluated() -> None:
    keys, anchors = grid()
    scope = [{"key": k, "a1": a} for k, a in zip(keys.tolist(), anchors[:, 0].tolist(), strict=True)]
    for text in (
        "a1 // key if key != 0 and 12 // key > 1 else 4 if key < 1 or 5 % key == 5 else 3",
        "7 if 0 < key < 12 // key else 2",
    ):
        found = Expression(text).evaluate(DOMAIN, keys, anchors)
        assert found.tolist() == [python_value(text, names) for names in scope]


@pytest.mark.parametrize(
    ("text", "column", "words"),
    [
        ("key / 2", 5, "use //"),
        ("key + b", 7, "unknown name 'b'"),
        ("a0 + 1", 1, "unknown name 'a0'"),
        ("key + __import__", 7, "unknown name"),
        ("__import__('os')", 12, '"\'" is not part'),
        ("key.real", 4, "'.' is not part"),
        ("key[0]", 4, "'[' is not part"),
        ("lambda: key", 7, "':' is not part"),
        ("key & 1", 5, "'&' is not part"),
        ("kéy", 2, "'é' is not part"),
        ("key\t+ 1", 4, "is not part"),
        ("1e3 + key", 1, "not an integer"),
        ("key + 2j", 7, "not an integer"),
        ("True + key", 1, "not an integer"),
        (f"key + {2**63}", 7, "more than 64 bits"),
        ("(key > 3) * 2", 2, "condition where a number"),
        ("a1 if key else 2", 7, "number where a condition"),
        ("2 if key is a1 else 3", 6, "comparison outside"),
        ("min()", 1, "0 arguments"),
        ("abs(key, a1)", 1, "2 arguments"),
        ("f(key)", 1, "unknown function 'f'"),
        ("min(key, default=2)", 1, "is not part"),
        ("min(*key)", 5, "is not part"),
        ("(yield)", 2, "is not part"),
        ("g(a1)", 1, "needs a table"),
        ("key +", 1, "not an expression"),
        ("((key)", 1, "never closed"),
        ("1if key < 2 else 3", 1, "not an expression"),
        ("", 1, "empty"),
        ("  key + b", 9, "unknown name 'b'"),
        ("-" * (MAX_DEPTH + 1) + "1", MAX_DEPTH + 1, "nested deeper"),
        ("(" * 150 + "key" + ")" * 149, 1, "not an expression"),
    ],
)
def test_what_is_outside_the_grammar_is_refused_with_its_column(text: str, column: int, words: str) -> None:
    with pytest.raises(InputError) as caught:
        Expression(text)
    assert caught.value.argument == "label"
    assert words in str(caught.value)
    if words not in ("not an expression", "never closed"):  # There the column is the parser's.
        assert f"column {column}:" in str(caught.value)


@pytest.mark.parametrize("text", ["a1+" * 400 + "a1", "a1 + " * 90 + "a1" * 300, "+".join(["a1"] * 330)])
def test_what_is_too_long_is_refused(text: str) -> None:
    with pytest.raises(InputError, match=f"limit is {MAX_LENGTH}|nested deeper|unknown name"):
        Expression(text)


def test_the_longest_canonical_text_can_be_read_again() -> None:
    wide = "min(" + ",".join(["a1"] * 300) + ")"
    assert len(wide) < MAX_LENGTH < len(wide.replace(",", ", "))
    with pytest.raises(InputError, match="limit"):
        Expression(wide)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("key // (a1 - a2)", ["column 5", "division by zero for key = 5, a1 = 1, a2 = 1"]),
        ("key % (a1 - 1)", ["column 5", "division by zero for key = 5, a1 = 1"]),
        ("key ** (1 - a1)", ["column 5", "negative exponent for key = 5, a1 = 2"]),
        ("key ** key ** 5 % 97", ["column 5", "more than 4096 bits"]),
        (f"{2**62} * 5 + key", ["label of more than 64 bits"]),
        ("a3 + key", ["column 1", "'a3'", "2 anchors", "use a1 to a2"]),
        ("g(a1 + 2) + key", ["column 1", "g has no entry", "a1 = 2"]),
        ("key - 9", ["mappings = 'm'", "smallest label is -4, below 0"]),
        ("key * a1 * a2", ["vocab_size = 60", "labels up to 117", "at least 118"]),
    ],
)
def test_what_goes_wrong_for_a_key_and_anchors_is_refused_with_them(text: str, words: list[str]) -> None:
    mapping = Mapping([1, 2, 3], Expression(text, {1: 1, 2: 2, 3: 3} if "g(" in text else None), "m")
    size = 60 if "key * a1" in text else 10**6
    with pytest.raises(InputError) as caught:
        Task(keys=range(5, 14), n_anchors=2, length=3, vocab_size=size, mappings=[mapping])
    assert all(word in str(caught.value) for word in words), str(caught.value)


def test_a_vocabulary_that_bounds_alone_can_vouch_for() -> None:
    """20^20 combinations: no label is computed, and the range is that of the last operation."""
    many = {"keys": range(50, 90), "n_anchors": 20, "length": 21, "vocab_size": 97}
    task = Task(mappings=[Mapping(range(1, 21), Expression("(key * a1 + a20) % 97"), "m")], **many)
    assert task.label_range(task.mappings[0]) == range(97)
    with pytest.raises(InputError, match=r"too many to compute.*-10\^1233\.\.10\^1233"):
        Task(mappings=[Mapping(range(1, 21), Expression("(a1 - a2) ** key ** a3"))], **many)
    with pytest.raises(InputError, match=r"too many to compute.*51\.\.489"):
        Task(mappings=[Mapping(range(1, 21), Expression("key + a1 * a20"), "m")], **many)
