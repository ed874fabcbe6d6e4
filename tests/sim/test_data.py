"""The data of a run, and what is changed to learn what causes what: labels shuffled, an embedding put in."""

from collections import Counter

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

import theory
from sim import RunConfig, Trainer, build, build_dataset
from sim.data.dataset import draw_population, shuffled_within_combinations
from tests.sim.conftest import small, small_member
from theory import InputError, Task
from theory.edge.arrays import FloatArray


def test_the_emb_mlp_setting_is_enumerated() -> None:
    (member,) = RunConfig().members()
    assert member.task == Task.paper(3)
    data = build_dataset(member)
    sizes = {name: len(rows) for name, rows in data.parts.items()}
    assert sizes == {"mem": 10_000, "rsn_train": 9_800, "rsn_test": 200}
    assert len(data.train) == 19_800
    assert set(data.train.tolist()).isdisjoint(data.parts["rsn_test"].tolist())
    tokens, labels = data.tokens[data.parts["rsn_test"]], data.labels[data.parts["rsn_test"]]
    assert {tuple(row) for row in tokens[:, 1:].tolist()} == {(11, 13), (13, 11)}
    assert torch.equal(labels, tokens.sum(dim=1))


def test_named_held_out_sets_are_data_sets_with_accuracies_of_their_own() -> None:
    """Keys, pairs and positions: each set's sequences, all of them in the test set, none trained on."""
    held_out = {
        "keys": "key == 21",
        "pairs": {"fraction": 0.2, "of": "pairs"},
        "last": "position == 2 and a1 == 2",
    }
    rule = theory.Mapping([1, 2, 3], theory.Sum(), "rule", held_out)
    task = Task(keys=range(20, 24), n_anchors=2, length=5, vocab_size=40, mappings=[rule])
    data = build_dataset(member := RunConfig(task=task).members()[0])
    assert [part for part in data.parts if member.trains_on(part)] == ["rsn_train"]
    tokens = data.tokens.numpy()
    position = (tokens < 20).argmax(axis=1) - 1
    rows = np.arange(len(tokens))
    expected = {
        "keys": tokens[rows, position] == 21,
        "last": (position == 2) & (tokens[rows, position + 1] == 2),
    }
    for name, mask in expected.items():
        assert data.parts[name].tolist() == np.flatnonzero(mask).tolist()
    assert len(data.parts["pairs"]) == round(0.2 * 36) * len(tokens) // 36
    every = {row for name in held_out for row in data.parts[name].tolist()}
    assert set(data.parts["rsn_test"].tolist()) == every
    assert set(data.train.tolist()) == set(range(len(tokens))) - every


def test_a_drawn_sample_has_equal_numbers_and_uniform_places() -> None:
    task = Task.paper(length=5)
    population = draw_population(task, 40_000, np.random.default_rng(0))
    pairs = Counter(zip(population.mapping.tolist(), population.combination.tolist(), strict=True))
    assert set(pairs.values()) == {200}
    is_anchor = population.sequences < 21
    assert (is_anchor.sum(axis=1) == 2).all()
    places = np.bincount(is_anchor.argmax(axis=1), minlength=5)
    # Three places for the first anchor: 5 standard deviations of a binomial count.
    assert places[0] == places[4] == 0
    assert (np.abs(places[1:4] - 40_000 / 3) < 5 * np.sqrt(40_000 * 2 / 9)).all()
    # Three of 100 keys, at whatever places.
    keys = np.bincount(population.sequences[~is_anchor])[task.keys[0] :]
    assert (np.abs(keys - 1200) < 5 * np.sqrt(1200)).all()


@pytest.mark.parametrize(
    ("size", "remedy"),
    [(150, "give 200[.]"), (399, "give 200 or 400"), (401, "give 400 or 600"), (1, "give 200[.]")],
)
def test_uneven_sizes_are_refused(size: int, remedy: str) -> None:
    """The paper's task has 200 anchor combinations."""
    with pytest.raises(InputError, match=rf"n_sequences = {size}: .*200 anchor combinations; {remedy}"):
        draw_population(Task.paper(), size, np.random.default_rng(0))


def test_what_each_of_several_mappings_holds_out_is_in_no_training_set() -> None:
    task = {
        "keys": "20..25",
        "n_anchors": 1,
        "length": 2,
        "vocab_size": 60,
        "mappings": [
            {"name": "plus", "anchors": [1, 2], "rule": "sum", "held_out": [[2]]},
            {"name": "more", "anchors": [3, 4], "rule": "sum", "held_out": [[4]]},
        ],
    }
    data = build_dataset(small_member(task=task))
    trained = {"plus": 1, "more": 3}
    assert set(data.parts) == {"rsn_train", "rsn_test", *trained}
    for name, anchor in trained.items():
        assert set(data.tokens[data.parts[name]][:, 1].tolist()) == {anchor}
        assert set(data.parts[name].tolist()) <= set(data.train.tolist())
    for rows, anchors in ((data.train, {1, 3}), (data.parts["rsn_test"], {2, 4})):
        assert set(data.tokens[rows][:, 1].tolist()) == anchors


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


def test_a_rotation_does_not_depend_on_the_signs_of_a_factorisation(monkeypatch: pytest.MonkeyPatch) -> None:
    config = small(model={"d_m": 48, "d_f": 12, "initial_embedding": "label-distributions"}, dtype="float64")

    def embedding() -> FloatArray:
        return Trainer(config.members()).parameters["W_emb"][0].numpy()

    def other(matrix: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        q, r = factors(matrix)
        signs = torch.randn(q.shape[1], dtype=q.dtype, generator=torch.Generator().manual_seed(0)).sign()
        return q * signs, signs[:, None] * r

    here, factors = embedding(), torch.linalg.qr
    monkeypatch.setattr(torch.linalg, "qr", other)
    np.testing.assert_allclose(embedding(), here, rtol=0, atol=1e-12)


@pytest.mark.parametrize("kind", ["label-distributions", "shuffled-distributions"])
def test_labels_that_no_token_tells_anything_of_predict_no_embedding(kind: str) -> None:
    """A single table: P^s = P̄ up to rounding, which is no direction."""
    task = {"keys": "20..25", "n_anchors": 2, "length": 4, "vocab_size": 40, "memory_anchors": "1..3"}
    member = small_member(task=task, model={"d_m": 48, "d_f": 12, "initial_embedding": kind})
    with pytest.raises(InputError, match=f"model.initial_embedding = '{kind}'.*set it to \"random\""):
        build([member])


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
