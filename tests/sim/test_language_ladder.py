"""Rungs 2 to 4 of the ladder for corpora against autograd: the orders of their errors, in float64."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
import torch

from tests.sim.language_models import PlainLanguageModel
from theory import (
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


@pytest.mark.parametrize(
    ("call", "argument"),
    [
        (lambda: language_drive(C[:3], CONTEXT, LanguageParameters(np.eye(V))), "C"),
        (lambda: language_drive(C, CONTEXT, LanguageParameters(np.eye(V), W_VO=np.eye(2))), "W_VO"),
        (lambda: language_drive(C, CONTEXT, LanguageParameters(np.eye(V), np.eye(3))), "W_U"),
        (lambda: normed_drive(C, LanguageParameters(np.eye(V), W_f=np.eye(V))), "parameters"),
        (lambda: normed_drive(C, LanguageParameters(np.ones((V, 3))), 0.0), "epsilon"),
        (lambda: language_flow(C, LanguageParameters(np.eye(V)), 1e6), "time"),
        (lambda: language_flow(C, LanguageParameters(np.eye(V), W_VO=np.eye(V)), 1.0), "parameters"),
        (lambda: language_gram(C[:3], 1.0), "C"),
    ],
)
def test_a_refusal_names_the_argument(call: Callable[[], Any], argument: str) -> None:
    with pytest.raises(InputError, match=f"^{argument} = .*; (give|leave) "):
        call()
