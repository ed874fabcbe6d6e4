"""The scatter of weights under batches: its variance along one direction, its factors, and training."""

import numpy as np
import pytest

from tests.factorisations import other_bases
from tests.theory.flow_reference import relative
from tests.theory.test_learning_curves import BATCH, CLIP, EXAMPLE, POPULATION, START, TASK, trained
from theory import TANH, SGDSettings
from theory.flows.batches import Batching
from theory.flows.gradient import scores
from theory.flows.gradient_noise import BatchGradient
from theory.flows.learning_curves import recorded_steps, training_size
from theory.flows.mean_training import MeanTraining
from theory.flows.weight_scatter import (
    CurvatureFactors,
    SampledScatter,
    WeightScatter,
    curvature_factors,
    reshuffled_share,
)
from theory.integrate.trajectory import Matrices


@pytest.mark.parametrize("decay", [2e-5, 1e-3, 1e-2])
def test_reshuffled_epochs_against_their_own_recursion(decay, record_error):
    """One direction of curvature λ and noise λ: θ → (1 − ηλ)θ − ηξ, whose ξ add up to zero over K steps."""
    K = 300
    kept = (1 - decay) ** np.arange(K - 1, -1, -1.0)
    exact = kept @ (np.eye(K) - 1 / K) @ kept * decay / (1 - (1 - decay) ** (2 * K))
    predicted = float(reshuffled_share(np.array(decay * K / 2))) / 2
    # A step of finite size adds as much.
    record_error("scatter of reshuffled batches", abs(predicted / exact - 1), below=2 * decay + 1e-4)


def test_factors_are_means_over_sequences(record_error):
    """Against every sequence's own gradient, one after another."""
    (x, y), one_hot = EXAMPLE.training, np.eye(TASK.vocab_size)
    c = one_hot[x].sum(axis=1)
    e = c @ START.W_emb
    value = np.tanh(e @ START.W1)
    logits = value @ START.W2
    p = np.exp(logits) / np.exp(logits).sum(axis=1, keepdims=True)
    residual = p - one_hot[y]
    delta = residual @ START.W2.T * (1 - value**2)
    found = curvature_factors(POPULATION, START.matrices, TANH)
    for ours, entering in zip(found.inputs, (c, e, value), strict=True):
        error = float(np.abs(ours - entering.T @ entering / len(x)).max())
        record_error("factors of curvature", error, below=1e-12)
    for ours, leaving in zip(found.errors, (delta @ START.W1.T, delta, residual), strict=True):
        assert np.abs(ours - leaving.T @ leaving / len(x)).max() < 1e-12


def test_draws_have_the_covariance_of_the_formula():
    """Against P of the whole matrix, by an eigendecomposition of D^½(A ⊗ G)D^½ with D = r cᵀ."""
    rng = np.random.default_rng(0)
    shapes = [(3, 2), (2, 3), (3, 4)]
    roots = [[rng.normal(size=(shape[side], shape[side])) for shape in shapes] for side in (0, 1)]
    inputs, errors = (tuple(root @ root.T / len(root) for root in of_side) for of_side in roots)
    factors = CurvatureFactors(inputs, errors)
    outer = [np.outer(rng.uniform(0.5, 2, n), rng.uniform(0.5, 2, m)) for n, m in shapes]
    rate, batching = 0.1, Batching(4, 40)
    scatter = WeightScatter(factors, Matrices(*outer), batching, rate)
    draws = np.array([scatter.reshuffled(rng) for _ in range(4_000)])
    ends = np.cumsum([0, *(D.size for D in outer)])
    for k, D in enumerate(outer):
        root = np.sqrt(D.ravel())
        A = root[:, None] * np.kron(factors.inputs[k], factors.errors[k]) * root
        values, vectors = np.linalg.eigh(A)
        u = np.maximum(values, 1e-12) * 10 * rate / 2
        inner = vectors * (1 - np.tanh(u) / u) @ vectors.T
        P = rate * (40 / 39) / 4 / 2 * root[:, None] * inner * root
        sample = np.cov(draws[:, ends[k] : ends[k + 1]].T)
        assert np.abs(sample - P).max() < 0.1 * np.abs(P).max()


def test_draws_from_single_gradients_have_the_covariance_of_the_formula():
    """Against P of the whole matrix; two directions in which no gradient points do not scatter."""
    rng, rate, batching = np.random.default_rng(1), 0.1, Batching(4, 40)
    single, D = rng.normal(size=(3, 5)), rng.uniform(0.5, 2, 5)
    root, u_of = np.sqrt(D), 10 * rate / 2
    values, vectors = np.linalg.eigh(root[:, None] * (single.T @ single / 3) * root)
    u = np.maximum(values, 1e-12) * u_of
    inner = vectors * np.where(values > 1e-9, 1 - np.tanh(u) / u, 0) @ vectors.T
    P = rate * (40 / 39) / 4 / 2 * root[:, None] * inner * root
    scatter = SampledScatter(single, D, batching, rate)
    draws = np.array([scatter.reshuffled(rng) for _ in range(8_000)])
    # The standard error of a variance is 1.6 %: six of them.
    assert np.abs(np.cov(draws.T) - P).max() < 0.1 * np.abs(P).max()


@pytest.mark.parametrize("seed", range(3))
def test_a_seed_draws_the_same_numbers_in_any_basis(seed, monkeypatch):
    """Two factors have equal eigenvalues: their eigenvectors are any basis of a plane."""
    rng = np.random.default_rng(seed)
    halves = [rng.normal(size=(n, n - 2)) for n in (4, 5, 6, 3, 6, 5)]
    squares = [half @ half.T for half in halves]
    factors = CurvatureFactors(tuple(squares[:3]), tuple(squares[3:]))
    ones = Matrices(np.ones((4, 3)), np.ones((5, 6)), np.ones((6, 5)))

    def drawn():
        scatter = WeightScatter(factors, ones, Batching(4, 40), 0.1)
        return [
            scatter.reshuffled(np.random.default_rng(7)),
            scatter.independent(3.0, np.random.default_rng(8)),
        ]

    here = drawn()
    other_bases(monkeypatch, seed)
    for ours, theirs in zip(here, drawn(), strict=True):
        assert relative(theirs, ours) < 1e-6  # a rate of 1e-17 is 0 within rounding, f its root


def seen_losses(settings, steps, rng):
    batching = Batching(BATCH, training_size(TASK))
    start = START.matrices
    gradients = BatchGradient(POPULATION, batching, TANH, start)
    course = MeanTraining(gradients, settings, CLIP, 1e-3, rng).follow(start.packed(), steps)
    seen = ([scores(POPULATION, start.unpack(at), TANH) for at in now.seen] for now in course)
    return np.array([np.mean([found["memory"][0] for found in now]) for now in seen])


@pytest.mark.filterwarnings("ignore:SGD's rate times the largest curvature:theory.OutsideValidityWarning")
def test_scatter_delays_learning_as_training_has_it(record_error):
    """At a rate so large that the mean course, without scatter, is ahead of training."""
    settings, steps = SGDSettings(2.0), recorded_steps(180, 1.3)
    runs = [trained(settings, steps, order) for order in range(2)]
    observed = np.mean([[at["memory"][0] for at in run] for run in runs], axis=0)
    plain = seen_losses(settings, steps, None)
    scattered = seen_losses(settings, steps, np.random.default_rng(0))
    late = slice(len(steps) // 2, None)
    off, on = (np.abs(ours - observed)[late].mean() for ours in (plain, scattered))
    record_error("scatter in learning curves", float(on))
    assert on < off / 2
