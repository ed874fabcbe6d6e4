"""Rungs 2 to 5 of the ladder for corpora against autograd: the orders of their errors, in float64."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
import torch

from tests.sim.language_models import PlainLanguageModel
from theory import (
    AdamEmbedding,
    AdamSettings,
    InputError,
    LanguageParameters,
    as_matrix,
    bigram_operator,
    context_operator,
    corpus_counts,
    language_drive,
    language_flow,
    language_gram,
    normed_drive,
    signed_cosine,
)

V, WIDTH = 9, 6
CORPUS = [np.random.default_rng(i).integers(0, V, size=3 + i % 6).tolist() for i in range(12)]
C = as_matrix(bigram_operator(corpus_counts(CORPUS, V)))
CONTEXT = as_matrix(context_operator(CORPUS, V))
ACTIVATIONS: dict[str, Callable[[torch.Tensor], torch.Tensor]] = {
    "tanh": torch.tanh,
    "gelu": torch.nn.functional.gelu,
    "relu": torch.relu,
}
SLOPES = {"tanh": 1.0, "gelu": 0.5, "relu": 0.5}
"""σ'(0); that of ReLU is what it has on average."""
FloatArray = npt.NDArray[np.float64]


def gradient(model: PlainLanguageModel) -> FloatArray:
    tensors = model.trainable()
    (found, *_) = torch.autograd.grad(model.loss(CORPUS), tensors)
    return -found.numpy()


def parameters(model: PlainLanguageModel, slope: float = 1.0, *, branches: bool = True) -> LanguageParameters:
    readout = None if model.U is None else model.U.detach().numpy()
    own = {"W_E": model.E.detach().numpy(), "W_U": readout}
    if not branches:
        return LanguageParameters(**own)
    attention, forward = (model.V @ model.O).numpy(), slope * (model.W_in @ model.W_out).numpy()
    return LanguageParameters(**own, W_VO=attention, W_f=forward)


def order(error_at: Callable[[float], float], scale: float) -> float:
    """Return by which power of two an error falls when the scale is halved."""
    return float(np.log2(error_at(scale) / error_at(scale / 2)))


def relative(found: FloatArray, expected: FloatArray) -> float:
    return float(np.linalg.norm(found - expected) / np.linalg.norm(found))


@pytest.mark.parametrize("tied", [False, True])
@pytest.mark.parametrize(("activation", "power"), [("tanh", 2), ("gelu", 1), ("relu", 0)])
def test_embeddings_with_averaged_attention_and_a_feed_forward_layer(
    tied: bool, activation: str, power: int
) -> None:
    """Rungs 2 and 3, the other matrices of order one: order 2, unless the activation bends at 0 or breaks."""

    def error(scale: float) -> float:
        model = PlainLanguageModel.draw(V, WIDTH, tied=tied, embedding=scale, others=1.0)
        model.activation = ACTIVATIONS[activation]
        return relative(gradient(model), language_drive(C, CONTEXT, parameters(model, SLOPES[activation])))

    assert order(error, 4e-3) == pytest.approx(power, abs=0.15)
    assert error(2e-3) < {2: 1e-3, 1: 1e-2, 0: 1.0}[power]


@pytest.mark.parametrize("left_out", ["W_VO", "W_f"])
def test_a_drive_without_one_of_the_branches_is_wrong_at_any_scale(left_out: str) -> None:
    model = PlainLanguageModel.draw(V, WIDTH, tied=False, embedding=1e-3, others=1.0)
    whole = parameters(model)
    part = LanguageParameters(**{name: value for name, value in vars(whole).items() if name != left_out})
    assert relative(gradient(model), language_drive(C, CONTEXT, part)) > 0.05


@pytest.mark.parametrize("tied", [False, True])
def test_rows_of_c_alone_are_of_order_two_if_every_matrix_is_small(tied: bool) -> None:
    def error(scale: float) -> float:
        model = PlainLanguageModel.draw(V, WIDTH, tied=tied, embedding=scale, others=scale)
        bare = parameters(model, branches=False)
        return relative(gradient(model), language_drive(C, CONTEXT, bare))

    assert order(error, 2e-2) == pytest.approx(2, abs=0.15)


@pytest.mark.parametrize("tied", [False, True])
@pytest.mark.parametrize("share", [0.0, 1.0, 100.0])
def test_a_norm_with_its_epsilon_makes_the_error_one_order_larger(tied: bool, share: float) -> None:
    """Rung 4, ε a given multiple of the embedding's variance and every matrix small."""

    def error(scale: float) -> float:
        # The two matrices of a branch are of the embedding's order together, as the square of one is not.
        model = PlainLanguageModel.draw(V, WIDTH, tied=tied, embedding=scale, others=scale)
        model.norm_epsilon = share * scale**2
        expected = normed_drive(C, parameters(model, branches=False), model.norm_epsilon)
        return relative(gradient(model), expected)

    assert order(error, 2e-3) == pytest.approx(1, abs=0.15)
    assert error(1e-3) < 0.05


def test_a_norm_of_large_epsilon_is_a_factor() -> None:
    model = PlainLanguageModel.draw(V, WIDTH, tied=False, embedding=1e-3, others=0.0)
    bare = parameters(model, branches=False)
    linear = language_drive(C, CONTEXT, bare)
    linear -= linear.mean(axis=1, keepdims=True)
    assert normed_drive(C, bare, 1.0) == pytest.approx(linear, rel=1e-4)


@pytest.mark.parametrize("tied", [False, True])
def test_the_linear_flow_is_gradient_flow_at_vanishing_scale(tied: bool) -> None:
    """Gradient descent, extrapolated to steps of length 0, differs from it at order two in the scale."""
    time = 3.0

    def descended(scale: float, n_steps: int) -> tuple[FloatArray, FloatArray]:
        model = PlainLanguageModel.draw(V, WIDTH, tied=tied, embedding=scale, others=0.0)
        start, tensors = parameters(model, branches=False), model.trainable()
        exact = language_flow(C, LanguageParameters(start.W_E.copy(), start.W_U), time)
        for _ in range(n_steps):
            gradients = torch.autograd.grad(model.loss(CORPUS), tensors)
            with torch.no_grad():
                for tensor, own in zip(tensors, gradients, strict=True):
                    tensor -= time / n_steps * own
        return model.E.detach().numpy(), exact

    def extrapolated_error(scale: float) -> float:
        """Euler's error of first order is taken off, which leaves that of the scale."""
        (coarse, exact), (fine, _) = descended(scale, 4), descended(scale, 8)
        (finer, _) = descended(scale, 16)
        first, second = 2 * fine - coarse, 2 * finer - fine
        return relative((4 * second - first) / 3, exact)

    assert order(extrapolated_error, 0.2) == pytest.approx(2, abs=0.2)
    assert extrapolated_error(0.1) < 0.01


@pytest.mark.statistical
@pytest.mark.parametrize("tied", [False, True])
def test_the_gram_is_the_mean_over_initial_draws(tied: bool) -> None:
    """Mean of W Wᵀ over 400 draws within four standard errors, entry by entry."""
    rng, d, time = np.random.default_rng(0), 5, 30.0
    products = []
    for _ in range(400):
        E, U = rng.standard_normal((V, d)), rng.standard_normal((d, V))
        W = language_flow(C, LanguageParameters(E, None if tied else U), time)
        products.append(W @ W.T / d)
    error = np.std(products, axis=0, ddof=1) / 20
    expected = language_gram(C, time, tied=tied)
    assert (np.abs(np.mean(products, axis=0) - expected) < 4 * error).all()
    assert not np.allclose(expected, np.eye(V), atol=0.2)


def trained(steps: int, scale: float, norm_epsilon: float | None, *, others: float = 0.0) -> FloatArray:
    """Train the plain tied model with torch's AdamW on batches of three sequences."""
    model = PlainLanguageModel.draw(V, WIDTH, tied=True, embedding=scale, others=others)
    model.norm_epsilon = norm_epsilon
    optimiser = torch.optim.AdamW(model.trainable(), lr=0.1 * scale, eps=1e-12, weight_decay=0.1)
    for k in range(steps):
        optimiser.zero_grad()
        model.loss(batch(k)).backward()
        optimiser.step()
    return model.E.detach().numpy()


def batch(k: int) -> list[list[int]]:
    return [CORPUS[i % len(CORPUS)] for i in range(3 * k, 3 * k + 3)]


def predicted(steps: int, scale: float, norm_epsilon: float | None, softmax: Any = "uniform") -> FloatArray:
    start = PlainLanguageModel.draw(V, WIDTH, tied=True, embedding=scale, others=0.0).E.numpy()
    settings = AdamSettings(0.1 * scale, epsilon=1e-12, weight_decay=0.1)
    model = AdamEmbedding(start, settings, norm_epsilon=norm_epsilon, softmax=softmax)
    for k in range(steps):
        model.step(corpus_counts(batch(k), V))
    return model.rows


@pytest.mark.parametrize(("share", "power"), [(None, 2), (0.5, 1)])
def test_adamw_steps_are_those_of_the_counts(share: float | None, power: int) -> None:
    """Rung 5: scale and learning rate together: order 2 without a norm, 1 with one."""

    def error(scale: float) -> float:
        epsilon = None if share is None else share * scale**2
        start = PlainLanguageModel.draw(V, WIDTH, tied=True, embedding=scale, others=0.0).E.numpy()
        moved = trained(12, scale, epsilon) - start
        return relative(moved, predicted(12, scale, epsilon) - start)

    assert order(error, 4e-3) == pytest.approx(power, abs=0.25)
    assert error(2e-3) < 0.02


@pytest.mark.parametrize("norm_epsilon", [None, 1e-2])
def test_with_a_live_softmax_they_are_the_training_itself(norm_epsilon: float | None) -> None:
    """At a scale where the uniform softmax is far off."""
    found = trained(12, 0.5, norm_epsilon)
    assert predicted(12, 0.5, norm_epsilon, "live") == pytest.approx(found, rel=1e-9)
    assert relative(found, predicted(12, 0.5, norm_epsilon)) > 0.1


@pytest.mark.statistical
def test_the_first_step_of_adamw_has_the_cosines_of_signs() -> None:
    """Untied, one step: cosines of displacements are 2/π arcsin of those of rows, whatever r_s; d = 4000."""
    d = 4000
    rng = np.random.default_rng(0)
    start = 1e-4 * rng.standard_normal((V, d))
    E, U = torch.tensor(start, requires_grad=True), torch.from_numpy(1e-4 * rng.standard_normal((d, V)))
    pairs = [pair for s in CORPUS for pair in itertools.pairwise(s)]
    inputs, labels = torch.tensor(pairs).T
    torch.nn.functional.cross_entropy(E[inputs] @ U, labels).backward()
    torch.optim.AdamW([E], lr=1e-3, eps=1e-16, weight_decay=0.0).step()
    moved = E.detach().numpy() - start
    assert np.abs(moved) == pytest.approx(np.full(moved.shape, 1e-3), rel=1e-6)
    found = moved @ moved.T / (d * 1e-6)
    lengths = np.linalg.norm(C, axis=1)
    expected = signed_cosine(np.clip(C @ C.T / np.outer(lengths, lengths), -1, 1))
    # The mean of d signs has a standard deviation of at most 1/√d.
    assert np.abs(found - expected).max() < 4.5 / np.sqrt(d)


@pytest.mark.parametrize("softmax", ["uniform", "live"])
def test_absent_tokens_stand_for_as_many_as_there_are(softmax: Any) -> None:
    """A vocabulary with tokens that never occur, and one row for all of them; live, they start alike."""
    whole = [[t + 2 * (t > 3) for t in s] for s in CORPUS]
    kept = sorted({t for s in whole for t in s})
    size = V + 7
    absent = [t for t in range(size) if t not in kept]
    start = np.random.default_rng(0).standard_normal((size, WIDTH)) * 1e-2
    if softmax == "live":
        start[absent] = start[absent[0]]
    settings = AdamSettings(1e-3, weight_decay=0.1)
    full = AdamEmbedding(start, settings, norm_epsilon=1e-5, softmax=softmax)
    few = AdamEmbedding(start[kept], settings, start[absent].mean(axis=0), len(absent), 1e-5, softmax)
    for k in range(6):
        parts = [whole[i % len(whole)] for i in range(3 * k, 3 * k + 3)]
        full.step(corpus_counts(parts, size))
        few.step(corpus_counts([[kept.index(t) for t in s] for s in parts], len(kept)))
    assert few.rows == pytest.approx(full.rows[kept], rel=1e-9)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: language_drive(C[:3], CONTEXT, LanguageParameters(np.eye(V))), "C = "),
        (lambda: language_drive(C, CONTEXT, LanguageParameters(np.eye(V), W_VO=np.eye(2))), "W_VO = "),
        (lambda: language_drive(C, CONTEXT, LanguageParameters(np.eye(V), np.eye(3))), "W_U = "),
        (lambda: normed_drive(C, LanguageParameters(np.eye(V), W_f=np.eye(V))), "has branches"),
        (lambda: normed_drive(C, LanguageParameters(np.ones((V, 3))), 0.0), "a row has no variance"),
        (lambda: normed_drive(C, LanguageParameters(np.eye(V)), -1.0), "epsilon = -1.0"),
        (lambda: language_flow(C, LanguageParameters(np.eye(V)), -1.0), "time = -1.0"),
        (lambda: language_flow(C, LanguageParameters(np.eye(V)), 1e6), "left every bound"),
        (lambda: language_flow(C, LanguageParameters(np.eye(V), W_VO=np.eye(V)), 1.0), "has branches"),
        (lambda: language_flow(C, LanguageParameters(np.eye(V), W_f=np.eye(V)), 1.0), "has branches"),
        (lambda: language_gram(C[:3], 1.0), "not square"),
        (lambda: signed_cosine([1.5]), "cosine = "),
        (lambda: AdamEmbedding(np.eye(3), AdamSettings(0.1)).step(corpus_counts(CORPUS, V)), "batch = 9"),
        (lambda: AdamEmbedding(np.ones(3), AdamSettings(0.1)), "initial = "),
    ],
)
def test_what_does_not_fit_is_refused(call: Callable[[], Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        call()
