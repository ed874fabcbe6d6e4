"""Definition 3 and Lemma 5: cliff sequences and their softmax mass."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from theory import InputError, cliff_sequence, cliff_step, is_cliff, mass_outside


@st.composite
def windows(draw):
    q = draw(st.integers(1, 4))
    length = draw(st.integers(q + 1, 32))
    return length, draw(st.integers(1, length - q)), q


@given(windows(), st.floats(1e-9, 0.5))
def test_a_cliff_sequence_holds_its_mass(window, mass):
    length, p, q = window
    sequence = cliff_sequence(mass, length, p, q)
    assert is_cliff(sequence, p, q, cliff_step(mass, length, q))
    assert mass_outside(sequence, p, q) <= mass * (1 + 1e-12)


@given(windows(), st.floats(1e-6, 0.5), st.integers(0, 10**6))
def test_every_cliff_of_that_step_holds_its_mass(window, mass, seed):
    """Not only the sequence we return: any rise of at least δ, any depth of at least δ, any height."""
    length, p, q = window
    step, rng = cliff_step(mass, length, q), np.random.default_rng(seed)
    rise = np.cumsum(step + rng.exponential(size=p - 1))[::-1]
    after = step + rng.exponential(size=length - p - q)
    sequence = 7.0 + np.concatenate([-rise, np.zeros(q + 1), -after])
    assert is_cliff(sequence, p, q, step)
    assert mass_outside(sequence, p, q) <= mass * (1 + 1e-12)


def test_lemma_5_against_its_own_bound(record_error):
    """With everything after the window exactly δ below, nothing before it, the bound is an odds ratio."""
    for length, q in ((4, 2), (9, 2), (32, 3)):
        mass = mass_outside(cliff_sequence(1e-3, length, 1, q), 1, q)
        exact = 1e-3 / (1 + 1e-3)  # (L−q−1)e^-δ/(q+1) to one
        assert mass == pytest.approx(exact, rel=1e-12)
        record_error("Lemma 5", abs(mass / exact - 1))


def test_half_the_step_is_not_enough():
    length, q, mass = 9, 2, 1e-3
    step = cliff_step(mass, length, q) / 2
    sequence = np.where(np.arange(1, length + 1) <= 1 + q, 0.0, -step)
    assert is_cliff(sequence, 1, q, step)
    assert mass_outside(sequence, 1, q) > mass


def test_what_is_no_cliff():
    good = np.array([-2.0, -1.0, 0.0, 0.0, 0.0, -1.0])
    assert is_cliff(good, 3, 2, 1.0)
    assert not is_cliff(good, 3, 2, 1.1)
    assert not is_cliff(good, 2, 2, 1.0)
    for position, value in ((0, -1.5), (3, -0.5), (4, 0.5), (5, -0.5)):
        bad = good.copy()
        bad[position] = value
        assert not is_cliff(bad, 3, 2, 1.0)


@given(st.lists(st.floats(-5, 5), min_size=4, max_size=9), st.floats(-700, 700))
def test_mass_is_a_share_and_ignores_a_constant(logits, constant):
    values = np.array(logits)
    mass = mass_outside(values, 2, 1)
    weights = np.exp(values) / np.exp(values).sum()
    assert mass == pytest.approx(1 - weights[1] - weights[2], abs=1e-12)
    assert mass_outside(values + constant, 2, 1) == pytest.approx(float(mass), rel=1e-9)


def test_rows_have_their_own_windows():
    rows = np.stack([cliff_sequence(1e-2, 8, p, 2) for p in range(1, 7)])
    together = mass_outside(rows, np.arange(1, 7), 2)
    np.testing.assert_array_equal(together, [mass_outside(r, p, 2) for p, r in enumerate(rows, 1)])


@pytest.mark.parametrize(
    ("call", "argument"),
    [
        (lambda: cliff_step(0.0, 9, 2), "mass"),
        (lambda: cliff_step(0.1, 2, 2), "p"),
        (lambda: cliff_step(0.1, 9, 0), "q"),
        (lambda: cliff_sequence(0.1, 9, 8, 2), "p"),
        (lambda: is_cliff(np.zeros((2, 9)), 1, 2, 1.0), "sequence"),
        (lambda: mass_outside(np.zeros((2, 9)), np.array([1, 8]), 2), "p"),
        (lambda: mass_outside(np.zeros(9), math.floor(0.5), 2), "p"),
    ],
)
def test_bad_input_is_refused(call, argument):
    with pytest.raises(InputError) as refusal:
        call()
    assert refusal.value.argument == argument
