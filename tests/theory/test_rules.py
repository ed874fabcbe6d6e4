"""Any rule: its distributions against plain loops, functions as rules, and what follows from them."""

from __future__ import annotations

import itertools
from collections import Counter
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.theory.brute_force import label_law, occurrences
from theory import (
    Expression,
    Function,
    InputError,
    Lookup,
    Mapping,
    Population,
    Shift,
    Sum,
    Tabulated,
    Task,
    Window,
    count_population,
    draw_tables,
    enumerate_population,
    eq14_embedding,
    expected_token_label_matrix,
    finite_sample_cosine,
    finite_sample_spread,
    gaussian_shape,
    label_distribution,
    labels_of,
    last_place_distribution,
    last_place_matrix,
    marginal_distribution,
    sample_label_distribution,
    sample_last_place_matrix,
    token_label_matrix,
    token_ratio,
)
from theory.task.rule import Deterministic, Domain, IntArray
from theory.task.rules import RULES as RULES_BY_NAME

COUNT = itertools.count()
AFFINE = "(key * a1 + a2) % 97"


def affine(key: int, anchors: tuple[int, ...]) -> int:
    return (key * anchors[0] + anchors[1]) % 97


def task_of(rule: Any, *, keys: Any = (20, 21, 23, 30), length: int = 4, held_out: Any = ((2, 5),)) -> Task:
    return Task(
        keys=keys,
        n_anchors=2,
        length=length,
        vocab_size=130,
        mappings=[
            Mapping([1, 2, 5], rule, "own", held_out),
            Mapping([6, 7], Lookup(40, 50), "memory"),
        ],
    )


RULES = {
    "modular": Expression(AFFINE),
    "polynomial": Expression("(a1 ** 2 + 3 * key * a2 + 1) % 101"),
    "composed shifts": Expression("(key + g(a1) + g(a2)) % 60", {1: 7, 2: -3, 5: 11}),
    "total": Expression("abs(key - 5 * total) % 17"),
    "conditional": Expression("key + a2 if a1 < a2 else key - a1"),
    "function": affine,
}


@pytest.mark.parametrize("held_out", [False, True])
@pytest.mark.parametrize("name", list(RULES))
def test_label_distributions_equal_plain_enumeration(name: str, held_out: bool) -> None:
    task = task_of(RULES[name])
    found = occurrences(task, held_out=held_out)
    for token in (*task.keys[:2], *task.anchors, 0):
        counters = {role: found.get((token, role), Counter()) for role in ("key", "noise", "anchor")}
        masses = [sum((Fraction(c.get(i, 0)) for c in counters.values()), Fraction(0)) for i in range(130)]
        total = sum(masses, Fraction(0))
        assert token_ratio(task, token, held_out=held_out, exact=True) == total
        wanted = [m / total if total else Fraction(1, 130) for m in masses]
        assert label_distribution(task, token, held_out=held_out, exact=True) == wanted
        floats = label_distribution(task, token, held_out=held_out)
        np.testing.assert_allclose(floats, [float(p) for p in wanted], rtol=1e-13, atol=0)


@given(st.data())
@settings(max_examples=25, deadline=None)
def test_any_function_has_the_distributions_of_its_values(data: st.DataObject) -> None:
    values = data.draw(st.lists(st.integers(0, 129), min_size=36, max_size=36))
    grid = list(itertools.product((20, 21, 23, 30), itertools.product((1, 2, 5), repeat=2)))
    label = dict(zip(grid, values, strict=True))
    task = task_of(lambda key, anchors: label[key, anchors])
    found = occurrences(task, held_out=True)
    for token in (1, 5, 21):
        masses = Counter[int]()
        for role in ("key", "noise", "anchor"):
            masses.update(found.get((token, role), {}))
        total = sum(masses.values(), Fraction(0))
        exact = label_distribution(task, token, held_out=True, exact=True)
        assert exact == [masses.get(i, 0) / total for i in range(130)]


def test_the_closed_form_of_a_sum_is_that_of_its_expression() -> None:
    """Convolution and enumeration: the expression with a1 is enumerated, that with total is not."""
    rules = Sum(), Expression("key + total"), Expression("key + a1 + a2")
    tasks = [task_of(rule) for rule in rules]
    for token in (1, 5, 21):
        for held_out in (False, True):
            wanted = label_distribution(tasks[0], token, held_out=held_out, exact=True)
            for task in tasks[1:]:
                assert label_distribution(task, token, held_out=held_out, exact=True) == wanted
    assert all(t.label_range(t.mappings[0]) == tasks[0].label_range(tasks[0].mappings[0]) for t in tasks)


def test_an_expression_in_the_total_alone_needs_no_enumeration() -> None:
    many = {"keys": range(100, 200), "n_anchors": 30, "length": 31, "vocab_size": 700}
    anchors = range(1, 11)
    sums = Task(mappings=[Mapping(anchors, Sum())], **many)
    totals = Task(mappings=[Mapping(anchors, Expression("(key + total) % 700"))], **many)
    np.testing.assert_allclose(label_distribution(totals, 4), label_distribution(sums, 4), rtol=1e-12)


def test_a_rule_too_large_to_enumerate_is_refused_and_can_be_sampled() -> None:
    task = Task(
        keys=range(50, 90),
        n_anchors=20,
        length=21,
        vocab_size=97,
        mappings=[Mapping(range(1, 21), Expression("(key * a1 + a20) % 97"))],
    )
    with pytest.raises(InputError, match=r"4\.19e\+27 evaluations.*sample_label_distribution"):
        label_distribution(task, 3)
    found = sample_label_distribution(task, 3, np.random.default_rng(0), n_samples=1000)
    assert found.shares.sum() == pytest.approx(1)
    assert found.standard_error.min() > 0


def test_counts_that_no_float_holds_are_refused_with_their_order() -> None:
    """10^400 combinations."""
    many = {"keys": range(50, 90), "n_anchors": 400, "length": 401, "vocab_size": 97}
    task = Task(mappings=[Mapping(range(1, 11), Expression("(key * a1 + a20) % 97"))], **many)
    with pytest.raises(InputError, match=r"10\^40\d evaluations"):
        label_distribution(task, 3)
    with pytest.raises(InputError, match=r"10\^40\d labels"):
        Task(mappings=[Mapping(range(1, 11), Expression("key * a1 + a20"))], **many)
    with pytest.raises(InputError, match="n_anchors = 1000000000"):
        Task(
            keys=range(50, 90),
            n_anchors=10**9,
            length=10**9 + 1,
            vocab_size=97,
            mappings=[Mapping([1, 2], Expression("(key * a1) % 97"))],
        )


@pytest.mark.statistical
@pytest.mark.parametrize("role", ["any", "anchor", "key", "noise"])
@pytest.mark.parametrize("held_out", [False, True])
@pytest.mark.parametrize("name", ["modular", "conditional"])
def test_a_sampled_distribution_lies_within_its_error_bars(name: str, held_out: bool, role: Any) -> None:
    task = task_of(RULES[name], length=4)
    token = 2 if role in ("any", "anchor") else 21
    found = sample_label_distribution(
        task, token, np.random.default_rng(1), n_samples=40_000, role=role, held_out=held_out
    )
    exact = label_distribution(task, token, role=role, held_out=held_out)
    scores = (found.shares - exact) / found.standard_error
    assert np.abs(scores).max() < 4.5
    # Neither too wide: where labels occur, the mean square is 1.
    assert 0.4 < np.mean(scores[exact > 0.002] ** 2) < 2.0


def test_combinations_too_many_to_list_are_drawn_without_what_is_held_out() -> None:
    """11^7 combinations: rejected one by one, and each weighs as much as it holds the anchor."""
    held_out = [(1, 1, 1, 1, 1, 1, 1)]
    task = Task(
        keys=[30],
        n_anchors=7,
        length=8,
        vocab_size=120,
        mappings=[Mapping(range(1, 12), Sum(), held_out=held_out)],
    )
    found = sample_label_distribution(task, 1, np.random.default_rng(2), n_samples=30_000, held_out=True)
    exact = label_distribution(task, 1, held_out=True)
    assert np.abs((found.shares - exact) / found.standard_error).max() < 4.5


def test_populations_and_their_statistics_agree_with_the_expected_ones() -> None:
    for rule in RULES.values():
        task = task_of(rule)
        population = enumerate_population(task)
        labels = labels_of(task, population, draw_tables(task, np.random.default_rng(0)))
        rows = population.mapping == 0
        for sequence, label in zip(population.sequences[rows], labels[rows], strict=True):
            first = int(np.isin(sequence, (1, 2, 5)).argmax())
            key, combination = int(sequence[first - 1]), tuple(sequence[first : first + 2].tolist())
            assert list(label_law(task, task.mappings[0], key, combination)) == [label]
        train = ~population.held_out
        observed = token_label_matrix(population.sequences[train], labels[train], 130)
        expected = expected_token_label_matrix(task, held_out=True)
        # Keys see the memory's drawn labels; the rule's own anchors do not.
        np.testing.assert_allclose(observed[[1, 2, 5]], expected[[1, 2, 5]], atol=1e-15)


@pytest.mark.parametrize("name", ["modular", "conditional"])
def test_the_last_position_is_told_from_the_others(name: str) -> None:
    """For a label that depends on the anchors' order, P^{s,L} is not P^s."""
    task = task_of(RULES[name], length=3)
    population = enumerate_population(task)
    labels = labels_of(task, population, draw_tables(task, np.random.default_rng(0)))
    train = ~population.held_out
    observed = sample_last_place_matrix(population.sequences[train], labels[train], 130)
    expected = last_place_matrix(task, held_out=True)
    np.testing.assert_allclose(observed[[1, 2, 5]], expected[[1, 2, 5]], atol=1e-15)
    difference = last_place_distribution(task, 1) - label_distribution(task, 1)
    assert np.abs(difference).max() > 0.01


def test_a_count_population_keeps_orders_apart_where_one_is_held_out() -> None:
    """(2, 5) is held out and (5, 2) is not: their labels differ, and the bag {2, 5} has both."""
    task = task_of(RULES["modular"], length=3)
    reduced = count_population(task)
    np.testing.assert_allclose(
        reduced.token_label_matrix(), expected_token_label_matrix(task, held_out=True), atol=1e-15
    )
    test = reduced.data_sets["own test"]
    labels = (test[:, :, None] * reduced.label_laws).sum(axis=(0, 1))
    wanted = np.bincount([(key * 2 + 5) % 97 for key in task.keys], minlength=130) / len(task.keys)
    np.testing.assert_allclose(labels, wanted, atol=1e-15)


@pytest.mark.statistical
def test_the_spread_of_a_rule_with_colliding_labels() -> None:
    """key % 3 gives several keys one label; E‖P̂ − P‖² is measured on drawn samples."""
    task = Task(
        keys=range(10, 17),
        n_anchors=2,
        length=3,
        vocab_size=40,
        mappings=[Mapping([1, 2, 3], Expression("key % 3 + a1 * a2 + 20"), "own")],
    )
    each, rng = 3, np.random.default_rng(3)
    combinations = list(itertools.product((1, 2, 3), repeat=2))
    p, other = label_distribution(task, 1), label_distribution(task, 2)
    squares, products = [], []
    for _ in range(4000):
        own, foreign = np.zeros(40), np.zeros(40)
        for a, b in combinations:
            labels = rng.choice(np.arange(10, 17), size=each) % 3 + a * b + 20
            counts = np.bincount(labels, minlength=40)
            own += counts * ((a == 1) + (b == 1))
            foreign += counts * ((a == 2) + (b == 2))
        own, foreign = own / own.sum() - p, foreign / foreign.sum() - other
        squares.append(own @ own)
        products.append(own @ foreign)
    n = each * len(combinations)
    for found, drawn in (
        (finite_sample_spread(task, 1, n_sequences=n), squares),
        (
            finite_sample_cosine(task, 1, 2, n_sequences=n).inner - float((p - 1 / 40) @ (other - 1 / 40)),
            products,
        ),
    ):
        assert abs(np.mean(drawn) - found) < 4 * np.std(drawn) / len(drawn) ** 0.5


def test_theorem_1_and_eq_14_say_nothing_of_a_rule_that_does_not_add() -> None:
    task = task_of(RULES["modular"])
    assert task.additive_anchors == ()
    with pytest.raises(InputError, match="Theorem 1 says nothing"):
        gaussian_shape(task, 1)
    with pytest.raises(InputError, match=r"eq\. 14 says nothing"):
        eq14_embedding(task, [1, 2])
    assert eq14_embedding(task, list(task.keys)).shape == (4, 130)


@pytest.mark.parametrize("token", [-1, 99, 200, 6])
def test_eq_14_refuses_tokens_that_it_is_not_about(token: int) -> None:
    with pytest.raises(InputError, match="tokens"):
        eq14_embedding(task_of(Sum()), [1, token])


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
    assert not task.mappings[0].rule.takes_arrays
    assert arrays.mappings[0].rule.takes_arrays
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
    with pytest.raises(InputError, match="calls one by one are too many"):
        label_distribution(task, 3)
    found = sample_label_distribution(task, 3, np.random.default_rng(0), n_samples=2000)
    assert found.shares[:97].sum() == pytest.approx(1)


def test_a_function_that_differs_on_arrays_is_called_one_by_one() -> None:
    """With arrays 7 ** 89 wraps around."""
    task = large(lambda key, anchors: 7 ** (key % 90) % 97)
    assert not task.mappings[0].rule.takes_arrays
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
    last = last_place_distribution(task, 1, held_out=True)
    np.testing.assert_allclose(last, wanted, atol=1e-15)
    assert enumerate_population(task).held_out.any()
    assert finite_sample_spread(task, 1) >= 0
    assert count_population(task).label_laws.shape[2] == 130
