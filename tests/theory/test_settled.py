"""What passes through a factorisation, an order or a tie: the same with other factors and other last bits."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import scipy.sparse.linalg

import theory
from tests.factorisations import orthogonal, other_bases
from theory import Task
from theory.edge.settled import falling, settled_turn

RNG = np.random.default_rng(5)
KEYS = Task(
    keys=range(21, 61),
    reasoning_anchors=range(11, 21),
    memory_anchors=range(1, 11),
    n_anchors=2,
    length=4,
    vocab_size=110,
)
RING = np.exp(2j * np.pi * np.arange(8) / 8).view(float).reshape(8, 2)
"""Its two components have one variance, and four of its rows are equally long along any axis."""


def growth() -> list[np.ndarray]:
    found = theory.predict_value_growth(KEYS)
    return [found.direction, found.alignment]


def doses() -> list[float]:
    drawn = np.random.default_rng(1)
    start = theory.EmbMLPParameters.draw(7, d_m=4, d_f=9, init_rate=0.8, rng=drawn)
    return [theory.escape_dose(start, np.eye(7)[k], np.eye(7)[k], 0.5) for k in range(3)]


SETTLED: dict[str, Callable[[], Any]] = {
    "components of keys": lambda: (
        theory.principal_components(theory.eq14_embedding(KEYS, KEYS.keys)).coordinates
    ),
    "components of a ring": lambda: theory.principal_components(RING @ np.eye(2, 5)).coordinates,
    "value growth": growth,
    "escape doses": doses,
}


@pytest.mark.parametrize("name", SETTLED)
@pytest.mark.parametrize("seed", range(3))
def test_other_factors_change_nothing(name, seed, monkeypatch):
    here = np.concatenate([np.ravel(part) for part in SETTLED[name]()])
    other_bases(monkeypatch, seed)
    there = np.concatenate([np.ravel(part) for part in SETTLED[name]()])
    assert np.isnan(there).tolist() == np.isnan(here).tolist()
    assert np.nanmax(np.abs(there - here)) < 1e-7 * np.nanmax(np.abs(here))


def nudged(array: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Return an array whose entries moved to a neighbouring number, or did not."""
    return np.nextafter(array, array + rng.integers(-1, 2, array.shape))


ROWS = {
    "ring": RING,
    "keys": theory.eq14_embedding(KEYS, KEYS.keys),
    "random": RNG.normal(size=(9, 4)),
    "equal and opposite": np.vstack([np.eye(3), -np.eye(3)]),
}


@pytest.mark.parametrize("rows", ROWS.values(), ids=ROWS)
def test_the_last_bit_turns_no_component(rows):
    here = theory.principal_components(rows, 2).coordinates
    for seed in range(10):
        there = theory.principal_components(nudged(rows, np.random.default_rng(seed)), 2).coordinates
        assert np.abs(there - here).max() < 1e-7 * np.abs(here).max()


@pytest.mark.parametrize("seed", range(5))
def test_a_settled_basis_depends_on_its_space_alone(seed):
    rng = np.random.default_rng(seed)
    values = np.array([3.0, 2, 2, 2, 1, 0, 0])
    vectors = orthogonal(rng, 9)[:, :7]
    groups = [orthogonal(rng, n) for n in (1, 3, 1, 2)]
    turn, at = np.zeros((7, 7)), 0
    for group in groups:
        turn[at : at + len(group), at : at + len(group)] = group
        at += len(group)
    found = [basis @ settled_turn(basis, values) for basis in (vectors, vectors @ turn)]
    assert np.abs(found[1] - found[0]).max() < 1e-12
    # Columns of unequal values are not mixed, and those that are stay orthonormal.
    assert np.abs(found[0].T @ found[0] - np.eye(7)).max() < 1e-12
    assert np.abs(found[0][:, [0, 4]]) == pytest.approx(np.abs(vectors[:, [0, 4]]), abs=1e-12)
    assert (found[0][np.abs(found[0]).argmax(axis=0), range(7)])[[0, 4]].min() > 0


def test_equal_sizes_give_the_sign_to_the_first():
    column = np.array([[0.5, -0.5, 0.5, -0.5]]).T * -1
    column[1] *= 1 + 1e-15
    assert settled_turn(column, np.ones(1)).tolist() == [[-1.0]]


def test_top_singular_vectors_are_settled(monkeypatch):
    counts = theory.pair_counts([0, 0, 1, 1, 2, 2, 3, 3], [0, 0, 1, 1, 2, 2, 0, 3], 6)
    operator = theory.bigram_operator(counts)
    left, values, right = theory.top_singular(operator, 3)
    of_matrix = theory.as_matrix(operator)
    assert left.T @ of_matrix @ right.T == pytest.approx(np.diag(values), abs=1e-12)
    solved = scipy.sparse.linalg.svds

    def other(*arguments, **options):
        u, s, v = solved(*arguments, **options)
        signs = np.random.default_rng(2).choice([-1, 1], len(s))
        return u * signs, s, signs[:, None] * v

    monkeypatch.setattr("theory.corpus.operators.svds", other)
    again = theory.top_singular(operator, 3)
    assert np.abs(again[0] - left).max() < 1e-12
    assert np.abs(again[2] - right).max() < 1e-12


def test_numbers_equal_but_for_rounding_keep_their_places():
    numbers = np.array([0.1 + 0.2, 0.7, 0.3, np.nan, 0.7 + 1e-16, -1.0])
    for seed in range(10):
        assert falling(nudged(numbers, np.random.default_rng(seed))).tolist() == [1, 4, 0, 2, 5, 3]
    assert falling(numbers[[0, 1, 5]] * 1e-30).tolist() == [1, 0, 2]


def test_neighbours_that_are_equally_near_come_in_the_order_of_tokens():
    """Four tokens are used alike: the last bit of a cosine must not order them."""
    documents = [[0, k, 9, 9, 0] for k in (1, 2, 3, 4)] * 40 + [[5, 6, 5, 6]] * 40
    found = theory.nearest_tokens(documents, 10, 1, [4, 3, 2], 3)
    assert list(found.tokens) == [1, 2, 3, 4]
