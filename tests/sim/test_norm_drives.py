"""Proposition 1 with a layer norm behind the sum, against autograd in float64."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
import torch

from tests.sim.scaled_models import SCALES, WIDTH, D, FloatArray, population
from theory import (
    EmbMLPParameters,
    fit_exponent,
    normed_emb_mlp_drive,
    token_label_matrix,
    wide_normed_emb_mlp_drive,
)


def order(at: Callable[[float], float]) -> float:
    return fit_exponent(SCALES, [at(scale) for scale in SCALES]).value


def emb_mlp(scale: float, width: int = WIDTH) -> EmbMLPParameters:
    rng = np.random.default_rng(4)
    shapes = [(D, width), (width, 9), (9, D)]
    return EmbMLPParameters(*(scale * rng.standard_normal(s) / s[0] ** 0.5 for s in shapes))


def emb_mlp_flow(p: EmbMLPParameters, epsilon: float) -> FloatArray:
    W, W1, W2 = (torch.tensor(m, requires_grad=True) for m in (p.W_emb, p.W1, p.W2))
    sequences, labels = map(torch.from_numpy, population())
    x = torch.nn.functional.layer_norm(W[sequences].sum(dim=1), W.shape[1:], eps=epsilon)
    loss = torch.nn.functional.cross_entropy(torch.tanh(x @ W1) @ W2, labels)
    return -torch.autograd.grad(loss, W)[0].numpy()


@pytest.mark.parametrize("share", [0.0, 1.0])
def test_prop_1_with_a_norm_behind_the_sum(share: float, record_error: Callable[..., None]) -> None:
    def wrong(scale: float) -> float:
        found = emb_mlp_flow(emb_mlp(scale), share * scale**2)
        drive = normed_emb_mlp_drive(emb_mlp(scale), *population(), epsilon=share * scale**2)
        return float(np.linalg.norm(drive - found) / np.linalg.norm(found))

    assert order(wrong) == pytest.approx(2, abs=0.1)
    assert order(lambda s: float(np.linalg.norm(emb_mlp_flow(emb_mlp(s), share * s**2)))) == pytest.approx(
        1, abs=0.05
    )
    record_error("Prop. 1, norm", wrong(SCALES[0]))


def test_prop_1_with_a_norm_closes_in_c_as_the_width_grows() -> None:
    """For sequences of different tokens: where one repeats, the sum is longer than the closed form has it."""
    rng, widths, wrong = np.random.default_rng(6), np.array([50, 200, 800]), []
    tokens, labels = rng.permuted(np.tile(np.arange(D), (300, 1)), axis=1)[:, :4], rng.integers(0, D, 300)
    C = token_label_matrix(tokens, labels, D)
    for width in widths:
        p = emb_mlp(1e-2, width)
        exact, closed = normed_emb_mlp_drive(p, tokens, labels), wide_normed_emb_mlp_drive(C, p, 4)
        wrong.append(float(np.linalg.norm(closed - exact) / np.linalg.norm(exact)))
    assert fit_exponent(widths, wrong).value == pytest.approx(-0.5, abs=0.15)
