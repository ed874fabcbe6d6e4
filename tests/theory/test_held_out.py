"""What held-out combinations must be answered: against enumeration, integrated rungs and sums by hand."""

from dataclasses import replace
from itertools import combinations_with_replacement, pairwise, permutations, product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import theory
from tests.theory.flow_reference import Example, parameters
from theory import EmbMLPParameters, Mapping, Sum, Task

TRAIN, TEST = "rule train", "rule test"


def task(held_out, q=2, n_anchors=4, n_keys=6):
    mapping = Mapping(range(1, 1 + n_anchors), Sum(), "rule", {p for c in held_out for p in permutations(c)})
    keys = range(20, 20 + n_keys)
    return Task(keys=keys, n_anchors=q, length=q + 1, vocab_size=45, mappings=[mapping])


def test_accuracy_is_that_of_every_sequence_by_itself():
    rng = np.random.default_rng(0)
    example, B = Example.of(task([(1, 3)]), rng), rng.standard_normal((45, 45))
    right = B[example.sequences].sum(axis=1).argmax(axis=1) == example.labels
    found = theory.answer_accuracy(example.population, B)
    assert found[TEST] == pytest.approx(right[~example.trains].mean())
    assert found[TRAIN] == pytest.approx(right[example.trains].mean())


def test_a_tie_is_answered_with_its_first_label_whatever_the_rounding_of_its_logits():
    a_tie_in_most_sequences = Task(
        keys=range(5, 15), n_anchors=1, length=2, vocab_size=30, reasoning_anchors=range(1, 5)
    )
    population, rng = theory.count_population(a_tie_in_most_sequences), np.random.default_rng(0)
    C = population.token_label_matrix()
    exact = theory.answer_accuracy(population, np.rint(600 * C))  # integers, whose sums are not rounded
    for noise in (0, *rng.uniform(-2e-16, 2e-16, (5, *C.shape))):
        assert theory.answer_accuracy(population, C * (1 + noise)) == exact


def test_the_frozen_rung_answers_as_its_closed_form_says(record_error):
    population = theory.count_population(task([(1, 3)]))
    C, initial = population.token_label_matrix(), parameters(45, d_m=30, d_f=40)
    readout = initial.W1 @ initial.W2
    late = theory.frozen_flow(C, initial, [1e9], keep=("B",))["B"][0]
    found, expected = (theory.answer_accuracy(population, B) for B in (late, C @ readout.T @ readout))
    assert found.keys() == expected.keys()
    assert found[TRAIN] < 0.5  # The frozen rung alone does not solve sums.
    record_error("held-out: frozen", max(abs(found[name] - expected[name]) for name in found), below=1e-12)


def counts_of(population):
    rows = (population.left[:, None] + population.right).reshape(-1, population.vocab_size)
    return rows, population.weights.ravel() > 0


def test_trained_logits_fix_the_others_on_an_integrated_rung(record_error):
    population = theory.count_population(task([(1, 3)]))
    rows, trained = counts_of(population)
    initial = EmbMLPParameters.draw(45, d_m=12, d_f=16, init_rate=0.6, rng=np.random.default_rng(0))
    logits = rows @ theory.population_flow(population, initial, [40.0], keep=("B",))["B"][0]
    weights = rows[~trained] @ np.linalg.pinv(rows[trained])
    np.testing.assert_allclose(weights @ rows[trained], rows[~trained], atol=1e-12)
    extended = weights @ logits[trained]
    record_error("held-out: extension", float(np.abs(extended - logits[~trained]).max()), below=1e-9)


HELD_OUT = {
    "a middle pair": task([(2, 3)]),
    "all but (a, a)": task([p for p in product(range(1, 5), repeat=2) if p[0] != p[1]]),
    "three anchors": task([(1, 2, 3)], q=3, n_anchors=3),
    "three anchors, all but (a, a, a)": task(
        [c for c in combinations_with_replacement(range(1, 4), 3) if len(set(c)) > 1], q=3, n_anchors=3
    ),
}


@pytest.mark.parametrize("name", HELD_OUT)
def test_the_widest_margin_of_a_sum_scores_its_tokens_by_their_values(name, record_error):
    found = theory.one_mode_answers(theory.count_population(HELD_OUT[name]))
    record_error("held-out: margin", abs(found.margin - 1 / 5), below=1e-9)  # 1/(N_Z − 1)
    steps = np.diff(found.scores[[1, 2, 3]]), np.diff(found.scores[20:26])
    assert np.concatenate(steps) == pytest.approx(np.full(7, 2 / 5))
    assert found.accuracy[TRAIN] == pytest.approx(1)
    assert found.accuracy[TEST] == pytest.approx(1)
    assert np.isnan(found.scores[[0, 30]]).all()


@given(st.sets(st.sampled_from(list(combinations_with_replacement(range(1, 4), 2))), min_size=1, max_size=5))
def test_a_data_set_is_answered_iff_its_counts_add_nothing_to_the_rank(held_out):
    population = theory.count_population(task(held_out, n_anchors=3, n_keys=4))
    rows, trained = counts_of(population)
    found = theory.one_mode_answers(population)
    same_rank = np.linalg.matrix_rank(rows) == np.linalg.matrix_rank(rows[trained])
    # A combination that shares fewer than two labels with the others can slide against them.
    left = set(combinations_with_replacement(range(1, 4), 2)) - held_out
    sums = sorted({a + b for a, b in left})
    overlap = all(after - before < 3 for before, after in pairwise(sums))
    assert np.isfinite(found.accuracy[TEST]) == (same_rank and found.margin > 0 and overlap)


def test_an_answer_on_which_equally_wide_solutions_differ_is_undefined():
    """Sums of 2 and 16 share no label with sums of 9 to 11 and their solutions slide against each other."""
    mapping = Mapping([1, 2, 8, 9], Sum(), "rule", held_out=[(2, 2), (9, 9), (2, 9), (9, 2)])
    task = Task(keys=[20, 21, 29], n_anchors=2, length=3, vocab_size=80, mappings=[mapping])
    population = theory.count_population(task)
    found = theory.one_mode_answers(population)
    assert found.margin > 0
    assert found.accuracy[TRAIN] == pytest.approx(1)
    assert np.isnan(found.accuracy[TEST])


def test_mixed_labels_have_no_one_mode_solution():
    one = Task(
        keys=[5, 6], reasoning_anchors=None, memory_anchors=[1, 2], n_anchors=1, length=2, vocab_size=9
    )
    population = theory.count_population(one, [np.array([[3, 4], [5, 3]])])
    mixed = replace(population, label_distributions=population.label_distributions / 2 + np.eye(9)[3] / 2)
    assert theory.one_mode_answers(population).margin == 0  # 3 4 / 5 3 cannot be sorted by a sum,
    assert theory.one_mode_answers(mixed).margin == 0  # and two labels for one sequence cannot both be right.


@pytest.mark.parametrize("name", ["a middle pair", pytest.param("three anchors", marks=pytest.mark.long)])
def test_the_integrated_rung_solves_what_the_theorem_says(name):
    population = theory.count_population(HELD_OUT[name])
    rng = np.random.default_rng(0)
    initial = EmbMLPParameters(*(0.05 * rng.standard_normal(s) for s in ((45, 10), (10, 12), (12, 45))))
    path = theory.population_flow(population, initial, np.linspace(0, 600, 61), keep=("B",))
    found = [theory.answer_accuracy(population, B) for B in path["B"]]
    first = next(row for row in found if row[TRAIN] >= 0.99)
    assert first[TEST] == pytest.approx(theory.one_mode_answers(population).accuracy[TEST])
