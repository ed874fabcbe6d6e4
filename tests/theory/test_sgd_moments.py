"""SGD on batches to first order in its rate: against ensembles of runs, and full-batch descent."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pytest
import torch

from tests.theory.flow_reference import parameters, relative, slope
from theory import (
    InputError,
    IntegrationError,
    Task,
    count_population,
    draw_tables,
    enumerate_population,
    labels_of,
    sgd_moments,
)
from theory.flows.stacked_fields import StackedFields

TASK = Task(
    keys=range(3, 6), reasoning_anchors=(2,), memory_anchors=(1,), n_anchors=1, length=2, vocab_size=10
)
TABLES = draw_tables(TASK, np.random.default_rng(0))
POPULATION = count_population(TASK, TABLES)
INITIAL = parameters(10, 3, 4, scale=0.35)
END = {"coupled": 1.6, "linearised": 8.0}
"""Before the coupled flow's blow-up, whose bound is 1.9; on the linearised one, after the first rank step."""


def training_set():
    everything = enumerate_population(TASK)
    counts = np.zeros((len(everything), 10))
    np.add.at(counts, (np.arange(len(counts))[:, None], everything.sequences), 1.0)
    return counts, labels_of(TASK, everything, TABLES)


def batches(n, n_runs, batch, reshuffled, rng):
    """Yield the rows that every run's batch has; None: the full batch."""
    while True:
        if batch is None:
            yield np.arange(n)[None]
        elif not reshuffled:
            yield rng.integers(n, size=(n_runs, batch))
        else:
            orders = rng.permuted(np.tile(np.arange(n), (n_runs, 1)), axis=1)
            yield from np.split(orders, n // batch, axis=1)


def ensemble(rung, rate, end, n_runs, batch, reshuffled=False):
    """Return the packed weights of many runs of SGD, each on batches of its own; None: the full batch."""
    rng, (counts, labels) = np.random.default_rng(1), training_set()
    drawn = batches(len(labels), n_runs, batch, reshuffled, rng)
    E, W1, W2 = (np.tile(m, (n_runs, 1, 1)) for m in INITIAL.matrices)
    turned = (0, 2, 1)
    for _ in range(round(end / rate)):
        rows = next(drawn)
        c, read = counts[rows], W1 @ W2
        p = np.full((*rows.shape, 10), 0.1)
        if rung == "linearised":
            logits = c @ E @ read
            p = p + (logits - logits.mean(axis=2, keepdims=True)) / 10
        M = c.transpose(turned) @ (np.eye(10)[labels[rows]] - p) / rows.shape[1]
        back = E.transpose(turned) @ M
        moves = M @ read.transpose(turned), back @ W2.transpose(turned), W1.transpose(turned) @ back
        E, W1, W2 = (w + rate * v for w, v in zip((E, W1, W2), moves, strict=True))
    return np.concatenate([m.reshape(n_runs, -1) for m in (E, W1, W2)], axis=1)


@dataclass
class Held:
    """How far an ensemble is from what is predicted, in its own standard errors."""

    share: float
    share_error: float
    trace: float
    trace_error: float


def held(rung, rate, n_runs, batch=4, reshuffled=False):
    """Hold an ensemble to the prediction: its mean along the predicted shift, and its total variance."""
    runs = ensemble(rung, rate, END[rung], n_runs, batch, reshuffled)
    drawing = {"batch_size": batch, "n_sequences": 6 if reshuffled else None}
    found = sgd_moments(POPULATION, INITIAL, [END[rung]], rate=rate, rung=rung, **drawing)
    shift, P = found.shift[0], found.covariance[0]
    share = shift @ (runs.mean(axis=0) - found.flow[0]) / (shift @ shift)
    share_error = np.sqrt(shift @ P @ shift / n_runs) / (shift @ shift)
    trace = np.trace(np.cov(runs.T)) / np.trace(P)
    trace_error = np.sqrt(2 * np.sum(P * P) / n_runs) / np.trace(P)
    return Held(share, share_error, trace, trace_error)


@pytest.mark.parametrize("rung", ["coupled", "linearised"])
def test_fifty_runs_have_the_mean_and_the_variance(rung):
    found = held(rung, 0.1, 50)
    assert abs(found.share - 1) < 3 * found.share_error
    assert abs(found.trace - 1) < 3 * found.trace_error
    if rung == "linearised":
        # Without a correction the share would be zero; on the coupled rung 50 runs cannot tell.
        assert found.share > 3 * found.share_error


@pytest.mark.long
@pytest.mark.parametrize("rung", ["coupled", "linearised"])
def test_two_thousand_runs_at_a_smaller_rate(rung, record_error):
    found = held(rung, 0.05, 2000)
    record_error("SGD's mean", abs(found.share - 1))
    record_error("SGD's covariance", abs(found.trace - 1))
    # The next order, relative to this one, is rate × the flow's own rates, here of the order of one.
    assert abs(found.share - 1) < 0.1 + 3 * found.share_error
    assert abs(found.trace - 1) < 0.1 + 3 * found.trace_error


STEP_OF_AN_EPOCH = 1 / 6
"""With six batches to an epoch, sums over its steps differ from integrals by this."""


def test_reshuffled_epochs_have_another_mean_and_far_less_variance():
    """In the middle of the fifteenth epoch, beside what independent batches would do."""
    end, rate = 4.35, 0.05
    runs = ensemble("linearised", rate, end, 100, 1, reshuffled=True)
    ours, independent = (
        sgd_moments(POPULATION, INITIAL, [end], rate=rate, batch_size=1, n_sequences=n) for n in (6, None)
    )
    mean, variance = runs.mean(axis=0), np.trace(np.cov(runs.T))
    off, other = (np.linalg.norm(mean - at.flow[0] - at.shift[0]) for at in (ours, independent))
    assert off < other / 2
    assert variance / np.trace(ours.covariance[0]) == pytest.approx(1, abs=2 * STEP_OF_AN_EPOCH)
    assert variance < np.trace(independent.covariance[0]) / 5


@pytest.mark.long
@pytest.mark.parametrize("rung", ["coupled", "linearised"])
def test_two_thousand_reshuffled_runs(rung, record_error):
    found = held(rung, 0.025, 2000, batch=1, reshuffled=True)
    record_error("SGD's mean, reshuffled", abs(found.share - 1))
    record_error("SGD's covariance, reshuffled", abs(found.trace - 1))
    assert abs(found.share - 1) < 3 * found.share_error + 0.05
    assert abs(found.trace - 1) < 3 * found.trace_error + 2 * STEP_OF_AN_EPOCH


def test_the_variance_is_back_at_the_end_of_an_epoch():
    """The first epoch is too short for a batch to change later gradients much."""
    found = sgd_moments(POPULATION, INITIAL, [0.003, 0.006], rate=1e-3, batch_size=1, n_sequences=6)
    half, end = (np.trace(P) for P in found.covariance)
    assert end < 1e-3 * half


def test_the_full_batch_has_no_noise():
    full = sgd_moments(POPULATION, INITIAL, [1.0], rate=0.1, batch_size=6, n_sequences=6)
    many = sgd_moments(POPULATION, INITIAL, [1.0], rate=0.1, batch_size=10**9)
    assert np.abs(full.covariance).max() == 0
    assert relative(full.shift, many.shift) < 1e-3


@pytest.mark.parametrize("rung", ["coupled", "linearised"])
def test_without_noise_the_shift_is_that_of_full_batch_descent(rung, record_error):
    end, rates, errors = END[rung], [0.08, 0.04], []
    for rate in rates:
        (run,) = ensemble(rung, rate, end, 1, None)
        found = sgd_moments(POPULATION, INITIAL, [end], rate=rate, batch_size=10**9, rung=rung)
        missed = np.linalg.norm(run - found.flow[0] - found.shift[0])
        assert missed < 0.1 * np.linalg.norm(run - found.flow[0])
        errors.append(float(missed))
    order = slope(rates, errors)
    record_error("Euler's shift", abs(order - 2))
    assert order == pytest.approx(2, abs=0.2)


def test_the_curvature_of_the_drift_is_what_noise_samples():
    """E F(θ + ξ) − F(θ) = F''[P]/2, exactly where F is quadratic; a Gaussian's cubic terms cancel too."""
    rng, model = np.random.default_rng(0), StackedFields(POPULATION, INITIAL, "coupled")
    theta = INITIAL.matrices.packed()
    root = 0.1 * rng.standard_normal((len(theta), len(theta)))
    # Both signs of every axis: their mean is exactly zero and their covariance exactly P.
    axes = np.sqrt(len(theta)) * np.concatenate([root.T, -root.T])
    mean = model.field(theta + axes).mean(axis=0) - model.field(theta[None])[0]
    assert relative(model.curvature(theta, root @ root.T) / 2, mean) < 1e-6


def test_the_covariance_is_that_of_every_sequence_by_itself():
    """Against autograd of the uniform softmax's loss, −⟨y − u, logits⟩."""
    weights = [torch.tensor(m, requires_grad=True) for m in INITIAL.matrices]
    E, W1, W2 = weights
    gradients = []
    for c, label in zip(*training_set(), strict=True):
        logits = torch.tensor(c) @ E @ W1 @ W2
        found = torch.autograd.grad(logits.mean() - logits[label], weights)
        gradients.append(np.concatenate([g.numpy().ravel() for g in found]))
    covariance = StackedFields(POPULATION, INITIAL, "coupled").covariance(INITIAL.matrices.packed())
    assert relative(covariance, np.cov(np.array(gradients).T, bias=True)) < 1e-12


def test_times_may_be_zero_or_come_twice():
    found = sgd_moments(POPULATION, INITIAL, [0.0, 0.4, 0.4], rate=0.1, batch_size=4)
    assert (found.flow[0] == INITIAL.matrices.packed()).all()
    assert (found.covariance[0] == 0).all()
    assert (found.shift[1] == found.shift[2]).all()
    assert (sgd_moments(POPULATION, INITIAL, 0.0, rate=0.1, batch_size=4).shift == 0).all()


def test_what_is_refused():
    with pytest.raises(InputError, match="1000"):
        sgd_moments(POPULATION, parameters(10, 30, 40), [1.0], rate=0.1, batch_size=4)
    with pytest.raises(InputError, match="smaller batch"):
        sgd_moments(POPULATION, INITIAL, [1.0], rate=0.1, batch_size=7, n_sequences=6)
    with pytest.raises(IntegrationError):
        sgd_moments(POPULATION, INITIAL, [100.0], rate=0.1, batch_size=4, rung="coupled")
