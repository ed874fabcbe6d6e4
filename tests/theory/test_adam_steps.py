"""AdamW on the population: moments against autograd, steps against torch, and batches drawn."""

from __future__ import annotations

import warnings
from dataclasses import replace

import numpy as np
import pytest
import torch

from tests.theory.flow_reference import ACTIVATIONS, TorchModel, parameters, relative, small_example
from theory import IDENTITY, TANH, AdamSettings, IntegrationError, OutsideValidityWarning, adam_steps
from theory.flows.gradient_noise import GradientNoise

ROUNDING = 1e-12
SETTINGS = AdamSettings(rate=1e-2, weight_decay=0.1)


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


def take_torch_step(weights, gradients, moments, step):
    """Take torch's own fused step: its optimiser class would spend seconds on importing a compiler."""
    with torch.no_grad():
        torch._fused_adamw_(
            weights,
            gradients,
            *moments,
            [],
            [torch.tensor(float(step))] * 3,
            lr=SETTINGS.rate,
            beta1=SETTINGS.betas[0],
            beta2=SETTINGS.betas[1],
            weight_decay=SETTINGS.weight_decay,
            eps=SETTINGS.epsilon,
            amsgrad=False,
            maximize=False,
        )


@pytest.mark.parametrize("activation", [IDENTITY, TANH], ids=lambda a: a.name)
def test_full_batch_steps_are_those_of_torch(activation, record_error):
    example, initial = small_example(), parameters()
    model = TorchModel(initial, activation)
    moments = [[torch.zeros_like(w) for w in model.weights] for _ in range(2)]
    for step in range(1, 31):
        gradients = torch.autograd.grad(model.loss(*example.training), model.weights)
        take_torch_step(model.weights, gradients, moments, step)
    keep = ("W_emb", "W1", "W2")
    ours = adam_steps(example.population, initial, [0, 30], SETTINGS, activation=activation, keep=keep)
    assert ours.times == pytest.approx([0.0, 0.3])
    for name, truth in zip(keep, model.weights, strict=True):
        # Rounding, where an entry's gradient is near zero and divided by its own size.
        record_error("AdamW", relative(ours[name][1], truth.detach().numpy()), below=1e-9)
    n = int(example.trains.sum())
    whole = {"activation": activation, "batch_size": n, "n_sequences": n}
    same = adam_steps(example.population, initial, [30], SETTINGS, **whole)
    assert (same.W_emb[0] == ours.W_emb[1]).all()


def drawn_run(example, initial, steps, seed, *, size, settings, fresh):
    """Train on batches of whole epochs or on fresh ones, linear: the embedding's displacement."""
    sequences, labels = example.training
    d, rng = example.population.vocab_size, np.random.default_rng(seed)
    counts, targets = np.zeros((len(labels), d)), np.eye(d)[labels]
    np.add.at(counts, (np.arange(len(labels))[:, None], sequences), 1.0)
    weights = [matrix.copy() for matrix in initial.matrices]
    first, second = ([np.zeros_like(w) for w in weights] for _ in range(2))
    order = np.empty(0, int)
    for t in range(1, steps + 1):
        order = rng.permutation(len(labels)) if len(order) == 0 else order
        rows, order = order[:size], order[size:]
        if fresh:
            rows = rng.integers(len(labels), size=size)
        c, (E, W1, W2) = counts[rows], weights
        logits = c @ E @ W1 @ W2
        p = np.exp(logits - logits.max(axis=1, keepdims=True))
        M = c.T @ (p / p.sum(axis=1, keepdims=True) - targets[rows]) / len(rows)
        gradients = M @ (W1 @ W2).T, E.T @ M @ W2.T, (E @ W1).T @ M
        for w, m, v, g in zip(weights, first, second, gradients, strict=True):
            m += (1 - settings.betas[0]) * (g - m)
            v += (1 - settings.betas[1]) * (g * g - v)
            root = np.sqrt(v / (1 - settings.betas[1] ** t)) + settings.epsilon
            w *= 1 - settings.rate * settings.weight_decay
            w -= settings.rate / (1 - settings.betas[0] ** t) * m / root
    return weights[0] - initial.W_emb


@pytest.mark.filterwarnings("ignore::theory.OutsideValidityWarning")
@pytest.mark.parametrize("fresh", [False, True])
def test_the_mean_of_many_runs_on_batches_is_predicted_and_that_without_noise_is_not(fresh):
    example, initial, anchors = small_example(4), parameters(), slice(1, 5)
    size, settings, n_runs = 14, replace(SETTINGS, rate=1e-3), 20
    draws = {"size": size, "settings": settings, "fresh": fresh}
    n = int(example.trains.sum())
    steps = 2 * (n // size) + n // size // 2
    runs = [drawn_run(example, initial, steps, seed, **draws)[anchors] for seed in range(n_runs)]
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
    options = {"moving": ("W_emb",), "keep": ("W_emb", "W1", "W2")}
    ours = adam_steps(example.population, initial, [5], SETTINGS, **options)
    assert (ours["W1"][0] == initial.W1).all()
    assert (ours["W2"][0] == initial.W2).all()
    assert (ours.W_emb[0] != initial.W_emb).any()


def test_weights_that_overflow_are_refused_at_a_time_in_units_of_the_trajectory():
    with pytest.raises(IntegrationError, match="overflow") as caught:
        adam_steps(small_example().population, parameters(), [3], AdamSettings(1e120))
    assert caught.value.time == pytest.approx(3e120)


@pytest.mark.parametrize(
    ("rate", "size", "warned"), [(1e-4, 100, 0), (1e-3, 50, 0), (1e-3, 16, 1), (1e-4, 3, 1)]
)
def test_batches_too_small_for_the_rate_are_warned_of(rate, size, warned):
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        adam_steps(small_example().population, parameters(), [1], AdamSettings(rate), batch_size=size)
    assert [w.category for w in found] == [OutsideValidityWarning] * warned
