"""The first motion of W_Q and W_K against autograd of the trained model, in float64."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
import torch

from tests.sim.scaled_models import SCALES, D, FloatArray, Tensors, config, drawn, flow, population
from theory import (
    InputError,
    adam_attention_bound,
    find_derivation,
    fit_exponent,
    gradient_exponents,
    leading_query_key_matrix,
    query_key_matrix,
    query_key_onset,
    two_factor_flow,
)
from theory.transformer.query_key import logit_spread

NORMS = ["none", "pre", "post"]


@pytest.mark.parametrize("share", [0.0, 1.0])
@pytest.mark.parametrize("norm", NORMS)
def test_exponents_of_all_gradients(norm: str, share: float) -> None:
    flows = [flow(drawn(2, s), config(norm, epsilon=share * s**2, n_layers=2)) for s in (1e-3, 2e-3)]
    for name, exponent in gradient_exponents(norm).items():
        small, large = (np.linalg.norm(_rows(name, f)) for f in flows)
        assert np.log2(large / small) == pytest.approx(exponent, abs=0.25), name


def _rows(name: str, found: dict[str, FloatArray]) -> FloatArray:
    if name == "W_pos":
        return found["W_pos"][-1]
    return found["W_pos"][:-1] if name == "W_pos[:-1]" else found[name]


def leading(p: Tensors, norm: str, epsilon: float, n_layers: int) -> FloatArray:
    a = {n: t[0].numpy() for n, t in p.items()}
    top = n_layers - 1
    return leading_query_key_matrix(
        *population(), a["W_E"], a["W_pos"], a["W_U"], a[f"{top}.W_V"] @ a[f"{top}.W_O"], 3,
        norm=norm, epsilon=epsilon, n_layers=n_layers,
    )  # fmt: skip


@pytest.mark.parametrize("n_layers", [1, 2])
@pytest.mark.parametrize(("norm", "power"), [("none", 2), ("pre", 1), ("post", 1)])
def test_leading_drive_of_queries_and_keys(
    norm: str, power: int, n_layers: int, record_error: Callable[..., None]
) -> None:
    def error(scale: float) -> float:
        p, epsilon = drawn(n_layers, scale), scale**2
        found = flow(p, config(norm, epsilon=epsilon, n_layers=n_layers))
        G, top = leading(p, norm, epsilon, n_layers), n_layers - 1
        queries, keys = p[f"{top}.W_Q"][0].numpy(), p[f"{top}.W_K"][0].numpy()
        pairs = [(G @ keys, found[f"{top}.W_Q"]), (G.T @ queries, found[f"{top}.W_K"])]
        return float(max(np.linalg.norm(a - b) / np.linalg.norm(b) for a, b in pairs))

    errors = [error(scale) for scale in SCALES]
    assert fit_exponent(SCALES, errors).value == pytest.approx(power, abs=0.15)
    assert errors[0] < 0.05
    record_error(f"W_Q, W_K, norm {norm}", errors[0])


def test_derived_drive_of_the_logits_is_that_of_autograd(record_error: Callable[..., None]) -> None:
    worth = torch.linspace(-1, 2, 5, dtype=torch.float64) ** 2
    logits = torch.full((5,), 0.3, dtype=torch.float64, requires_grad=True)
    (found,) = torch.autograd.grad(torch.softmax(logits, 0) @ worth, logits)
    derived = find_derivation("query key").function()(worth.numpy()[None], 5)[0]
    assert derived == pytest.approx(found.numpy(), abs=1e-15)
    record_error("query key", float(np.abs(derived - found.numpy()).max()))


@pytest.mark.parametrize("shape", [(4, 4), (5, 3), (3, 5)])
def test_flow_is_the_solution_of_its_equations(shape: tuple[int, int]) -> None:
    rng, h, t = np.random.default_rng(0), 1e-5, 0.7
    G, first, second = rng.standard_normal(shape), *(rng.standard_normal((n, 2)) for n in shape)
    before, now, after = (two_factor_flow(G, first, second, time) for time in (t - h, t, t + h))
    assert (after[0] - before[0]) / (2 * h) == pytest.approx(G @ now[1], rel=1e-6)
    assert (after[1] - before[1]) / (2 * h) == pytest.approx(G.T @ now[0], rel=1e-6)
    assert two_factor_flow(G, first, second, 0.0)[0] == pytest.approx(first)


def test_the_spread_is_within_each_sequence() -> None:
    """Two sequences with logits 0, 6, 0 and 30, 36, 30: how far apart the sequences are is nothing to it."""
    x = np.array([[[0.0, 1.0], [3.0, 1.0], [0.0, 1.0]], [[15.0, 1.0], [18.0, 1.0], [15.0, 1.0]]])
    found = logit_spread(x, np.array([[0.0], [2.0]]), np.array([[1.0], [0.0]]))
    assert found == pytest.approx(np.std([0, 6, 0]))


def test_onset_comes_at_the_logarithm_of_the_scale() -> None:
    """Halving both matrices delays it by ln 2 over the largest singular value."""
    rng = np.random.default_rng(1)
    G, queries, keys = rng.standard_normal((4, 4)), *1e-4 * rng.standard_normal((2, 4, 2))
    x = rng.standard_normal((9, 5, 4))
    first, later = (query_key_onset(G, s * queries, s * keys, x) for s in (1.0, 0.5))
    assert later - first == pytest.approx(np.log(2) / np.linalg.norm(G, 2), rel=1e-3)
    assert logit_spread(x, *two_factor_flow(G, queries, keys, first)) == pytest.approx(0.1, rel=1e-6)
    assert query_key_onset(0 * G, queries, keys, x) == np.inf
    assert query_key_onset(G, 1e4 * queries, 1e4 * keys, x) == 0


def test_no_rows_of_the_norms_length_exceed_the_bound_for_adam() -> None:
    steps = adam_attention_bound(200, 64, 1e-4)
    assert steps == pytest.approx(17.68, abs=0.01)
    aligned = np.full((200, 64), 1e-4 * steps)
    ones = np.ones(200)
    assert (ones @ aligned) @ (ones @ aligned) / 8 == pytest.approx(1, rel=1e-12)
    assert adam_attention_bound(200, 64, 1e-4, initial=1.0) == 0


@pytest.mark.parametrize(
    ("call", "argument"),
    [
        (lambda: query_key_matrix(np.ones((2, 3, 4)), np.ones((2, 3)), np.eye(4), 2), "pulls"),
        (lambda: query_key_matrix(np.ones((2, 3)), np.ones((2, 3)), np.eye(4), 2), "inputs"),
        (lambda: two_factor_flow(np.eye(3), np.ones((4, 2)), np.ones((3, 2)), 1.0), "G"),
        (lambda: two_factor_flow(np.eye(3), np.ones((3, 2)), np.ones((3, 1)), 1.0), "B"),
        (lambda: two_factor_flow(np.eye(3), np.ones((3, 2)), np.ones((3, 2)), 1e3), "time"),
        (lambda: gradient_exponents("middle"), "norm"),
        (lambda: leading(drawn(1, 1.0) | {"W_pos": drawn(1, 1.0)["W_U"]}, "none", 0.0, 1), "W_pos"),
        (lambda: adam_attention_bound(D, 3, 0.0), "rate"),
    ],
)
def test_bad_input_is_refused(call: Callable[[], object], argument: str) -> None:
    with pytest.raises(InputError) as refusal:
        call()
    assert refusal.value.argument == argument
