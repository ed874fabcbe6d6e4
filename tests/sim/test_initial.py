"""Initial parameters of every kind of model: names, shapes, the scale of every tensor."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import pytest
import torch

from sim import MemberConfig, build, initial_std

Make = Callable[..., MemberConfig]
D_M, D_F, D_K, HEADS, VOCAB, LENGTH = 90, 110, 35, 2, 130, 60
TASK = {
    "keys": "20..25",
    "n_anchors": 1,
    "length": LENGTH,
    "vocab_size": VOCAB,
    "reasoning_anchors": "4..7",
}
TRANSFORMER = {"kind": "transformer", "d_m": D_M, "d_f": D_F, "d_k": D_K, "n_heads": HEADS}
ONE_LAYER = {"kind": "one-layer", "d_f": D_F, "d_k": D_K}
EMB_MLP = {"kind": "emb-mlp", "d_m": D_M, "d_f": D_F}


def _layer(d_m: int, d_heads: int) -> dict[str, tuple[int, int]]:
    asking = dict.fromkeys(("0.W_Q", "0.W_K", "0.W_V"), (d_m, d_heads))
    return {**asking, "0.W_O": (d_heads, d_m), "0.W_in": (d_m, D_F), "0.W_out": (D_F, d_m)}


SHAPES: dict[str, dict[str, tuple[int, int]]] = {
    "emb-mlp": {"W_emb": (VOCAB, D_M), "W1": (D_M, D_F), "W2": (D_F, VOCAB)},
    "one-layer": {"W_E": (VOCAB, VOCAB), **_layer(VOCAB, D_K)},
    "transformer": {
        "W_E": (VOCAB, D_M),
        "W_pos": (LENGTH, D_M),
        **_layer(D_M, HEADS * D_K),
        "W_U": (D_M, VOCAB),
    },
}


@pytest.mark.statistical
@pytest.mark.parametrize("convention", ["d_m", "d_vob"])
@pytest.mark.parametrize("rate", [0.3, 0.8])
@pytest.mark.parametrize("model", [EMB_MLP, ONE_LAYER, TRANSFORMER], ids=lambda m: m["kind"])
def test_every_tensors_standard_deviation(
    model: dict[str, Any], rate: float, convention: str, member: Make
) -> None:
    """Within 5 standard errors, std/√(2n), of fan_in^-γ; and the mean of zero."""
    plain = {"n_layers": 1, "norm": "none"} if model["kind"] == "transformer" else {}
    config = member(init_rates=[rate], task=TASK, model=model | plain | {"embedding_fan_in": convention})
    expected = SHAPES[model["kind"]]
    found = build([config], VOCAB)
    assert set(found) == set(expected)
    for name, tensor in found.items():
        assert tensor.shape == (1, *expected[name])
        table = name in ("W_E", "W_emb", "W_pos")
        std = expected[name][1 if table and convention == "d_m" else 0] ** -rate
        n = tensor.numel()
        assert initial_std(config, name, VOCAB) == pytest.approx(std, rel=1e-12)
        assert abs(float(tensor.double().std()) - std) < 5 * std / math.sqrt(2 * n)
        assert abs(float(tensor.double().mean())) < 5 * std / math.sqrt(n)


@pytest.mark.parametrize(
    ("norm", "norms"),
    [
        ("post", {"0.ln1", "0.ln2", "1.ln1", "1.ln2"}),
        ("pre", {"0.ln1", "0.ln2", "1.ln1", "1.ln2", "ln_final"}),
        ("pre-queries", {"0.ln1", "0.ln2", "1.ln1", "1.ln2", "ln_final"}),
        ("none", set()),
    ],
)
@pytest.mark.parametrize("biases", [False, True])
def test_norms_start_at_one_and_biases_at_zero(
    norm: str, norms: set[str], biases: bool, member: Make
) -> None:
    found = build([member(model=TRANSFORMER | {"norm": norm, "biases": biases}, task=TASK)], VOCAB)
    constant = {name: value for name, value in found.items() if value.ndim == 2}
    linear = {f"{layer}.b_{x}" for layer in (0, 1) for x in ("Q", "K", "V", "O", "in", "out")} | {"b_U"}
    shifts = linear | {f"{name}.b" for name in norms} if biases else set()
    assert set(constant) == {f"{name}.w" for name in norms} | shifts
    for name, value in constant.items():
        assert torch.equal(value, torch.full_like(value, 1.0 if name.endswith(".w") else 0.0))
        assert initial_std(member(model=TRANSFORMER | {"norm": norm, "biases": biases}), name, VOCAB) == 0
        matrix = found[name.replace("b_", "W_")] if "b_" in name else found["W_E"]
        assert value.shape[1] == matrix.shape[2]


@pytest.mark.statistical
@pytest.mark.parametrize("rate", [0.3, 0.8])
@pytest.mark.parametrize("scale", [1.0, 0.5])
def test_biases_start_uniform_within_their_own_scale_whatever_gamma_is(
    scale: float, rate: float, member: Make
) -> None:
    """Within 6 standard errors of the standard deviation, 0.45 std/√n for a uniform, and of the mean."""
    model = {"kind": "transformer", "d_m": 400, "d_f": 1000, "d_k": 300, "n_layers": 1}
    config = member(init_rates=[rate], model=model | {"biases": True, "bias_scale": scale}, task=TASK)
    found = build([config], VOCAB)
    fan_in = dict.fromkeys(("0.b_Q", "0.b_K", "0.b_V", "0.b_in", "b_U"), 400) | {
        "0.b_O": 300,
        "0.b_out": 1000,
    }
    for name, d_in in fan_in.items():
        bias = found[name].double()
        bound, n = scale / math.sqrt(d_in), bias.numel()
        std = bound / math.sqrt(3)
        assert initial_std(config, name, VOCAB) == pytest.approx(std, rel=1e-12)
        assert 0.9 * bound < float(bias.abs().max()) <= bound
        assert abs(float(bias.std()) - std) < 6 * 0.45 * std / math.sqrt(n)
        assert abs(float(bias.mean())) < 6 * std / math.sqrt(n)
    norms = [value for name, value in found.items() if name.endswith(("ln1.b", "ln2.b"))]
    assert len(norms) == 2
    assert not any(value.any() for value in norms)


@pytest.mark.parametrize(
    ("options", "biased"),
    [
        ({"read_out_bias": True}, {"b_U"}),
        ({"norm_biases": True}, {"0.ln1.b", "0.ln2.b", "1.ln1.b", "1.ln2.b"}),
        ({"norm_biases": True, "norm": "none"}, set()),
    ],
)
def test_the_read_out_and_the_norms_can_have_biases_alone(
    options: dict[str, Any], biased: set[str], member: Make
) -> None:
    found = build([member(model=TRANSFORMER | options, task=TASK)], VOCAB)
    assert {name for name in found if name.rpartition(".")[2].startswith("b")} == biased


@pytest.mark.statistical
@pytest.mark.parametrize("rate", [0.3, 0.8])
def test_what_writes_to_the_residual_stream_can_start_smaller(rate: float, member: Make) -> None:
    """Within 5 standard errors, std/√(2n), of fan_in^-γ / √(2 n_layers); all others of fan_in^-γ."""
    options = TRANSFORMER | {"n_layers": 3, "norm": "pre-queries", "scale_residual": True}
    config = member(init_rates=[rate], model=options, task=TASK)
    for name, tensor in build([config], VOCAB).items():
        if tensor.ndim == 2:
            assert bool((tensor == 1).all()), name  # Gains.
            continue
        d_in = tensor.shape[2] if name in ("W_E", "W_pos") else tensor.shape[1]
        std = d_in**-rate / (math.sqrt(6) if name.endswith(("W_O", "W_out")) else 1)
        assert initial_std(config, name, VOCAB) == pytest.approx(std, rel=1e-12)
        assert abs(float(tensor.double().std()) - std) < 5 * std / math.sqrt(2 * tensor.numel()), name


def test_a_matrix_can_have_its_own_rate_in_one_layer_or_in_all(member: Make) -> None:
    config = member(model=TRANSFORMER | {"tensor_init_rates": {"W_Q": 0.3, "1.W_Q": 0.4, "W_U": 0.5}})
    stds = {name: initial_std(config, name, VOCAB) for name in ("0.W_Q", "1.W_Q", "0.W_K", "W_U")}
    expected = {"0.W_Q": D_M**-0.3, "1.W_Q": D_M**-0.4, "0.W_K": D_M**-0.8, "W_U": D_M**-0.5}
    assert stds == pytest.approx(expected)


@pytest.mark.parametrize("model", [ONE_LAYER, TRANSFORMER], ids=lambda m: m["kind"])
def test_a_member_starts_alike_in_any_company(model: dict[str, Any], member: Make) -> None:
    members = [member(model=model, seeds=[s], init_rates=[g]) for s in (0, 5) for g in (0.3, 0.8)]
    together = build(members, 48)
    for index, single in enumerate(members):
        alone = build([single], 48)
        assert all(torch.equal(together[name][index], alone[name][0]) for name in together)
    matrices = [p[0].flatten()[:8] / p[0].std() for p in build(members[:1], 48).values() if p.ndim == 3]
    for i, first in enumerate(matrices):
        assert not any(torch.allclose(first, other, atol=1e-2) for other in matrices[:i])
