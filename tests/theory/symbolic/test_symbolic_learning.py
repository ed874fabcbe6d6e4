"""The derivations about what is learned when, as functions: against the numeric modules and enumeration."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tests.theory.flow_reference import TorchModel, parameters, relative, small_example
from tests.theory.test_held_out import task as sum_task
from theory import (
    TANH,
    AdamSettings,
    EmbMLPParameters,
    branch_gains,
    count_population,
    extended_logits,
    frozen_flow,
    one_mode_answers,
    sgd_moments,
    two_factor_flow,
)
from theory.arrays import FloatArray
from theory.flows.batch_noise import Batching
from theory.flows.mean_training import Course, MeanTraining
from theory.flows.sgd_moments import _Noise
from theory.flows.stacked_fields import StackedFields
from theory.integrate.adam import AdamW
from theory.symbolic import find_derivation

BATCH, CLIP = 5, 0.1


def formula(name: str) -> Any:
    return find_derivation(name).function()


@pytest.fixture(scope="module")
def one_by_one() -> FloatArray:
    """The gradient of every sequence of the small example by itself, packed."""
    example, model = small_example(), TorchModel(parameters(), TANH)
    rows = zip(example.sequences[example.trains], example.labels[example.trains], strict=True)
    each = [model.descent(sequence[None], label[None]) for sequence, label in rows]
    return -np.array([np.concatenate([part.ravel() for part in parts]) for parts in each])


def training(settings: AdamSettings, n: int) -> MeanTraining:
    return MeanTraining(small_example().population, settings, Batching(BATCH, n), CLIP, TANH, 1e-6)


def clipped(gradients: FloatArray) -> tuple[FloatArray, float]:
    """Return E ĝ² after clipping by the derived formula, and what clipping divides by."""
    g, V, n = gradients.mean(axis=0), gradients.var(axis=0), len(gradients)
    total = float(np.sum(g**2 + formula("batch variance")(V, BATCH, n)))
    return formula("clipped square")(g, V, BATCH, n, total, CLIP), total**0.5 / CLIP


def test_a_clipped_batch(one_by_one: FloatArray, record_error: Any) -> None:
    squares, divisor = clipped(one_by_one)
    initial = parameters()
    found = Course(training(AdamSettings(1e-3), len(one_by_one)), initial).point(initial.matrices.packed())
    assert divisor > 1
    assert found.divisor == pytest.approx(divisor, rel=1e-12)
    record_error("clipped square", relative(found.squares, squares))
    assert relative(found.squares, squares) < 1e-12


def test_the_mean_course_sets_out_as_derived(one_by_one: FloatArray, record_error: Any) -> None:
    """One step at a small rate, at which v is the mean square of one batch."""
    settings, initial = AdamSettings(1e-6, epsilon=1e-3, weight_decay=0.1), parameters()
    squares, divisor = clipped(one_by_one)
    start = initial.matrices.packed()
    derived = formula("mean course")(one_by_one.mean(axis=0), divisor, squares, 1e-3, 0.1, start)
    *_, last = training(settings, len(one_by_one)).follow(initial, [0, 1])
    error = relative((last.mean.packed() - start) / settings.rate, derived)
    record_error("mean course", error)
    assert error < 1e-4


def test_adams_second_moment_in_one_step() -> None:
    rate, squares = 1e-3, np.array([0.3, 2.0, 1e-4])
    adam = AdamW(AdamSettings(rate), [np.zeros(3)])
    adam.step([np.zeros(3)], [np.ones(3)])
    before = adam.second[0].copy()
    adam.step([np.zeros(3)], [squares])
    expected = rate * formula("second moment")(0.999, rate, squares, before)
    assert adam.second[0] - before == pytest.approx(expected, rel=1e-9)


def test_trained_logits_extend_to_the_held_out_corner(record_error: Any) -> None:
    made = find_derivation("held out")
    known, shares = (np.array(made.steps[number].expression, float) for number in (0, 1))
    logits = np.random.default_rng(0).standard_normal((3, 4))
    found = extended_logits(known, logits, shares @ known)
    error = float(np.abs(found - made.function()(shares, logits)).max())
    record_error("held-out: corner", error)
    assert error < 1e-12


def test_the_frozen_rung_late_averaged_over_its_weights(record_error: Any) -> None:
    """A draw of widths 40 and 60 is off by √d (1/40 + 1/60)^½ = 0.9, the mean of 100 by 0.09."""
    C, rng, n, time = small_example().population.token_label_matrix(), np.random.default_rng(0), 100, 1e9
    total = np.zeros_like(C)
    for _ in range(n):
        initial = EmbMLPParameters.draw(20, d_m=40, d_f=60, init_rate=0.6, rng=rng)
        total += frozen_flow(C, initial, [time], keep=("B",))["B"][0] / time
    error = relative(total / n, formula("late frozen logits")(C, 40**-0.6, 60**-0.6, 40, 60))
    record_error("held-out: late logits", error)
    assert error < 0.25


@pytest.mark.parametrize("n_keys", [4, 6])
def test_the_widest_margin_on_sums(n_keys: int, record_error: Any) -> None:
    found = one_mode_answers(count_population(sum_task([(2, 3)], n_keys=n_keys))).margin
    record_error("widest margin", abs(found - formula("one mode")(n_keys)))
    assert found == pytest.approx(formula("one mode")(n_keys))


N, RATE = 24, 1e-3
"""Sequences in an epoch, in batches of 4."""


def test_the_covariance_within_a_reshuffled_epoch(record_error: Any) -> None:
    """Along the direction that grows fastest; the weights hardly move within so short an epoch."""
    population, initial = small_example().population, parameters()
    model, theta = StackedFields(population, initial, "coupled"), initial.matrices.packed()
    growth, directions = np.linalg.eigh(model.jacobian(theta))
    top, epoch = directions[:, -1], N / 4 * RATE
    found = sgd_moments(
        population, initial, [0.6 * epoch], rate=RATE, batch_size=4, n_sequences=N, rung="coupled"
    ).covariance[0]
    noise = top @ model.covariance(theta) @ top * N / (N - 1) / 4
    derived = formula("reshuffled covariance")(growth[-1], 0.6 * epoch, epoch, RATE, noise)
    error = abs(top @ found @ top / derived - 1)
    record_error("reshuffled covariance", error)
    assert error < 1e-2


def test_the_shift_of_a_reshuffled_epoch(record_error: Any) -> None:
    """X as half the gradient of the spread of gradients, by central differences of error h²."""
    population, initial, h = small_example().population, parameters(), 1e-4
    model, theta = StackedFields(population, initial, "linearised"), initial.matrices.packed()
    moves = h * np.eye(len(theta))[::37]
    spreads = [[np.trace(model.covariance(theta + sign * move)) for sign in (1, -1)] for move in moves]
    derived = formula("reshuffled shift")(RATE, np.diff(spreads)[:, 0] / (-4 * h), N, 4)
    noise = _Noise.of(RATE, Batching(4, N))
    half = noise.epoch / 2 * model.deviations(theta)
    own = -noise.drawn / noise.epoch * model.turned(theta, half)
    record_error("reshuffled shift", relative(own[::37], derived))
    assert relative(own[::37], derived) < 1e-5


def test_two_factors_that_drive_each_other(record_error: Any) -> None:
    rng = np.random.default_rng(0)
    G, A, B = rng.standard_normal((5, 4)), rng.standard_normal((5, 3)), rng.standard_normal((4, 3))
    left, values, right = np.linalg.svd(G)
    found = two_factor_flow(G, A, B, 0.7)
    for pair, value in enumerate(values):
        a, b = left[:, pair] @ A, right[pair] @ B
        derived = formula("two factors")(value, 0.7, a, b)
        record_error("two factors", float(np.abs(left[:, pair] @ found[0] - derived).max()))
        assert left[:, pair] @ found[0] == pytest.approx(derived, rel=1e-10)
        assert right[pair] @ found[1] == pytest.approx(formula("two factors")(value, 0.7, b, a), rel=1e-10)


def test_what_an_attention_adds_at_the_start() -> None:
    gain = branch_gains(200, 64, 512, 9, 0.8, norm="none")
    assert gain.attention**2 == pytest.approx(formula("attention gain")(200, 64, 9, 0.8))
    relu, linear = (branch_gains(200, 64, 512, 9, 0.8, norm="none", activation=a) for a in ("relu", "linear"))
    assert relu.feed_forward**2 == pytest.approx(linear.feed_forward**2 / 2)
