"""Distributions and spreads of any rule, against plain loops and drawn samples."""

from __future__ import annotations

import itertools
from collections import Counter
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.theory.any_rule import RULES, task_of
from tests.theory.brute_force import label_formula, occurrences
from theory import (
    Expression,
    InputError,
    Mapping,
    Shift,
    Sum,
    Task,
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
    last_position_distribution,
    last_position_matrix,
    sample_label_distribution,
    sample_last_position_matrix,
    token_label_matrix,
    token_ratio,
)


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
            assert list(label_formula(task, task.mappings[0], key, combination)) == [label]
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
    observed = sample_last_position_matrix(population.sequences[train], labels[train], 130)
    expected = last_position_matrix(task, held_out=True)
    np.testing.assert_allclose(observed[[1, 2, 5]], expected[[1, 2, 5]], atol=1e-15)
    difference = last_position_distribution(task, 1) - label_distribution(task, 1)
    assert np.abs(difference).max() > 0.01


def test_a_count_population_keeps_orders_apart_where_one_is_held_out() -> None:
    """(2, 5) is held out and (5, 2) is not: their labels differ, and the bag {2, 5} has both."""
    task = task_of(RULES["modular"], length=3)
    reduced = count_population(task)
    np.testing.assert_allclose(
        reduced.token_label_matrix(), expected_token_label_matrix(task, held_out=True), atol=1e-15
    )
    test = reduced.data_sets["own test"]
    labels = (test[:, :, None] * reduced.label_distributions).sum(axis=(0, 1))
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


def test_eq_14_says_nothing_of_shifts_whatever_the_tokens_are_called() -> None:
    """Renumbering the anchors of a shift table changes no label, and would change eq. 14."""
    mapping = Mapping([1, 2, 3, 4], Shift({1: 5, 2: 1, 3: -2, 4: -8}), "shift")
    task = Task(keys=range(20, 30), n_anchors=2, length=3, vocab_size=60, mappings=[mapping])
    assert task.additive_anchors == (1, 2, 3, 4)
    with pytest.raises(InputError, match=r"an anchor that is added itself, so eq\. 14 says nothing"):
        eq14_embedding(task, [20, 1])
    assert gaussian_shape(task, 1).sigma_P > 0


@pytest.mark.parametrize("token", [-1, 99, 200, 6])
def test_eq_14_refuses_tokens_that_it_is_not_about(token: int) -> None:
    with pytest.raises(InputError, match="tokens"):
        eq14_embedding(task_of(Sum()), [1, token])
