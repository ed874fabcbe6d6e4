"""Initial parameters of every kind of model: names, shapes, the scale of every tensor, streams."""

import math
from typing import Any

import pytest

from sim import build
from sim.models.initial import initial_std, tensor_specs
from tests.sim.conftest import SMALL_TASK, small_member

D_M, D_F, D_K, HEADS, VOCAB, LENGTH = 90, 110, 35, 2, 130, 60
TASK = SMALL_TASK | {"length": LENGTH, "vocab_size": VOCAB}
TEXT = {"corpora": [{"name": "a", "files": ["a.txt"]}], "n_sequences": 1}
TEXT |= {"length": LENGTH, "vocab_size": VOCAB}
TRANSFORMER = {"kind": "transformer", "d_m": D_M, "d_f": D_F, "d_k": D_K, "n_heads": HEADS}
GPT2 = {"kind": "gpt2", "d_m": D_M, "n_heads": HEADS, "n_layers": 2}
MODELS: list[dict[str, Any]] = [
    {"kind": "emb-mlp", "d_m": D_M, "d_f": D_F},
    {"kind": "one-layer", "d_f": D_F, "d_k": D_K},
    TRANSFORMER | {"n_layers": 1, "norm": "none"},
    TRANSFORMER | {"norm": "pre", "biases": True},
    TRANSFORMER | {"norm": "pre-queries", "norm_biases": True, "n_layers": 3, "scale_residual": True},
    TRANSFORMER | {"n_layers": 1, "biases": True, "bias_scale": 0.5},
    TRANSFORMER | {"read_out_bias": True, "tensor_init_rates": {"W_Q": 0.6, "1.W_Q": 0.4, "W_U": 0.5}},
    GPT2,
]


def expected_tensors(model: dict[str, Any]) -> dict[str, tuple[tuple[int, ...], int]]:
    """Return each tensor's shape and fan-in, 0 for a constant, as the paper's equations have them."""
    kind = model["kind"]
    d_m = VOCAB if kind == "one-layer" else D_M
    if kind == "emb-mlp":
        return {"W_emb": ((VOCAB, d_m), d_m), "W1": ((d_m, D_F), d_m), "W2": ((D_F, VOCAB), D_F)}
    n_layers = model.get("n_layers", 1 if kind == "one-layer" else 2)
    norm = model.get("norm", {"one-layer": "none", "gpt2": "pre"}.get(kind, "post"))
    biases = model.get("biases", kind == "gpt2")
    d_heads, d_f = (d_m, 4 * d_m) if kind == "gpt2" else (D_K * model.get("n_heads", 1), D_F)
    maps = {"Q": (d_m, d_heads), "K": (d_m, d_heads), "V": (d_m, d_heads), "O": (d_heads, d_m)}
    maps |= {"in": (d_m, d_f), "out": (d_f, d_m)}
    found: dict[str, tuple[tuple[int, ...], int]] = {"W_E": ((VOCAB, d_m), d_m)}
    linear = {f"{layer}.W_{name}": shape for layer in range(n_layers) for name, shape in maps.items()}
    if kind != "one-layer":
        found["W_pos"] = ((LENGTH, d_m), d_m)
    if kind == "transformer":
        linear["W_U"] = (d_m, VOCAB)
    for name, shape in linear.items():
        found[name] = (shape, shape[0])
        if biases or (name == "W_U" and model.get("read_out_bias")):
            found[name.replace("W_", "b_")] = (shape[1:], shape[0] if model.get("bias_scale") else 0)
    norms = [f"{layer}.{ln}" for layer in range(n_layers) for ln in ("ln1", "ln2") if norm != "none"]
    norms += ["ln_final"] * norm.startswith("pre")
    for name in norms:
        found[f"{name}.w"] = ((d_m,), 0)
        if biases or model.get("norm_biases"):
            found[f"{name}.b"] = ((d_m,), 0)
    return found


@pytest.mark.statistical
@pytest.mark.parametrize("convention", ["d_m", "d_vob"])
@pytest.mark.parametrize("rate", [0.3, 0.8])
@pytest.mark.parametrize("model", MODELS, ids=lambda m: "-".join(map(str, m.values())))
def test_no_tensor_escapes_its_initial_scale(model: dict[str, Any], rate: float, convention: str) -> None:
    """Within 5 standard errors, std/√(2n), of fan_in^-γ, and of a mean of zero; gains one, biases zero."""
    task = TEXT if model["kind"] == "gpt2" else TASK
    config = small_member(init_rates=[rate], task=task, model=model | {"embedding_fan_in": convention})
    expected, found = expected_tensors(model), build([config])
    specs = tensor_specs(config)
    assert set(found) == set(expected)
    rates = model.get("tensor_init_rates", {})
    for name, tensor in found.items():
        shape, fan_in = expected[name]
        kind = name.rpartition(".")[2]
        assert tensor.shape == (1, *shape)
        if not fan_in:
            assert (tensor == float(kind == "w")).all()
            assert initial_std(config, name, specs[name]) == 0
            continue
        if name in ("W_E", "W_emb", "W_pos") and convention == "d_vob":
            fan_in = shape[0]
        std = fan_in ** -rates.get(name, rates.get(kind, rate))
        if model.get("scale_residual") and kind in ("W_O", "W_out"):
            std /= math.sqrt(2 * model["n_layers"])
        if kind.startswith("b_"):  # Uniform within their own scale, whatever γ is.
            std = model["bias_scale"] / math.sqrt(3 * fan_in)
            assert float(tensor.abs().max()) <= math.sqrt(3) * std
        assert initial_std(config, name, specs[name]) == pytest.approx(std, rel=1e-12)
        assert abs(float(tensor.double().std()) - std) < 5 * std / math.sqrt(2 * tensor.numel())
        assert abs(float(tensor.double().mean())) < 5 * std / math.sqrt(tensor.numel())
