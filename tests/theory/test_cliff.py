"""Definition 3, Lemma 5 and Appendix E: cliffs, the printed mechanism, and a construction that works."""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from scipy.special import softmax

import theory
from theory import Task, build_construction, cliff_sequence, is_cliff, mass_outside


@st.composite
def windows(draw):
    q = draw(st.integers(1, 4))
    length = draw(st.integers(q + 1, 32))
    return length, draw(st.integers(1, length - q)), q


@given(windows(), st.floats(1e-6, 0.99), st.integers(0, 10**6))
def test_every_cliff_of_that_step_holds_its_mass(window, mass, seed):
    """The sequence that is returned, and any other rise, depth and height of at least δ."""
    length, p, q = window
    step, rng = theory.cliff_step(mass, length, q), np.random.default_rng(seed)
    rise = np.cumsum(step + rng.exponential(size=p - 1))[::-1]
    after = step + rng.exponential(size=length - p - q)
    for sequence in (
        cliff_sequence(mass, length, p, q),
        7 + np.concatenate([-rise, np.zeros(q + 1), -after]),
    ):
        assert is_cliff(sequence, p, q, step)
        assert mass_outside(sequence, p, q) <= mass * (1 + 1e-12)
        outside = 1 - softmax(sequence)[p - 1 : p + q].sum()
        assert mass_outside(sequence, p, q) == pytest.approx(outside, abs=1e-12)
    assert is_cliff(cliff_sequence(mass, length, p, q), p, q)


def test_each_part_of_the_definitions_matters():
    good = np.array([-2.0, -1.0, 0.0, 0.0, 0.0, -2.5])
    assert is_cliff(good, 3, 2, 1.0)
    assert is_cliff(good, 3, 2)
    assert not is_cliff(good, 3, 2, 1.1)
    for position, value, delta, printed in (
        (0, -1.5, False, True),  # a small rise
        (0, -0.5, False, False),  # a fall
        (3, -0.4, False, True),  # the plateau sags to less than half of the last rise
        (4, -0.6, False, False),
        (4, 0.5, False, False),
        (5, -1.5, True, False),  # below the window, above the first position
    ):
        bad = good.copy()
        bad[position] = value
        assert is_cliff(bad, 3, 2, 1.0) is delta
        assert is_cliff(bad, 3, 2) is printed


def test_the_smallest_mass_has_a_cliff():
    assert is_cliff(cliff_sequence(5e-324, 9, 3, 2), 3, 2)
    assert mass_outside(cliff_sequence(1e-300, 9, 3, 2), 3, 2) == pytest.approx(0, abs=1e-300)


@pytest.mark.parametrize("kind", [np.int8, np.uint8, np.int64])
def test_the_window_ends_where_it_ends_in_any_integer_type(kind):
    assert mass_outside(np.zeros(300), kind(120), 140) == pytest.approx(1 - 141 / 300)


# Appendix E as printed.


def printed_logits(length, p, q, strength, alignment):
    """The last row of the printed second attention: the formula of ``theory.transformer.appendix_e``."""
    j = np.arange(1, length + 1)
    own = np.where((j > p) & (j <= p + q), j * alignment, 0.0) + np.clip(j - p, 0, q)
    return -np.cos(j * np.pi / length) - strength * q / (j * length) * own


@pytest.mark.parametrize(("length", "p", "q"), [(9, 3, 2), (9, 1, 3), (6, 2, 1)])
def test_printed_logits_are_those_of_the_matrices(length, p, q, record_error):
    """Positions on a half circle, words as unit vectors, (39)-(41) and Ã multiplied out."""
    anchors, scale, mu, share = range(4), 1.3, 0.7, 0.4
    words = np.eye(10, 14)
    v = share * words[:4].sum(axis=0)
    v[10] = np.sqrt(1 - v @ v)
    angle = np.arange(1, length + 1) * np.pi / length
    positions = np.zeros((length, 14))
    positions[:, 11], positions[:, 12] = np.cos(angle), np.sin(angle)
    total = words[list(anchors)].sum(axis=0)
    W_V = scale * np.outer(total / np.linalg.norm(total), v)
    sequence = np.full(length, 5)
    sequence[p : p + q] = np.arange(q) % 4
    X = words[sequence] + positions
    X = X + np.cumsum(X, axis=0) / np.arange(1, length + 1)[:, None] @ W_V
    A = np.zeros((14, 14))
    A[11, 11] = A[12, 12] = 1
    wanted = X[-1] @ (A - mu * np.outer(v, v)) @ X.T
    tag = scale / np.linalg.norm(total)
    logits = printed_logits(length, p, q, strength=tag**2 * mu, alignment=share / tag)
    record_error("eq. 44", np.abs(logits - wanted).max(), below=1e-12)


@pytest.mark.parametrize(("length", "q"), [(4, 1), (9, 2), (12, 3)])
def test_printed_conditions_are_the_extremes_over_the_key(length, q, record_error):
    """C_M and C_m from their inequalities, p by p; (47) from the last position, where it binds."""
    made, angle = theory.printed_conditions(length, q), np.pi / length
    p = np.arange(1, length)
    middle = -(np.cos(p * angle) + np.cos((p - 1) * angle)) / 2
    upper = (-np.cos((p + 1) * angle) - middle).min()
    p = np.arange(1, length - q + 1)
    lower = (np.cos(p * angle) - np.cos((p + q) * angle)).max()
    for number, error in ((45, abs(made.upper - upper)), (46, abs(made.lower - lower))):
        record_error(f"eq. {number}", error, below=1e-12)
    after = printed_logits(length, 1, q, made.strength, 0.0)
    record_error("eq. 47", abs(after[-1] - after[0]), below=1e-12)
    assert made.lower > made.upper


@given(st.integers(2, 5), st.integers(1, 3), st.floats(0, 200), st.floats(-30, 30))
def test_no_numbers_give_a_printed_cliff_for_every_key(more, q, strength, alignment):
    length = q + more
    assume((length, q) != (3, 1))
    rows = [printed_logits(length, p, q, strength, alignment) for p in range(1, length - q + 1)]
    assert not all(is_cliff(row, p, q) for p, row in enumerate(rows, 1))


def test_three_positions_and_one_anchor_are_the_exception():
    assert all(is_cliff(printed_logits(3, p, 1, strength=27, alignment=-0.25), p, 1) for p in (1, 2))
    assert theory.printed_violation(3, 1) == pytest.approx(0, abs=1e-9)
    sizes = [(length, q) for length in range(2, 20) for q in range(1, length)]
    made = {size: theory.printed_conditions(*size) for size in sizes}
    assert [size for size, found in made.items() if found.lower <= found.upper] == [(2, 1), (3, 1)]


def test_the_smallest_violation():
    assert theory.printed_violation(3, 2) == pytest.approx(0, abs=1e-9)
    assert theory.printed_violation(9, 2) == pytest.approx(1.0026, abs=1e-3)
    values = [theory.printed_violation(length, 2) for length in range(4, 10)]
    assert (np.diff(values) > 0).all()


def test_linear_read_out_has_no_exact_plateau():
    """At L = 4, q = 2 a certificate in fractions: weights under which the conditions add up to τ ≥ 3/10.

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
    assert [sum(w * row[i] for w, row, _, _ in rows) for i in range(6)] == [0] * 6
    smallest = -sum(w * c for w, _, c, _ in rows) / sum(w * t for w, _, _, t in rows)
    assert theory.linear_plateau(4, 2) == pytest.approx(float(smallest), abs=1e-9)
    assert theory.linear_plateau(3, 2) == pytest.approx(0, abs=1e-9)
    assert theory.linear_plateau(9, 2) > 5  # steps


# The construction.


def task_of(length, q=2):
    return Task(
        keys=range(21, 61), reasoning_anchors=range(11, 15), memory_anchors=range(1, 5),
        n_anchors=q, length=length, vocab_size=130,
    )  # fmt: skip


def drawn(task, anchors, p, n, rng):
    """Return n sequences with the key at p (from 1) and q of ``anchors`` after it."""
    sequences = rng.choice(task.keys, (n, task.length))
    sequences[:, p : p + task.n_anchors] = rng.choice(anchors, (n, task.n_anchors))
    return sequences


@pytest.mark.parametrize("q", [1, 2, 3])
def test_a_cliff_for_every_key_position(q, record_error):
    rng = np.random.default_rng(q)
    for length in (4, 9, 21, 32):
        task = task_of(length, q)
        made = build_construction(task, mass=1e-3)
        powers = sum(np.exp(-made.step * m) for m in range(1, length - q))
        for p in range(1, length - q + 1):
            rows = made.last_row(drawn(task, task.reasoning_anchors, p, 3, rng))
            mass = mass_outside(rows, np.full(3, p), q)
            assert mass.max() <= 1e-3
            np.testing.assert_allclose(mass, powers / (q + 1 + powers), rtol=1e-9)
            assert all(is_cliff(row, p, q, made.step) and is_cliff(row, p, q) for row in rows)
    record_error("Lemma 5", np.abs(mass / (powers / (q + 1 + powers)) - 1).max())
    # Assumption 2 in part, and 3: other words are orthonormal, as are positions, and words to positions.
    others = made.W_emb[[*task.memory_anchors, *task.keys]]
    both = np.concatenate([others, made.W_pos])
    np.testing.assert_array_equal(both @ both.T, np.eye(len(both)))
    assert not (made.W_emb[list(task.reasoning_anchors)] @ both.T).any()


def test_the_forward_pass_is_that_of_causal_attention(record_error):
    """Averages and tags written out position by position; memory sequences get neither tag nor cliff."""
    task, rng = task_of(9), np.random.default_rng(2)
    c = build_construction(task, tag_strength=3.0)
    sequences = np.concatenate([drawn(task, task.reasoning_anchors, p, 5, rng) for p in range(1, 8)])
    X = c.W_emb[sequences] + c.W_pos
    wanted = np.stack([X[:, i] + X[:, : i + 1].mean(axis=1) @ c.W_V for i in range(9)], axis=1)
    record_error("eq. 39", np.abs(c.first_attention(sequences) - wanted).max(), below=1e-14)
    first, second, *_ = np.linalg.svd(c.W_V)[1]
    record_error("eq. 40", second, below=1e-14)
    assert first == pytest.approx(3.0, abs=1e-14)
    seen = np.cumsum(np.isin(sequences, task.reasoning_anchors), axis=1)
    tags = 3.0 / np.sqrt(2) * seen / np.arange(1, 10)
    record_error("eq. 43", np.abs(c.tags(sequences) - tags).max(), below=1e-14)
    for scale in (1e-100, 1e100):
        scaled = build_construction(task, tag_strength=scale)
        np.testing.assert_allclose(scaled.tags(sequences) / scale, tags / 3, rtol=1e-14)
        np.testing.assert_allclose(scaled.last_row(sequences), c.last_row(sequences), rtol=1e-12)
    memory = drawn(task, task.memory_anchors, 3, 20, rng)
    record_error("eq. 42", np.abs(c.tags(memory)).max())
    assert not c.tags(memory).any()
    assert mass_outside(c.last_row(memory), np.full(20, 3), 2).min() > 0.99
