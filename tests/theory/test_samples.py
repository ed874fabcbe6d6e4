"""Finite samples: matrices, reduced populations, sampled distributions; entropies of labels."""

import itertools
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy.special import stdtr
from scipy.stats import binom

import theory
from tests.theory.any_rule import MODULAR, task_of, tasks
from tests.theory.flow_reference import Example
from theory import Expression, Lookup, Mapping, Sum, Task, TooManyEntriesError
from theory.labels.sampled import drawn_shares


@given(arrays(np.int64, (7, 3), elements=st.integers(0, 9)), arrays(np.int64, 7, elements=st.integers(0, 9)))
def test_matrices_are_sums_of_outer_products(sequences: Any, labels: Any) -> None:
    """C and S written out with one-hot rows, tokens twice in a sequence included."""
    eye = np.eye(10)
    c = eye[sequences].sum(axis=1)
    found = theory.token_label_matrix(sequences, labels, 10)
    np.testing.assert_allclose(found, c.T @ (eye[labels] - 0.1) / 7, atol=1e-15)
    np.testing.assert_array_equal(theory.token_label_counts(sequences, labels, 10), c.T @ eye[labels])
    np.testing.assert_allclose(theory.cooccurrence_matrix(sequences, 10), c.T @ c / 7, atol=1e-15)


@pytest.mark.timeout(20)  # It took minutes: every pair of places filled a matrix of all pairs of tokens.
def test_sequences_may_be_long() -> None:
    sequences = np.random.default_rng(0).integers(0, 500, (5, 400))
    c = np.eye(500)[sequences].sum(axis=1)
    np.testing.assert_allclose(theory.cooccurrence_matrix(sequences, 500), c.T @ c / 5)


@given(tasks(most_keys=3, most_anchors=2), st.integers(0, 99))
def test_a_reduced_population_keeps_what_every_sequence_says(task: Task, seed: int) -> None:
    """C, S and the labels of each data set, by its name."""
    example, d = Example.of(task, np.random.default_rng(seed)), task.vocab_size
    reduced, labels, trained = example.population, example.labels, example.trains
    C, S = theory.token_label_matrix(*example.training, d), theory.cooccurrence_matrix(example.training[0], d)
    assert np.abs(reduced.token_label_matrix() - C).max() < 1e-14
    assert np.abs(reduced.cooccurrence() - S).max() < 1e-13
    rows = {"training": trained}
    for index, mapping in enumerate(task.mappings):
        inside = example.mapping == index
        parts = {" train": inside & trained, " test": inside & ~trained} if mapping.held_out else {"": inside}
        rows |= {mapping.name + part: chosen for part, chosen in parts.items()}
    assert list(reduced.data_sets) == list(rows)
    for name, chosen in rows.items():
        share = reduced.data_sets[name]
        assert share.sum() == pytest.approx(1, abs=1e-13)
        found = np.einsum("ij,ijk->k", share, reduced.label_distributions)
        np.testing.assert_allclose(found, np.bincount(labels[chosen], minlength=d) / chosen.sum(), atol=1e-13)
        counts = share.sum(axis=1) @ reduced.left + share.sum(axis=0) @ reduced.right
        tokens = np.bincount(example.sequences[chosen].ravel(), minlength=d) / chosen.sum()
        np.testing.assert_allclose(counts, tokens, atol=1e-13)
    ideal = theory.count_population(task).token_label_matrix()
    assert np.abs(ideal - theory.expected_token_label_matrix(task, held_out=True)).max() < 1e-14


def test_combinations_too_many_to_list_are_drawn_without_the_held_out_ones() -> None:
    """2^15 combinations: rejected one by one, and each weighs as much as it holds the anchor."""
    held_out = [c for c in itertools.product((1, 2), repeat=15) if sum(c) < 19]  # One draw in 35.
    mapping = Mapping((1, 2), Sum(), held_out=held_out)
    task = Task(keys=[30], n_anchors=15, length=16, vocab_size=120, mappings=[mapping])
    found = drawn_shares(task, 1, np.random.default_rng(2), 30_000, held_out=True)
    exact = theory.label_distribution(task, 1, held_out=True)
    error = np.sqrt(np.maximum(exact * (1 - exact), 1 / 30_000) / 30_000)
    assert np.abs((found - exact) / error).max() < 4.5


def test_the_one_combination_of_an_anchor_that_is_not_held_out_is_drawn() -> None:
    """One of 799: too rare to be drawn by a recursion, and pairs too many to enumerate."""
    held = {c for b in range(1, 401) for c in ((1, b), (b, 1))} - {(1, 7)}
    mapping = Mapping(range(1, 401), Expression("(key + a1 * a2) % 97"), held_out=held)
    task = Task(keys=range(500, 570), n_anchors=2, length=3, vocab_size=600, mappings=[mapping])
    found = drawn_shares(task, 1, np.random.default_rng(0), 20, held_out=True)
    assert np.isin(np.flatnonzero(found), [(key + 7) % 97 for key in task.keys]).all()


def test_a_long_sequence_of_two_keys_is_reduced() -> None:
    """The orders of 1100 tokens are more than any float can count."""
    task = Task(keys=[5, 6], memory_anchors=[1], n_anchors=1, length=1101, vocab_size=10)
    population = theory.count_population(task)
    assert population.weights.sum() == pytest.approx(1, abs=1e-12)
    np.testing.assert_allclose(
        population.token_label_matrix(), theory.expected_token_label_matrix(task), atol=1e-9
    )


def test_too_many_samples_are_refused_by_the_number_that_was_given(monkeypatch: pytest.MonkeyPatch) -> None:
    """Three sequences of 20 anchors and a key fit into each of 20 blocks."""
    monkeypatch.setattr("theory.labels.sampled._MAX_DRAWN", 3 * 21)
    rule = Mapping(range(1, 21), Expression("(key * a1 + a20) % 97"))
    task = Task(keys=range(50, 90), n_anchors=20, length=21, vocab_size=97, mappings=[rule])
    with pytest.raises(theory.InputError, match=r"^n_samples = 61: .*give at most 60"):
        theory.sample_labels(task, [1], np.random.default_rng(0), n_samples=61)
    assert theory.sample_labels(task, [1], np.random.default_rng(0), n_samples=60).n_samples == [60]


def test_what_one_block_alone_defines_has_no_error() -> None:
    """Not the error 0 of an exact value."""
    blocks = np.tile([1.0, 0.0], (20, 1, 1))
    blocks[3] = 0.5
    labels = theory.SampledLabels((1,), blocks, np.array([40]))
    found = labels.estimate(lambda m: [1.0, 1.0 if m.shares[0, 1] > 0 else np.nan])
    np.testing.assert_array_equal([found.value, found.standard_error], [[1, 1], [0, np.nan]])


@pytest.mark.statistical
def test_standard_errors_of_several_sampled_distributions_are_true(monkeypatch: pytest.MonkeyPatch) -> None:
    """120 draws: means without bias, and two standard errors hold the truth as often as Student's t says."""
    task = task_of(MODULAR)
    P = theory.label_distribution(task, [1, 2])

    def uncountable(*_: Any, **__: Any) -> None:
        raise TooManyEntriesError("task", "", "too many", "sample")

    monkeypatch.setattr("theory.labels.sampled.label_distribution", uncountable)
    rng, n = np.random.default_rng(0), 120
    found = [theory.sample_labels(task, [1, 2], rng, n_samples=100) for _ in range(n)]
    for statistic, truth in (
        (lambda m: m.inner[0, 0], P[0] @ P[0]),
        (lambda m: m.inner[0, 1], P[0] @ P[1]),
        (lambda m: m.centred()[1, 1], P[1] @ P[1] - 1 / 130),
    ):
        estimates = [labels.estimate(statistic) for labels in found]
        values, errors = np.array([(e.value, e.standard_error) for e in estimates]).T
        assert abs(values.mean() - truth) < 4 * values.std() / n**0.5
        # 19 degrees of freedom of the jackknife over 20 blocks; four standard errors of a share.
        expected = 1 - 2 * stdtr(19, -2.0)
        covered = np.mean(np.abs(values - truth) < 2 * errors)
        assert abs(covered - expected) < 4 * (expected * (1 - expected) / n) ** 0.5


# Entropies of a label given part of the sequence.


def brute_force(sequences: list[tuple[tuple[int, ...], int]]) -> float:
    """Return H(Y | X) of equally likely pairs (x, y), from the definition."""
    n = len(sequences)
    return -sum(
        np.log(sequences.count((x, y)) / sum(other == x for other, _ in sequences)) / n for x, y in sequences
    )


def test_a_rules_entropies_are_those_of_its_training_sequences() -> None:
    """Key 20 to 24, two anchors of {1, 2, 4}, label key + sum; (1, 4) is held out and (4, 1) is not."""
    task = Task(
        keys=range(20, 25),
        mappings=[Mapping([1, 2, 4], Sum(), name="sums", held_out=[(1, 4)])],
        n_anchors=2,
        length=3,
        vocab_size=40,
    )
    pairs = [(a, b) for a in (1, 2, 4) for b in (1, 2, 4) if (a, b) != (1, 4)]
    every = [(key, pair, key + sum(pair)) for key in range(20, 25) for pair in pairs]
    (found,) = theory.label_entropies(task)
    assert found.nothing == pytest.approx(brute_force([((), y) for _, _, y in every]), abs=1e-12)
    assert found.key == pytest.approx(brute_force([((key,), y) for key, _, y in every]), abs=1e-12)
    assert found.anchors == pytest.approx(brute_force([(pair, y) for _, pair, y in every]), abs=1e-12)
    assert found.anchors == pytest.approx(np.log(5))
    assert found.spread == 0
    always = Task(
        keys=range(3), n_anchors=1, length=2, vocab_size=8, mappings=[Mapping([3, 4], Expression("7"))]
    )
    assert "-" not in str(theory.label_entropies(always)[0])


def test_a_tables_entropies_are_those_of_the_binomial_law() -> None:
    """A label of N occurs k times among n draws with Binomial(n, 1/N), so E H = −N Σ p_k (k/n) ln(k/n).

    Over 400 tables of 6 · 30 entries the mean is within 5 standard errors, which fails once in a million.
    """
    task = Task(
        keys=range(10, 40),
        mappings=[Mapping(range(1, 7), Lookup(), name="table")],
        n_anchors=1,
        length=2,
        vocab_size=40,
    )

    def expected(n: int) -> float:
        k = np.arange(1, n + 1)
        return float(-30 * (binom.pmf(k, n, 1 / 30) * k / n * np.log(k / n)).sum())

    (found,) = theory.label_entropies(task, n_tables=400, seed=1)
    for value, n in ((found.nothing, 180), (found.key, 6), (found.anchors, 30)):
        assert abs(value - expected(n)) <= 5 * found.spread / 400**0.5
    assert found.spread > 0
    assert theory.label_entropies(task, n_tables=400, seed=1) == [found]
