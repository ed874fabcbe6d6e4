"""AdamW on the population: moments against autograd, steps against torch, and batches drawn."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import torch

from tests.theory.flow_reference import ACTIVATIONS, TorchModel, parameters, relative, small_example
from theory import (
    IDENTITY,
    TANH,
    AdamSettings,
    InputError,
    adam_steps,
    expected_cosine,
)
from theory.flows.batch_noise import Batching, Scatter
from theory.flows.coupled import product_field
from theory.flows.gradient_noise import GradientNoise

ROUNDING = 1e-12
SETTINGS = AdamSettings(rate=1e-2, weight_decay=0.1)


def training(example):
    return example.sequences[example.trains], example.labels[example.trains]


@pytest.mark.parametrize("activation", ACTIVATIONS, ids=lambda a: a.name)
@pytest.mark.parametrize("length", [3, pytest.param(4, marks=pytest.mark.long)])
def test_both_moments_are_those_of_every_sequence_by_itself(activation, length, record_error):
    example, initial = small_example(length), parameters(scale=0.5)
    model = TorchModel(initial, activation)
    rows = zip(*training(example), strict=True)
    single = [model.descent(x[None], y[None]) for x, y in rows]
    found = GradientNoise(example.population).moments(initial.matrices, activation)
    for k, gradients in enumerate(map(np.array, zip(*single, strict=True))):
        assert relative(found.mean[k], -gradients.mean(axis=0)) < ROUNDING
        error = relative(found.square[k], (gradients**2).mean(axis=0))
        record_error("E g²", error)
        assert error < ROUNDING
        assert relative(found.variance[k], gradients.var(axis=0)) < ROUNDING


def test_under_a_uniform_softmax_the_mean_is_that_of_the_coupled_flow():
    example, initial = small_example(), parameters()
    C = example.population.token_label_matrix()
    found = GradientNoise(example.population).moments(initial.matrices, IDENTITY, uniform=True)
    for mean, flow in zip(found.mean, product_field(lambda _: C)(initial.matrices), strict=True):
        assert relative(mean, -flow) < ROUNDING


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
        gradients = torch.autograd.grad(model.loss(*training(example)), model.weights)
        take_torch_step(model.weights, gradients, moments, step)
    keep = ("W_emb", "W1", "W2")
    ours = adam_steps(example.population, initial, [0, 30], SETTINGS, activation=activation, keep=keep)
    assert ours.times == pytest.approx([0.0, 0.3])
    assert (ours["variance"] == 0).all()
    for name, truth in zip(keep, model.weights, strict=True):
        error = relative(ours[name][1], truth.detach().numpy())
        record_error("AdamW", error)
        # Rounding, where an entry's gradient is near zero and divided by its own size.
        assert error < 1e-9


def drawn_run(example, initial, steps, seed, *, size, settings, fresh):
    """Train on batches of whole epochs or on fresh ones, linear: the embedding's displacement."""
    sequences, labels = training(example)
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
    # What is left out, the random part of the denominators and later gradients, is of this order.
    assert 1 / 2 < ours["variance"][0][anchors].sum() / scatter < 2


def test_noise_cancels_over_an_epoch():
    """Sums of normal numbers that add up to zero: the variance on the way, and none at the end."""
    K, rng = 10, np.random.default_rng(0)
    scatter, free = Scatter((1,), K), Scatter((1,), None)
    noise = rng.standard_normal((100_000, K))
    noise = (noise - noise.mean(axis=1, keepdims=True)) * np.sqrt(K / (K - 1))
    size = np.linspace(1.0, 2.0, K)
    for k in range(K):
        scatter.add(size[k : k + 1])
        free.add(size[k : k + 1])
        drawn = (noise[:, : k + 1] * size[: k + 1]).sum(axis=1).var()
        # A variance of 100 000 draws is known to 0.5 %; four of these.
        assert scatter.variance[0] == pytest.approx(drawn, rel=0.02)
    assert free.variance[0] == pytest.approx((size**2).sum())
    constant = Scatter((1,), K)
    for _ in range(3 * K):
        constant.add(np.ones(1))
    assert constant.variance[0] == pytest.approx(0.0, abs=1e-12)


@pytest.mark.parametrize("K", [None, 7, 25])
def test_scatter_is_that_of_every_batchs_effect(K):
    """By hand: batch i has moved by Σ (1 − β) β^(t−i) / (1 − β^t) after step n; epochs add up to zero."""
    beta, n = 0.9, 60
    size = np.linspace(1.0, 2.0, n)
    scatter, effects = Scatter((1,), K, beta), np.zeros(n)
    for step in range(1, n + 1):
        scatter.add(size[step - 1 : step])
        ages = step - np.arange(1, step + 1)
        effects[:step] += size[:step] * (1 - beta) * beta**ages / (1 - beta**step)
        expected = (effects**2).sum()
        if K is not None:
            parts = [effects[first : first + K] for first in range(0, step, K)]
            expected = K / (K - 1) * sum((part**2).sum() - part.sum() ** 2 / K for part in parts)
        assert scatter.variance[0] == pytest.approx(expected, rel=1e-9)


def test_scatter_of_adamw_is_that_of_drawn_runs():
    """One weight with a fixed denominator, 20 000 orders of 25 batches that add up to zero."""
    K, beta, rng = 25, 0.9, np.random.default_rng(0)
    scatter, moment, moved = Scatter((1,), K, beta), np.zeros(20_000), np.zeros(20_000)
    for step in range(1, 63):
        if (step - 1) % K == 0:
            noise = rng.standard_normal((20_000, K))
            noise = (noise - noise.mean(axis=1, keepdims=True)) * np.sqrt(K / (K - 1))
        moment = beta * moment + (1 - beta) * noise[:, (step - 1) % K]
        moved += moment / (1 - beta**step)
        scatter.add(np.ones(1))
    # A variance of 20 000 draws is known to 1 %; four of these.
    assert scatter.variance[0] == pytest.approx(moved.var(), rel=0.04)


@pytest.mark.parametrize("K", [None, 30])
def test_stretches_of_steps_scatter_as_single_steps_do(K):
    single, stretched = Scatter((1,), K, 0.9), Scatter((1,), K, 0.9)
    for count in (1, 3, 10, 200, 77, 2, 45):
        for _ in range(count):
            single.add(np.ones(1))
        stretched.add(np.ones(1), count)
        assert stretched.variance[0] == pytest.approx(single.variance[0], rel=1e-7, abs=1e-9)


def test_a_batch_of_all_sequences_is_the_full_batch():
    example, initial = small_example(), parameters()
    n = int(example.trains.sum())
    assert Batching(n, n).factor == 0
    full = adam_steps(example.population, initial, [10], SETTINGS)
    same = adam_steps(example.population, initial, [10], SETTINGS, batch_size=n, n_sequences=n)
    assert (full.W_emb == same.W_emb).all()
    assert Batching(50, 101).factor == pytest.approx(51 / 100 / 50)
    assert Batching(50, None).factor == pytest.approx(1 / 50)


def test_what_does_not_move_stays_and_does_not_decay():
    example, initial = small_example(), parameters()
    ours = adam_steps(
        example.population, initial, [5], SETTINGS, moving=("W_emb",), keep=("W_emb", "W1", "W2")
    )
    assert (ours["W1"][0] == initial.W1).all()
    assert (ours["W2"][0] == initial.W2).all()
    assert (ours.W_emb[0] != initial.W_emb).any()


def test_what_is_refused():
    example, initial = small_example(), parameters()
    population = example.population
    with pytest.raises(InputError, match="batch_size"):
        adam_steps(population, initial, [1], SETTINGS, batch_size=11, n_sequences=10)
    with pytest.raises(InputError, match="steps"):
        adam_steps(population, initial, [5, 3], SETTINGS)
    with pytest.raises(InputError, match="token 3"):
        GradientNoise(replace(population, left=population.left + np.eye(20)[3]))
    with pytest.raises(InputError, match="no displacement"):
        expected_cosine(np.zeros((2, 2)), np.zeros((2, 2)))


def test_the_cosine_that_noise_leaves(record_error):
    rng = np.random.default_rng(0)
    mean, variance = rng.standard_normal((20, 30)), rng.random((20, 30))
    drawn = mean + np.sqrt(variance) * rng.standard_normal((2000, 20, 30))
    cosines = (drawn * mean).sum(axis=(1, 2)) / np.linalg.norm(drawn, axis=(1, 2)) / np.linalg.norm(mean)
    error = abs(cosines.mean() / expected_cosine(mean, variance) - 1)
    record_error("cosine under noise", error)
    # 600 entries: the cosine's spread and the bias of a ratio are both of the order of 1/600.
    assert error < 3 / 600
