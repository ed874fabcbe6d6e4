"""Finite samples: the counted matrix, and the spread expected of drawn tables."""

from __future__ import annotations

import functools
import itertools
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from theory import (
    InputError,
    Lookup,
    Mapping,
    Sum,
    Task,
    Window,
    cosine_matrix,
    draw_tables,
    enumerate_population,
    finite_sample_cosine,
    finite_sample_spread,
    label_distribution,
    labels_of,
    off_diagonal,
    token_label_counts,
    token_label_matrix,
)


@given(arrays(np.int64, (7, 3), elements=st.integers(0, 9)), arrays(np.int64, 7, elements=st.integers(0, 9)))
def test_matrix_is_the_sum_of_outer_products(sequences: Any, labels: Any) -> None:
    """C = E[c(X)ᵀ (y − u)] written out with one-hot rows, tokens twice in a sequence included."""
    eye = np.eye(10)
    c = eye[sequences].sum(axis=1)
    expected = c.T @ (eye[labels] - 0.1) / 7
    found = token_label_matrix(sequences, labels, 10)
    np.testing.assert_allclose(found, expected, atol=1e-15)
    np.testing.assert_allclose(found.sum(axis=1), 0, atol=1e-15)
    np.testing.assert_array_equal(token_label_counts(sequences, labels, 10), c.T @ eye[labels])


@pytest.mark.parametrize(
    ("sequences", "labels", "words"),
    [
        ([[1, 2]], [1, 2], "shapes do not fit"),
        ([1, 2], [1, 2], "shapes do not fit"),
        ([[1, 12]], [1], "sequences = 12"),
        ([[1, 2]], [-1], "labels = -1"),
        ([[0.5, 2]], [1], "not integers"),
    ],
)
def test_bad_samples_are_refused(sequences: Any, labels: Any, words: str) -> None:
    with pytest.raises(InputError, match=words):
        token_label_matrix(sequences, labels, 10)


def test_spread_at_the_papers_sizes() -> None:
    """Σω² by listing the combinations, and the cosine it implies; enumeration of one table gave 0.914."""
    task = Task.paper(length=3)
    weights = [c.count(1) for c in itertools.product(range(1, 11), repeat=2) if 1 in c]
    effective = sum(w**2 for w in weights) / sum(weights) ** 2 / 100
    assert finite_sample_spread(task, 1) == pytest.approx(effective * 0.99, rel=1e-12)
    found = finite_sample_cosine(task, 1, 2)
    shared = 2 / sum(weights) ** 2 / 100 * 0.99
    assert found.signal[0] == pytest.approx(0.005, rel=1e-12)
    assert found.cosine == pytest.approx((0.005 + shared) / (0.005 + effective * 0.99), rel=1e-12)
    assert finite_sample_cosine(task, 3, 3).cosine == pytest.approx(1, rel=1e-12)
    assert finite_sample_spread(task, 11) == 0
    assert finite_sample_cosine(task, 11, 1).inner == pytest.approx(
        float(np.dot(label_distribution(task, 11) - 1 / 200, label_distribution(task, 1) - 1 / 200))
    )


TASKS = {
    "lookup": Task(keys=range(20, 25), memory_anchors=range(1, 4), n_anchors=2, length=3, vocab_size=40),
    "three anchors": Task(keys=range(20, 23), memory_anchors=[1, 2], n_anchors=3, length=4, vocab_size=40),
    "window": Task(
        keys=range(20, 24), n_anchors=2, length=3, vocab_size=40, mappings=[Mapping([1, 2, 3], Window())]
    ),
    "range and sum": Task(
        keys=range(20, 24),
        n_anchors=2,
        length=3,
        vocab_size=40,
        mappings=[Mapping([1, 2], Lookup(30, 35), "a"), Mapping([5, 6], Sum(), "b")],
    ),
}


@pytest.mark.statistical
@pytest.mark.parametrize("name", list(TASKS))
def test_spread_against_drawn_tables(name: str) -> None:
    """Expected squared spread and inner products within 4 standard errors of 600 drawn tables."""
    task = TASKS[name]
    population = enumerate_population(task)
    rng = np.random.default_rng(1)
    a, b = task.anchors[:2]
    distribution = label_distribution(task, a)
    norms, inners = [], []
    for _ in range(600):
        C = token_label_matrix(population.sequences, labels_of(task, population, draw_tables(task, rng)), 40)
        counts = np.bincount(population.sequences.ravel(), minlength=40)[:, None] / len(population)
        excess = C[[a, b]] / counts[[a, b]]
        norms.append(((excess[0] + 1 / 40 - distribution) ** 2).sum())
        inners.append(excess[0] @ excess[1])
    for draws, expected in (
        (norms, finite_sample_spread(task, a)),
        (inners, finite_sample_cosine(task, a, b).inner),
    ):
        error = np.std(draws, ddof=1) / np.sqrt(len(draws))
        assert abs(np.mean(draws) - expected) < 4 * error + 1e-15


@pytest.mark.statistical
@pytest.mark.parametrize("name", list(TASKS))
def test_spread_of_drawn_sequences(name: str) -> None:
    """With few sequences to a combination the keys' own sampling adds to the spread."""
    task = TASKS[name]
    each, rng, a = 3, np.random.default_rng(2), task.anchors[0]
    population = enumerate_population(task)
    by_combination = [
        np.flatnonzero((population.mapping == m) & (population.combination == c))
        for m in range(len(task.mappings))
        for c in range(task.n_combinations(task.mappings[m]))
    ]
    distribution = label_distribution(task, a)
    norms = []
    for _ in range(600):
        rows = np.concatenate([rng.choice(group, each) for group in by_combination])
        labels = labels_of(task, population, draw_tables(task, rng))[rows]
        counts = token_label_counts(population.sequences[rows], labels, 40)[a]
        norms.append(((counts / counts.sum() - distribution) ** 2).sum())
    expected = finite_sample_spread(task, a, n_sequences=each * len(by_combination))
    error = np.std(norms, ddof=1) / np.sqrt(len(norms))
    assert abs(np.mean(norms) - expected) < 4 * error


HELD_OUT = Task(
    keys=range(20, 23),
    reasoning_anchors=[5, 6, 7],
    memory_anchors=[1, 2],
    n_anchors=2,
    length=4,
    vocab_size=40,
    held_out={(5, 6), (6, 6), (7, 5)},
)


EACH = 3
"""Sequences to a combination in a training set."""
TRAINED = 9 + 4 - 3
"""Combinations that are not held out."""


@functools.cache
def training_sets() -> list[Any]:
    """Return how often each token occurs with each label in 1000 training sets, the held-out left out."""
    rng = np.random.default_rng(4)
    population = enumerate_population(HELD_OUT)
    groups = [
        np.flatnonzero((population.mapping == m) & (population.combination == c) & ~population.held_out)
        for m in range(2)
        for c in range(9)
    ]
    groups = [group for group in groups if len(group)]
    assert len(groups) == TRAINED
    found = []
    for _ in range(1000):
        rows = np.concatenate([rng.choice(group, EACH) for group in groups])
        labels = labels_of(HELD_OUT, population, draw_tables(HELD_OUT, rng))[rows]
        found.append(token_label_counts(population.sequences[rows], labels, 40))
    return found


@pytest.mark.statistical
@pytest.mark.parametrize("pair", [(5, 5), (5, 6), (6, 7), (1, 2)])
def test_held_out_combinations_are_left_out_of_a_training_set(pair: tuple[int, int]) -> None:
    """Training sets of three sequences to a combination that is not held out: 4 standard errors."""
    a, b = pair
    distributions = label_distribution(HELD_OUT, [a, b], held_out=True)
    products, inners = [], []
    for every in training_sets():
        counts = every[[a, b]]
        found = counts / counts.sum(axis=1, keepdims=True)
        products.append((found[0] - distributions[0]) @ (found[1] - distributions[1]))
        inners.append((found[0] - 1 / 40) @ (found[1] - 1 / 40))
    options = {"n_sequences": EACH * TRAINED, "held_out": True}
    expected = finite_sample_cosine(HELD_OUT, a, b, **options).inner
    assert abs(np.mean(inners) - expected) < 4 * np.std(inners) / len(inners) ** 0.5
    if a == b:
        expected = finite_sample_spread(HELD_OUT, a, **options)
        assert abs(np.mean(products) - expected) < 4 * np.std(products) / len(products) ** 0.5
        whole = finite_sample_spread(HELD_OUT, a, n_sequences=EACH * 13)
        assert abs(np.mean(products) - whole) > 8 * np.std(products) / len(products) ** 0.5


def test_held_out_sequences_are_no_part_of_the_count() -> None:
    with pytest.raises(InputError, match="fewer than the task's 13"):
        finite_sample_spread(HELD_OUT, 5, n_sequences=10)
    assert finite_sample_spread(HELD_OUT, 5, n_sequences=10, held_out=True) > 0


def test_bad_questions_about_spread_are_refused() -> None:
    with pytest.raises(InputError, match="anchor = 25"):
        finite_sample_spread(Task.paper(), 25)
    with pytest.raises(InputError, match="n_sequences = 10"):
        finite_sample_cosine(Task.paper(), 1, 2, n_sequences=10)


@given(
    arrays(np.float64, (4, 3), elements=st.floats(-1e3, 1e3, width=32)),
    st.floats(1e-250, 1e250),
)
def test_cosines_are_bounded_and_do_not_see_scale(rows: Any, scale: float) -> None:
    rows = rows + np.array([[2e3, 0, 0]])  # keeps every row away from zero
    found = cosine_matrix(rows)
    assert (np.abs(found) <= 1).all()
    np.testing.assert_allclose(np.diag(found), 1, rtol=1e-12)
    np.testing.assert_allclose(cosine_matrix(rows * scale), found, atol=1e-9)
    np.testing.assert_allclose(cosine_matrix(rows, rows[:2]), found[:, :2], atol=1e-15)


def test_cosine_of_nothing_is_undefined() -> None:
    assert np.isnan(cosine_matrix([[0.0, 0.0], [1.0, 0.0]])[0]).all()
    with pytest.raises(InputError, match="not a matrix"):
        cosine_matrix([1.0, 2.0])
    with pytest.raises(InputError, match="not as wide"):
        cosine_matrix([[1.0, 2.0]], [[1.0]])


def test_undefined_cosines_have_pairs_and_other_arrays_do_not() -> None:
    """A constant row has no cosine: its pairs are NaN and no reason to refuse the matrix."""
    pairs = off_diagonal(np.full((3, 3), np.nan))
    assert np.isnan(pairs).all()
    with pytest.raises(InputError, match="holds NaN or infinity"):
        cosine_matrix([[1.0, np.nan]])
