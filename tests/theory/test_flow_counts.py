"""The reduced population and the statistics C and S, against plain enumeration."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.theory.flow_reference import small_example, small_task
from theory import (
    InputError,
    Lookup,
    Mapping,
    Sum,
    Task,
    Window,
    cooccurrence_matrix,
    count_population,
    count_sample,
    draw_tables,
    enumerate_population,
    expected_cooccurrence,
    expected_token_label_matrix,
    labels_of,
    token_label_matrix,
)

ROUNDING = 1e-14
"""Sums of at most some hundred terms below 10: a few units in the last position."""


@st.composite
def tasks(draw):
    q = draw(st.integers(1, 3))
    length = q + draw(st.integers(1, 2))
    keys = draw(st.sets(st.integers(20, 26), min_size=1, max_size=3))
    summing = draw(st.sets(st.integers(1, 4), min_size=1, max_size=3))
    window = draw(st.sets(st.integers(5, 6), min_size=1, max_size=2))
    everything = sorted(np.ndindex(*(len(summing),) * q))
    chosen = draw(st.sets(st.sampled_from(everything), max_size=len(everything) - 1))
    ordered = sorted(summing)
    held_out = [tuple(ordered[i] for i in c) for c in chosen]
    mappings = [
        Mapping(summing, Sum(), "sum", held_out),
        Mapping(window, Window(), "window"),
        Mapping([7], Lookup(), "own keys"),
        Mapping([8, 9], Lookup(30, 33), "range"),
    ]
    return Task(keys=keys, n_anchors=q, length=length, vocab_size=48, mappings=mappings)


@given(tasks(), st.integers(0, 99))
def test_reduction_keeps_the_statistics_of_every_sequence(task, seed):
    tables = draw_tables(task, np.random.default_rng(seed))
    everything = enumerate_population(task)
    labels = labels_of(task, everything, tables)
    trains = ~everything.held_out
    reduced = count_population(task, tables)
    sample = everything.sequences[trains], labels[trains]
    # One mapping with one combination must not outweigh another: enumeration gives each equal shares.
    C = token_label_matrix(*sample, task.vocab_size)
    assert np.abs(reduced.token_label_matrix() - C).max() < ROUNDING
    S = cooccurrence_matrix(sample[0], task.vocab_size)
    assert np.abs(reduced.cooccurrence() - S).max() < ROUNDING
    assert np.abs(expected_cooccurrence(task, held_out=True) - S).max() < ROUNDING
    from_sample = count_sample(*sample, task.vocab_size)
    assert np.abs(from_sample.token_label_matrix() - C).max() < ROUNDING
    assert np.abs(from_sample.cooccurrence() - S).max() < ROUNDING


@given(tasks())
def test_ideal_laws_give_the_expected_matrix(task):
    reduced = count_population(task)
    expected = expected_token_label_matrix(task, held_out=True)
    assert np.abs(reduced.token_label_matrix() - expected).max() < ROUNDING
    for share in reduced.data_sets.values():
        assert share.sum() == pytest.approx(1.0, abs=1e-13)
    assert np.abs(reduced.label_distributions.sum(axis=2) - 1).max() < 1e-13


@given(tasks(), st.booleans())
def test_cooccurrence_sums_and_signs(task, held_out):
    S = expected_cooccurrence(task, held_out=held_out)
    assert S.sum() == pytest.approx(task.length**2, rel=1e-13)
    assert (S >= 0).all()
    assert np.array_equal(S, S.T)
    assert np.linalg.eigvalsh(S)[0] > -1e-13


def test_data_sets_are_the_mappings_split_by_what_is_held_out():
    example = small_example()
    reduced = example.population
    assert list(reduced.data_sets) == ["training", "memory", "reasoning train", "reasoning test"]
    # The bag {3, 4} is trained on in one order and tested in the other: one row for each, of equal counts.
    in_test = np.flatnonzero(reduced.data_sets["reasoning test"].any(axis=0))
    counts = reduced.right[in_test]
    assert in_test.size == 1
    assert (counts[:, [3, 4]] == 1).all()
    twins = (reduced.right == counts).all(axis=1)
    assert reduced.data_sets["reasoning train"].any(axis=0)[twins].sum() == 1


def test_cooccurrence_of_many_anchors_stays_exact():
    task = Task(keys=range(30), reasoning_anchors=range(30, 40), n_anchors=200, length=201, vocab_size=9000)
    S = expected_cooccurrence(task)
    assert S[30, 30] == pytest.approx(200 / 10 + 200 * 199 / 100, rel=1e-15)
    assert S[30, 31] == pytest.approx(200 * 199 / 100, rel=1e-15)
    assert S[0, 30] == pytest.approx(20 / 30, rel=1e-15)


def test_a_population_too_large_says_how_large_and_what_to_use():
    # 100^7 keys and noise, 7 places, 200 combinations.
    with pytest.raises(InputError, match=r"1.4e\+17 sequences .* linearised_flow") as caught:
        count_population(Task.paper())
    assert caught.value.argument == "task"


@pytest.mark.parametrize(
    ("sequences", "labels", "argument"),
    [
        ([[1, 2]], [1, 2], "sequences, labels"),
        ([[1, 99]], [1], "sequences"),
        ([[1, 2]], [99], "labels"),
        ([[1.0, 2.0]], [1], "sequences"),
    ],
)
def test_a_bad_sample_is_refused(sequences, labels, argument):
    with pytest.raises(InputError) as caught:
        count_sample(sequences, labels, 20)
    assert caught.value.argument == argument


@pytest.mark.parametrize("sequences", [[1, 2], np.zeros((0, 3), int), [[1.5, 2.0]], [[0, 20]]])
def test_bad_sequences_have_no_cooccurrence(sequences):
    with pytest.raises(InputError, match="sequences"):
        cooccurrence_matrix(sequences, 20)


def test_tables_of_another_task_are_refused():
    with pytest.raises(InputError, match="does not fit the task's mapping"):
        count_population(small_task(), [np.zeros((5, 3), int), None])
