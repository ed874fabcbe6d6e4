"""What is changed to learn what causes what: labels shuffled, tensors frozen, an embedding put in."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import theory
from sim import Trainer, build
from sim.data.dataset import shuffled_within_combinations
from tests.sim.conftest import small, small_member
from theory import InputError, Task
from theory.arrays import FloatArray


@given(st.integers(0, 10_000))
def test_shuffling_permutes_within_each_combination(seed: int) -> None:
    task = small_member().build_task()
    population = theory.enumerate_population(task)
    labels = theory.labels_of(task, population, theory.draw_tables(task, np.random.default_rng(seed)))
    found = shuffled_within_combinations(population, labels, np.random.default_rng(seed))
    for mapping, of_mapping in enumerate(task.mappings):
        for combination in range(task.n_combinations(of_mapping)):
            own = (population.mapping == mapping) & (population.combination == combination)
            assert own.sum() == 6
            assert sorted(found[own]) == sorted(labels[own])


def test_shuffled_labels_have_no_memory_of_their_keys() -> None:
    """Of a sum's labels, all different, a random permutation leaves one in its place, with variance one."""
    task = Task(keys=range(20, 25), reasoning_anchors=[1, 2], n_anchors=1, length=2, vocab_size=40)
    population = theory.enumerate_population(task)
    labels = theory.labels_of(task, population, theory.draw_tables(task, np.random.default_rng(0)))
    draws, n = 200, task.n_combinations(task.mappings[0])
    left = [
        (shuffled_within_combinations(population, labels, np.random.default_rng(seed)) == labels).sum()
        for seed in range(draws)
    ]
    assert np.mean(left) == pytest.approx(n, abs=4 * (n / draws) ** 0.5)


@pytest.mark.parametrize("width", [48, 60])
def test_a_predicted_embedding_has_the_label_distributions_angles(width: int) -> None:
    """Exactly, with at least as many columns as labels; and the scale that it would have been drawn with."""
    model = {"d_m": width, "d_f": 12, "initial_embedding": "label-distributions"}
    member = small_member(model=model, dtype="float64", init_rates=[0.6])
    task = member.build_task()
    W_emb = Trainer([member]).parameters["W_emb"][0].numpy()
    ratios, table = theory.token_ratios(task, held_out=True), theory.label_table(task, held_out=True)
    expected = ratios[:, None] * (table - ratios @ table / ratios.sum())
    tokens = [*task.anchors, *task.keys]
    np.testing.assert_allclose(
        theory.cosine_matrix(W_emb[tokens]), theory.cosine_matrix(expected[tokens]), rtol=0, atol=1e-12
    )
    assert np.sqrt(np.mean(W_emb**2)) == pytest.approx(width**-0.6, rel=1e-12)


@pytest.mark.parametrize("kind", ["label-distributions", "shuffled-distributions"])
def test_labels_that_no_token_tells_anything_of_predict_no_embedding(kind: str) -> None:
    """A single table: P^s = P̄ up to rounding, which is no direction."""
    task = {"keys": "20..25", "n_anchors": 2, "length": 4, "vocab_size": 40, "memory_anchors": "1..3"}
    member = small_member(task=task, model={"d_m": 48, "d_f": 12, "initial_embedding": kind})
    with pytest.raises(InputError, match=f"model.initial_embedding = '{kind}'.*set it to \"random\""):
        build([member], 40)


def test_a_shuffled_embedding_gives_each_anchor_the_row_of_another_of_its_mapping() -> None:
    """The same rows and the same scale; keys and noise keep their own."""

    def embedding(kind: str, seed: int = 0) -> FloatArray:
        config = small(model={"d_m": 48, "d_f": 12, "initial_embedding": kind}, dtype="float64", seeds=[seed])
        return Trainer(config.members()).parameters["W_emb"][0].numpy()

    own, other = (embedding(kind) for kind in ("label-distributions", "shuffled-distributions"))
    task = small_member().build_task()
    for mapping in task.mappings:
        anchors = [*mapping.anchors]
        np.testing.assert_array_equal(np.unique(own[anchors], axis=0), np.unique(other[anchors], axis=0))
        # Those of a table are all alike, whoever has them.
        kept = np.isclose(own[anchors], other[anchors], rtol=0, atol=1e-12).all(axis=1)
        assert kept.all() if mapping.is_table else not kept.any()
    rest = np.setdiff1d(np.arange(len(own)), task.anchors)
    np.testing.assert_array_equal(own[rest], other[rest])
    assert not np.array_equal(other, embedding("shuffled-distributions", seed=1))
