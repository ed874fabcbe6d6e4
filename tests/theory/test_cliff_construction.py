"""Appendix D and E: a construction without training, run forward on real sequences."""

import dataclasses
from fractions import Fraction

import numpy as np
import pytest
import torch

from theory import (
    InputError,
    Task,
    assumption_errors,
    build_construction,
    enumerate_population,
    is_cliff,
    linear_plateau,
    mass_outside,
    plateau_error,
    query_spread,
    smallest_drop,
    smallest_rise,
)


def task_of(length, q=2):
    return Task(
        keys=range(21, 61), reasoning_anchors=range(11, 15), memory_anchors=range(1, 5),
        n_anchors=q, length=length, vocab_size=130,
    )  # fmt: skip


def draw(task, anchors, p, n, rng):
    """Return n sequences with the key at p (from 1) and q of ``anchors`` after it."""
    sequences = rng.choice(task.keys, (n, task.length))
    sequences[:, p : p + task.n_anchors] = rng.choice(anchors, (n, task.n_anchors))
    return sequences


def mass_by_formula(step, length, q):
    s = sum(np.exp(-step * m) for m in range(1, length - q))
    return s / (q + 1 + s)


@pytest.mark.parametrize("q", [1, 2, 3])
def test_mass_outside_the_window_for_every_place(q, record_error):
    rng = np.random.default_rng(q)
    for length in range(4, 33):
        task = task_of(length, q)
        construction = build_construction(task, mass=1e-3)
        expected = mass_by_formula(construction.step, length, q)
        for p in range(1, length - q + 1):
            rows = construction.last_row(draw(task, task.reasoning_anchors, p, 3, rng))
            mass = mass_outside(rows, np.full(3, p), q)
            assert mass.max() <= 1e-3
            np.testing.assert_allclose(mass, expected, rtol=1e-9)
            assert all(is_cliff(row, p, q, construction.step) for row in rows)
    record_error("Lemma 5", np.abs(mass / expected - 1).max())


def test_memory_sequences_get_no_tag_and_no_cliff(record_error):
    task, rng = task_of(9), np.random.default_rng(0)
    construction = build_construction(task)
    for p in range(1, 8):
        sequences = draw(task, task.memory_anchors, p, 20, rng)
        largest = np.abs(construction.tags(sequences)).max()
        assert largest == 0
        record_error("eq. 43", largest)
        mass = mass_outside(construction.last_row(sequences), np.full(20, p), 2)
        if p < 7:  # at p = 7 the window is the end of the sequence, where positions alone lead
            assert mass.min() > 0.99


def test_the_whole_population_of_a_small_task():
    task = Task(
        keys=range(8, 12), reasoning_anchors=[4, 5, 6], memory_anchors=[1, 2], n_anchors=2,
        length=5, vocab_size=30,
    )  # fmt: skip
    population = enumerate_population(task)
    construction = build_construction(task, mass=1e-2)
    anchors = np.isin(population.sequences, task.anchors)
    p = anchors.argmax(axis=1)  # positions before the first anchor = the key's position counted from 1
    mass = mass_outside(construction.last_row(population.sequences), p, 2)
    reasoning = np.isin(population.sequences[anchors].reshape(-1, 2)[:, 0], task.reasoning_anchors)
    assert mass[reasoning].max() <= 1e-2
    assert mass[~reasoning & (p < 3)].min() > 0.9


def test_tags_follow_the_count(record_error):
    """μ c N_i/i: (42) for reasoning sequences, whose tag fades as 1/i after the anchors."""
    task, rng = task_of(9), np.random.default_rng(1)
    construction = build_construction(task, tag_strength=3.0)
    sequences = draw(task, task.reasoning_anchors, 3, 10, rng)
    seen = np.cumsum(np.isin(sequences, task.reasoning_anchors), axis=1)
    expected = 3.0 / np.sqrt(2) * seen / np.arange(1, 10)
    error = np.abs(construction.tags(sequences) - expected).max()
    assert error < 1e-14
    record_error("eq. 42", error)


def test_construction_is_a_transformer(record_error):
    """The independent route: causal softmax attention in torch, with zero W_Q and W_K in the first layer."""
    task, rng = task_of(7), np.random.default_rng(2)
    c = build_construction(task)
    sequences = np.concatenate([draw(task, task.anchors, p, 5, rng) for p in range(1, 6)])
    X = torch.tensor(c.W_emb[sequences] + c.W_pos)
    future = torch.ones(7, 7, dtype=torch.bool).triu(1)
    first = torch.softmax(torch.zeros(7, 7, dtype=X.dtype).masked_fill(future, -torch.inf), -1)
    H = X + first @ X @ torch.tensor(c.W_V)
    error = np.abs(H.numpy() - c.first_attention(sequences)).max()
    assert error < 1e-14
    record_error("eq. 39", error)
    H = H + torch.tanh(H @ torch.tensor(c.W_f1)) @ torch.tensor(c.W_f2)
    scores = (H @ torch.tensor(c.W_Q)) @ (H @ torch.tensor(c.W_K)).mT
    second = torch.softmax(scores.masked_fill(future, -torch.inf), -1)[:, -1]
    ours = torch.softmax(torch.tensor(c.last_row(sequences)), -1)
    assert (second - ours).abs().max() < 1e-10


def test_value_matrix_has_rank_one(record_error):
    singular = np.linalg.svd(build_construction(task_of(9), tag_strength=2.5).W_V)[1]
    assert singular[0] == pytest.approx(2.5, rel=1e-14)
    assert singular[1] < 1e-14
    record_error("eq. 40", singular[1])


@pytest.mark.parametrize("q", [1, 2, 3])
@pytest.mark.parametrize("length", [5, 9, 32])
def test_assumptions_and_conditions_are_met(length, q, record_error):
    c = build_construction(task_of(length, q))
    errors = assumption_errors(c)
    assert max(errors.words, errors.words_and_positions, errors.positions) < 1e-14
    assert smallest_rise(c) == pytest.approx(c.step, rel=1e-12)
    assert query_spread(c) == 0
    assert plateau_error(c) < 1e-9
    assert smallest_drop(c) == pytest.approx(c.step, rel=1e-9)
    for number, error in (
        (44, abs(smallest_rise(c) - c.step)),
        (45, query_spread(c)),
        (46, plateau_error(c)),
        (47, abs(smallest_drop(c) - c.step)),
    ):
        record_error(f"eq. {number}", error)


def test_window_that_is_the_whole_sequence():
    c = build_construction(task_of(3))
    assert smallest_drop(c) == np.inf
    sequence = draw(c.task, c.task.reasoning_anchors, 1, 1, np.random.default_rng(0))
    assert mass_outside(c.last_row(sequence), np.array([1]), 2)[0] == 0


@pytest.mark.parametrize(
    ("matrix", "check"),
    [
        ("W_emb", lambda c: assumption_errors(c).words),
        ("W_pos", lambda c: assumption_errors(c).positions),
        ("W_Q", query_spread),
        ("W_f2", plateau_error),
    ],
)
def test_a_spoilt_construction_is_found_out(matrix, check):
    c = build_construction(task_of(9))
    noise = 0.1 * np.random.default_rng(3).standard_normal(getattr(c, matrix).shape)
    spoilt = dataclasses.replace(c, **{matrix: getattr(c, matrix) + noise})
    assert check(c) < 1e-9
    assert check(spoilt) > 1e-2


def test_without_the_counting_layer_there_is_no_plateau():
    c = build_construction(task_of(9))
    without = dataclasses.replace(c, W_f2=np.zeros_like(c.W_f2))
    assert plateau_error(without) > c.step
    assert smallest_drop(without) < 0


# --- the linear read-out ------------------------------------------------------------------------------


def test_linear_read_out_has_no_exact_plateau():
    assert linear_plateau(3, 2) == pytest.approx(0, abs=1e-9)
    values = [linear_plateau(length, 2) for length in range(4, 13)]
    assert values[0] == pytest.approx(0.3, abs=1e-9)
    assert (np.diff(values) > 0).all()
    assert linear_plateau(9, 2) > 5  # steps


def test_linear_bound_at_four_tokens_by_hand():
    """A certificate in fractions: weights under which the conditions for L = 4, q = 2 add up to τ ≥ 3/10.

    Unknowns f1..f4, γ, β; each row is a left side that must be at most its right side (bound, multiple of τ).
    """
    F = Fraction
    rows = [  # (weight, f1, f2, f3, f4, γ, β), constant, τ
        (F(2, 10), (-1, 1, 0, 0, 1, F(-1, 2)), 0, 1),  # p = 1: position 2 at most τ above the key
        (F(3, 10), (1, 0, -1, 0, -1, F(2, 3)), 0, 1),  # p = 1: position 3 at most τ below
        (F(3, 10), (0, -1, 1, 0, 1, F(-1, 3)), 0, 1),  # p = 2: position 3 at most τ above
        (F(2, 10), (0, 1, 0, -1, -1, F(1, 2)), 0, 1),  # p = 2: position 4 at most τ below
        (F(2, 10), (-1, 0, 0, 1, 0, F(-1, 2)), -1, 0),  # p = 1: position 4 at least 1 below the key
        (F(1, 10), (1, -1, 0, 0, 0, 0), -1, 0),  # p = 2: position 1 at least 1 below the key
    ]
    total = [sum(w * row[i] for w, row, _, _ in rows) for i in range(6)]
    assert total == [0] * 6
    constant, tau = sum(w * c for w, _, c, _ in rows), sum(w * t for w, _, _, t in rows)
    smallest = -constant / tau
    assert smallest == F(3, 10)
    assert linear_plateau(4, 2) == pytest.approx(float(smallest), abs=1e-9)


@pytest.mark.parametrize(
    ("call", "argument"),
    [
        (lambda: build_construction(task_of(9), mass=0.0), "mass"),
        (lambda: build_construction(task_of(9), tag_strength=-1.0), "tag_strength"),
        (lambda: build_construction(_memory_only()), "task"),
        (lambda: build_construction(task_of(9)).last_row([[1, 2, 3]]), "sequences"),
        (lambda: build_construction(task_of(3)).tags([[1, 2, 130]]), "sequences"),
        (lambda: linear_plateau(2, 2), "length"),
    ],
)
def test_bad_input_is_refused(call, argument):
    with pytest.raises(InputError) as refusal:
        call()
    assert refusal.value.argument == argument


def _memory_only():
    return Task(keys=range(5, 9), memory_anchors=[1, 2], n_anchors=1, length=3, vocab_size=12)
