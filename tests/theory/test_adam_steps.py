"""AdamW's mean steps on a population: against autograd, torch, and batches drawn."""

import warnings
from dataclasses import replace

import numpy as np
import pytest

import theory
from tests.theory.flow_reference import (
    ACTIVATIONS,
    TorchModel,
    by_torch,
    parameters,
    relative,
    small_example,
)
from theory import IDENTITY, TANH, AdamSettings, adam_steps
from theory.flows.gradient_noise import GradientNoise

pytestmark = pytest.mark.filterwarnings("ignore::theory.OutsideValidityWarning")
ROUNDING = 1e-12
SETTINGS = AdamSettings(rate=1e-2, weight_decay=0.1)
KEEP = ("W_emb", "W1", "W2")


@pytest.mark.parametrize("activation", ACTIVATIONS, ids=lambda a: a.name)
@pytest.mark.parametrize("length", [3, pytest.param(4, marks=pytest.mark.long)])
def test_both_moments_are_those_of_every_sequence_by_itself(activation, length, record_error):
    example, initial = small_example(length), parameters(scale=0.5)
    model = TorchModel(initial, activation)
    single = [model.descent(x[None], y[None]) for x, y in zip(*example.training, strict=True)]
    moments = GradientNoise(example.population).moments(initial.matrices, activation)
    for k, gradients in enumerate(map(np.array, zip(*single, strict=True))):
        record_error("E g²", relative(moments.square[k], (gradients**2).mean(axis=0)), below=ROUNDING)
        assert relative(moments.mean[k], -gradients.mean(axis=0)) < ROUNDING
        assert relative(moments.variance[k], gradients.var(axis=0)) < ROUNDING


@pytest.mark.parametrize("activation", [IDENTITY, TANH], ids=lambda a: a.name)
def test_full_batch_steps_are_those_of_torch(activation, record_error):
    example, initial = small_example(), parameters()
    *_, truths = by_torch(initial, activation, [example.training] * 30, SETTINGS)
    ours = adam_steps(example.population, initial, [0, 30], SETTINGS, activation=activation, keep=KEEP)
    assert ours.times == pytest.approx([0.0, 0.3])
    for name, truth in zip(KEEP, truths, strict=True):
        # Rounding, where an entry's gradient is near zero and divided by its own size.
        record_error("AdamW", relative(ours[name][1], truth), below=1e-9)
    n = int(example.trains.sum())
    whole = {"activation": activation, "batch_size": n, "n_sequences": n}
    same = adam_steps(example.population, initial, [30], SETTINGS, **whole)
    assert (same.W_emb[0] == ours.W_emb[1]).all()


def drawn_batches(example, steps, seed, *, size, fresh):
    """Yield batches of whole epochs, or fresh ones."""
    sequences, labels = example.training
    rng, order = np.random.default_rng(seed), np.empty(0, int)
    for _ in range(steps):
        order = rng.permutation(len(labels)) if len(order) == 0 else order
        rows, order = order[:size], order[size:]
        if fresh:
            rows = rng.integers(len(labels), size=size)
        yield sequences[rows], labels[rows]


@pytest.mark.parametrize("fresh", [False, True])
def test_the_mean_of_many_runs_on_batches_is_predicted_and_that_without_noise_is_not(fresh):
    example, initial, anchors = small_example(4), parameters(), slice(1, 5)
    size, settings, n_runs = 14, replace(SETTINGS, rate=1e-3), 20
    n = int(example.trains.sum())
    steps = 2 * (n // size) + n // size // 2
    drawn = (drawn_batches(example, steps, seed, size=size, fresh=fresh) for seed in range(n_runs))
    ends = [[*by_torch(initial, IDENTITY, batches, settings)][-1] for batches in drawn]
    runs = [(end.W_emb - initial.W_emb)[anchors] for end in ends]
    plan = {"population": example.population, "initial": initial, "steps": [steps], "settings": settings}
    ours = adam_steps(**plan, batch_size=size, n_sequences=None if fresh else n)
    predicted, without = (
        path.W_emb[0][anchors] - initial.W_emb[anchors] for path in (ours, adam_steps(**plan))
    )
    mean, scatter = np.mean(runs, axis=0), np.var(runs, axis=0, ddof=1).sum()
    sampling = np.sqrt(scatter / n_runs) / np.linalg.norm(mean)
    assert relative(predicted, mean) < 3 * sampling
    # Worse than no prediction at all.
    assert relative(without, mean) > 1


def test_what_does_not_move_stays_and_does_not_decay():
    example, initial = small_example(), parameters()
    ours = adam_steps(example.population, initial, [5], SETTINGS, moving=("W_emb",), keep=KEEP)
    assert (ours["W1"][0] == initial.W1).all()
    assert (ours["W2"][0] == initial.W2).all()
    assert (ours.W_emb[0] != initial.W_emb).any()


def test_weights_that_overflow_are_refused_at_a_time_in_units_of_the_trajectory():
    with pytest.raises(theory.IntegrationError, match="overflow") as caught:
        adam_steps(small_example().population, parameters(), [3], AdamSettings(1e120))
    assert caught.value.time == pytest.approx(3e120)


@pytest.mark.parametrize(
    ("rate", "size", "warned"), [(1e-4, 100, 0), (1e-3, 50, 0), (1e-3, 16, 1), (1e-4, 3, 1)]
)
def test_batches_too_small_for_the_rate_are_warned_of(rate, size, warned):
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        adam_steps(small_example().population, parameters(), [1], AdamSettings(rate), batch_size=size)
    assert [w.category for w in found] == [theory.OutsideValidityWarning] * warned
