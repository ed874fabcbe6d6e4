"""Label distributions by independent routes: closed form, convolution, enumeration, a drawn sample."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable
from fractions import Fraction
from math import comb

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.theory.brute_force import occurrences
from tests.theory.large_task import LARGE
from tests.theory.test_task import tasks
from theory import (
    InputError,
    Lookup,
    Mapping,
    Shift,
    Sum,
    Task,
    Window,
    draw_tables,
    enumerate_population,
    expected_token_label_matrix,
    label_distribution,
    label_table,
    labels_of,
    marginal_distribution,
    reasoning_anchor_distribution,
    token_label_matrix,
    token_ratio,
    token_ratios,
)

Record = Callable[[str, float], None]


def small_task(q: int = 2, length: int = 4) -> Task:
    """One mapping of every kind, keys with a gap, something held out."""
    return Task(
        keys=[30, 31, 32, 35],
        n_anchors=q,
        length=length,
        vocab_size=60,
        mappings=[
            Mapping([1, 2, 3], Sum(), "sum", held_out=[(1, 2), (3, 3)] if q == 2 else []),
            Mapping([4, 5], Shift({4: 7, 5: -3}), "shift"),
            Mapping([6, 7], Lookup(), "lookup"),
            Mapping([8], Lookup(10, 14), "range"),
            Mapping([9, 10], Window(), "window"),
        ],
    )


@pytest.mark.parametrize("held_out", [False, True])
@pytest.mark.parametrize(("q", "length"), [(1, 2), (1, 4), (2, 3), (2, 4)])
def test_enumeration_agrees_exactly(q: int, length: int, held_out: bool) -> None:
    task = small_task(q, length)
    found = occurrences(task, held_out=held_out)
    for token in (*task.keys, *task.anchors, 0):
        roles = ("key", "noise", "anchor")
        total = [
            sum((found.get((token, r), {}).get(i, Fraction(0)) for r in roles), Fraction(0))
            for i in range(60)
        ]
        ratio = sum(total, Fraction(0))
        assert token_ratio(task, token, held_out=held_out, exact=True) == ratio
        distribution = label_distribution(task, token, held_out=held_out, exact=True)
        assert distribution == [mass / ratio if ratio else Fraction(1, 60) for mass in total]


@pytest.mark.parametrize("role", ["key", "noise", "anchor"])
def test_enumeration_agrees_role_by_role(role: str) -> None:
    task = small_task()
    found = occurrences(task, held_out=True)
    for token in (31, 1, 4, 6, 9):
        counter: Counter[int] = found.get((token, role), Counter())
        ratio = sum(counter.values(), Fraction(0))
        assert token_ratio(task, token, role=role, held_out=True, exact=True) == ratio  # type: ignore[call-overload]
        distribution = label_distribution(task, token, role=role, held_out=True, exact=True)  # type: ignore[call-overload]
        assert distribution == [
            Fraction(counter.get(i, 0)) / ratio if ratio else Fraction(1, 60) for i in range(60)
        ]


@given(tasks())
@settings(max_examples=60)
def test_float_agrees_with_exact_for_any_task(task: Task) -> None:
    for token in (*task.keys[:2], *task.anchors, 150):
        for held_out in (False, True):
            exact = label_distribution(task, token, held_out=held_out, exact=True)
            floats = label_distribution(task, token, held_out=held_out)
            assert sum(exact) == 1
            assert min(exact) >= 0
            np.testing.assert_allclose(floats, [float(p) for p in exact], rtol=1e-12, atol=0)


@given(st.integers(1, 6), st.integers(1, 12), st.integers(1, 9))
def test_closed_form_agrees(q: int, n_keys: int, n_anchors: int) -> None:
    task = Task(
        keys=range(100, 100 + n_keys),
        reasoning_anchors=range(3, 3 + n_anchors),
        n_anchors=q,
        length=q + 1,
        vocab_size=200,
    )
    distribution = reasoning_anchor_distribution(n_keys, n_anchors, q)
    for s in (3, 2 + n_anchors):
        start = s + 100 + 3 * (q - 1)
        found = label_distribution(task, s, exact=True)
        assert found[start : start + len(distribution)] == distribution
        assert sum(found[:start]) + sum(found[start + len(distribution) :]) == 0


def test_equations_7_and_8_for_the_papers_task(record_error: Record) -> None:
    """Eq. 7 is uniform on the keys; eq. 8 at q = 2 is a trapezoid, written out here by hand."""
    task = Task.paper()
    keys = np.zeros(200)
    keys[21:121] = 0.01
    worst = np.abs(label_distribution(task, 4) - keys).max()
    record_error("eq. 7", worst)
    assert worst < 1e-15
    for s in task.reasoning_anchors:
        i = np.arange(200)
        ways = np.clip(np.minimum(i - (s + 21 + 11) + 1, (s + 120 + 20) - i + 1), 0, 10)
        worst = np.abs(label_distribution(task, s) - ways / 1000).max()
        record_error("eq. 8", worst)
        assert worst < 1e-15


def test_200_anchors_and_100_000_keys_in_under_a_second(record_error: Record) -> None:
    start = time.process_time()
    floats = label_distribution(LARGE, 15)
    seconds = time.process_time() - start
    exact = np.array([float(p) for p in label_distribution(LARGE, 15, exact=True)])
    assert seconds < 1
    assert exact[exact > 0].min() < 1e-190
    np.testing.assert_allclose(floats, exact, rtol=1e-12, atol=0)
    record_error("eq. 22", np.abs(floats - exact).max())


def test_closed_form_in_float64_is_worthless() -> None:
    """The reason for convolving: eq. 22 term by term in float64, at q = 100, against the exact counts."""
    q, n_keys, n_anchors = 100, 100, 10
    exact = reasoning_anchor_distribution(n_keys, n_anchors, q)
    r = len(exact) // 2
    terms = [
        float((-1) ** j * comb(q - 1, j)) * float(comb(r - j * n_anchors + q - 1 - shift, q - 1)) * sign
        for j in range(q)
        for shift, sign in ((0, 1.0), (n_keys, -1.0))
        if r - j * n_anchors - shift >= 0
    ]
    naive = sum(terms) / float(n_keys * n_anchors ** (q - 1))
    assert abs(naive / float(exact[r]) - 1) > 1
    task = Task(
        keys=range(10, 110), reasoning_anchors=range(10), n_anchors=q, length=q + 1, vocab_size=1200
    )  # fmt: skip
    assert label_distribution(task, 0)[10 + r] == pytest.approx(float(exact[r]), rel=1e-12)


@pytest.mark.parametrize("held_out", [False, True])
def test_several_tokens_at_once_are_the_rows_of_single_ones(held_out: bool) -> None:
    task, tokens = Task.paper(), [11, 3, 50, 199]
    table = label_distribution(task, tokens, held_out=held_out)
    assert table.shape == (4, 200)
    for row, token in zip(table, tokens, strict=True):
        np.testing.assert_array_equal(row, label_distribution(task, token, held_out=held_out))
    exact = label_distribution(task, np.array(tokens), held_out=held_out, exact=True)
    assert exact[0] == label_distribution(task, 11, held_out=held_out, exact=True)
    assert label_distribution(task, [15], role="anchor").shape == (1, 200)


@pytest.mark.parametrize("tokens", [[], [[11]], [11, 200], [1.5]])
def test_token_lists_that_make_no_sense_are_refused(tokens: object) -> None:
    with pytest.raises(InputError, match="token"):
        label_distribution(Task.paper(), tokens)  # type: ignore[call-overload]


def test_held_out_combinations_shift_only_their_own_anchors() -> None:
    task = Task.paper()
    for s in task.reasoning_anchors:
        same = np.allclose(
            label_distribution(task, s), label_distribution(task, s, held_out=True), atol=1e-15
        )
        assert same == (s not in (11, 13))
    assert token_ratio(task, 11, held_out=True, exact=True) == Fraction(2 * 10 - 2, 198)


def test_holding_out_almost_everything_cancels_nothing() -> None:
    pairs = [(a, b) for a in range(11, 21) for b in range(11, 21) if (a, b) != (12, 17)]
    task = Task(
        keys=range(21, 121),
        reasoning_anchors=range(11, 21),
        n_anchors=2,
        length=3,
        vocab_size=200,
        held_out=pairs,
    )
    distribution = label_distribution(task, 12, held_out=True)
    expected = np.zeros(200)
    expected[21 + 29 : 121 + 29] = 0.01
    np.testing.assert_allclose(distribution, expected, rtol=1e-14, atol=0)
    assert token_ratio(task, 11, held_out=True) == 0
    np.testing.assert_allclose(label_distribution(task, 11, held_out=True), 1 / 200)


def test_ratios_sum_to_the_length() -> None:
    for task in (Task.paper(), Task.paper(length=3), small_task(2, 5)):
        for held_out in (False, True):
            total = sum(token_ratio(task, s, held_out=held_out, exact=True) for s in range(task.vocab_size))
            assert total == task.length


def test_marginal_is_the_mixture_of_any_position() -> None:
    """P̄ = Σ_s r_s P^s / L: every position sees the same labels."""
    task = small_task(2, 4)
    for held_out in (False, True):
        mixture = token_ratios(task, held_out=held_out) @ label_table(task, held_out=held_out) / task.length
        np.testing.assert_allclose(mixture, marginal_distribution(task, held_out=held_out), atol=1e-15)


@pytest.mark.statistical
@pytest.mark.parametrize("seed", [0, 1, 2])
def test_a_drawn_sample_lies_within_its_standard_error(seed: int) -> None:
    """C of many independent tables: each entry within 5 standard errors of the expected matrix."""
    task = small_task(2, 3)
    population = enumerate_population(task)
    train = ~population.held_out
    rng = np.random.default_rng(seed)
    draws = np.array(
        [
            token_label_matrix(
                population.sequences[train], labels_of(task, population, draw_tables(task, rng))[train], 60
            )
            for _ in range(400)
        ]
    )
    expected = expected_token_label_matrix(task, held_out=True)
    error = draws.std(axis=0, ddof=1) / np.sqrt(len(draws))
    # 5 standard errors: about 0.002 false alarms over all 3600 entries; 1e-15 for entries without noise.
    assert (np.abs(draws.mean(axis=0) - expected) <= 5 * error + 1e-15).all()


@pytest.mark.parametrize("length", [3, 4])
def test_matrix_of_the_enumerated_rule_is_exact(length: int, record_error: Record) -> None:
    """Without tables nothing is random: C of the population equals the expected C."""
    task = Task(
        keys=range(30, 36),
        reasoning_anchors=range(1, 5),
        n_anchors=2,
        length=length,
        vocab_size=50,
        held_out=[(1, 3), (2, 2)],
    )
    population = enumerate_population(task)
    train = ~population.held_out
    labels = labels_of(task, population, [None])
    found = token_label_matrix(population.sequences[train], labels[train], 50)
    worst = np.abs(found - expected_token_label_matrix(task, held_out=True)).max()
    record_error("eq. 23-25", worst)
    assert worst < 1e-15


def test_relabelling_anchors_of_a_lookup_changes_nothing() -> None:
    """A lookup's P^s does not know which anchor it is."""
    task = Task.paper()
    for s in range(2, 11):
        np.testing.assert_array_equal(label_distribution(task, 1), label_distribution(task, s))


@pytest.mark.parametrize("token", [-1, 200, 1.5, True])
def test_tokens_outside_the_vocabulary_are_refused(token: int) -> None:
    with pytest.raises(InputError, match="token = "):
        label_distribution(Task.paper(), token)
    with pytest.raises(InputError, match="token = "):
        token_ratio(Task.paper(), token)


def test_unknown_role_and_huge_table_are_refused() -> None:
    with pytest.raises(InputError, match="role = 'anker'"):
        label_distribution(Task.paper(), 1, role="anker")  # type: ignore[call-overload]
    big = Task(keys=range(50_000), reasoning_anchors=[50_001], n_anchors=1, length=2, vocab_size=200_000)
    with pytest.raises(InputError, match="GiB"):
        label_table(big)
