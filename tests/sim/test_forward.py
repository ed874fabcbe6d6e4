"""Forward passes of every kind: against plain loops, against the theory, pruned against whole."""

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch

from sim import MemberConfig, build, forward_cache, model_of
from sim.architectures.transformer import transformer
from tests.sim.conftest import small_member
from theory import InputError, OneLayerParameters, one_layer_logits
from theory.edge.arrays import FloatArray

Record = Callable[..., None]
Matrices = dict[str, FloatArray]
SMALL = {"kind": "transformer", "d_m": 8, "d_f": 12, "d_k": 3, "n_heads": 2}
TOKENS = torch.tensor([[[1, 20, 5], [7, 7, 7]], [[25, 3, 2], [4, 6, 21]]])
ONE_LAYER = {"W_emb": "W_E", "W_f1": "0.W_in", "W_f2": "0.W_out"}
ONE_LAYER |= {name: f"0.{name}" for name in ("W_Q", "W_K", "W_V", "W_O")}
SIGMA = {
    "tanh": math.tanh,
    "relu": lambda h: max(h, 0.0),
    "gelu": lambda h: h * 0.5 * (1 + math.erf(h / math.sqrt(2))),
    "identity": lambda h: h,
}


def plain_forward(p: Matrices, tokens: list[int], model: Any) -> tuple[FloatArray, dict[str, Any]]:
    """Return the logits of every position, shape (L, d), and each layer's intermediates by name.

    The Transformer of Appendix A.1 in NumPy, one sequence at a time.
    """
    x, seen, pre = p["W_E"][tokens], dict[str, Any](), model.norm.startswith("pre")
    if "W_pos" in p:
        x = x + p["W_pos"][: len(tokens)]
    for layer in range(model.n_layers):
        own, kept = (
            {n.split(".", 1)[1]: a for n, a in p.items() if n.startswith(f"{layer}.")},
            {"resid_pre": x},
        )
        asking = _norm(x, own, "ln1", model) if pre else x
        mixed, weights, logits = _attend(own, asking, asking if model.norm == "pre" else x, model)
        h = _norm(x + mixed, own, "ln1", model) if model.norm == "post" else x + mixed
        before = _affine(_norm(h, own, "ln2", model) if pre else h, own, "in")
        hidden = np.vectorize(SIGMA[model.activation])(before)
        x = h + _affine(hidden, own, "out")
        kept |= {"attn_out": mixed, "resid_post": x}
        if model.norm == "post":
            x = kept["normalized_resid_post"] = _norm(x, own, "ln2", model)
        seen |= {f"blocks.{layer}.hook_{name}": value for name, value in kept.items()}
        inner = {"attn.hook_pattern": weights, "attn.hook_attn_scores": logits, "mlp.hook_post": hidden}
        seen |= {f"blocks.{layer}.{name}": value for name, value in inner.items()}
    x = _norm(x, p, "ln_final", model) if pre else x
    return _affine(x, p, "U") if "W_U" in p else x, seen


def _attend(p: Matrices, asking: FloatArray, x: FloatArray, model: Any) -> tuple[FloatArray, ...]:
    """Return the output, the weights and their logits, −∞ for later places: both (H, L, L)."""
    rows = (_affine(asking, p, "Q"), _affine(x, p, "K"), _affine(x, p, "V"))
    q, k, v = (np.stack(np.split(row, model.n_heads, axis=-1)) for row in rows)
    logits = np.where(np.tri(len(x)) > 0, q @ k.swapaxes(1, 2) / math.sqrt(model.d_k), -math.inf)
    weights = np.exp(logits) / np.exp(logits).sum(-1, keepdims=True)
    return _affine(np.concatenate(list(weights @ v), axis=-1), p, "O"), weights, logits


def _affine(x: FloatArray, p: Matrices, letter: str) -> FloatArray:
    return np.asarray(x @ p[f"W_{letter}"] + p.get(f"b_{letter}", 0))


def _norm(x: FloatArray, p: Matrices, name: str, model: Any) -> FloatArray:
    normed = (x - x.mean(-1, keepdims=True)) / np.sqrt(x.var(-1, keepdims=True) + model.norm_epsilon)
    return np.asarray(normed * p[f"{name}.w"] + p.get(f"{name}.b", 0))


def _parameters(model: dict[str, Any]) -> tuple[MemberConfig, dict[str, torch.Tensor]]:
    """Two members' parameters of order one; biases and gains are moved off their constants."""
    members = [small_member(seeds=[s], dtype="float64", init_rates=[0.2], model=model) for s in (0, 1)]
    generator = torch.Generator().manual_seed(3)
    parameters = build(members)
    for value in parameters.values():
        if value.ndim == 2:
            value.add_(torch.randn(value.shape, generator=generator, dtype=torch.float64) / 2)
    return members[0], parameters


@pytest.mark.parametrize("activation", SIGMA)
def test_emb_mlp_written_out(activation: Any) -> None:
    """Definition 1 by a loop over members, sequences and tokens; a repeated token counts twice."""
    config, p = _parameters({"d_m": 8, "d_f": 12, "activation": activation})
    found, sigma = model_of(config.model).logits(p, TOKENS), np.vectorize(SIGMA[activation])
    for m in range(2):
        for b in range(2):
            w = sum(p["W_emb"][m, t] for t in TOKENS[m, b].tolist()).numpy()
            logits = sigma(w @ p["W1"][m].numpy()) @ p["W2"][m].numpy()
            np.testing.assert_allclose(found[m, b], logits, rtol=1e-12, atol=1e-14)


@pytest.mark.parametrize("wrong", [-1, 48])
def test_a_token_outside_the_vocabulary_is_named(wrong: int) -> None:
    config, parameters = _parameters(SMALL)
    with pytest.raises(InputError) as refused:
        forward_cache(parameters, torch.tensor([[[1, wrong, 20]]] * 2), config.model)  # type: ignore[arg-type]
    assert (refused.value.argument, refused.value.value) == ("tokens", wrong)


@pytest.mark.parametrize("biases", [False, True])
@pytest.mark.parametrize("n_heads", [1, 2])
@pytest.mark.parametrize("norm", ["post", "pre", "pre-queries", "none"])
def test_forward_pass_written_out(norm: str, n_heads: int, biases: bool, record_error: Record) -> None:
    """Appendix A.1 by loops over members, sequences and layers; logits and every intermediate.

    Doubles, a few hundred operations deep: 1e-12 leaves four digits to rounding.
    """
    activation = {"post": "relu", "pre": "gelu", "pre-queries": "gelu", "none": "tanh"}[norm]
    positions = "none" if norm == "none" else "learned"
    model = SMALL | {"norm": norm, "n_heads": n_heads, "biases": biases, "activation": activation}
    config, parameters = _parameters(model | {"positions": positions})
    found = forward_cache(parameters, TOKENS, config.model)  # type: ignore[arg-type]
    assert found["logits"].shape == (2, 2, 3, 48)
    for m in range(2):
        own = {n: p[m].numpy() for n, p in parameters.items()}
        for b in range(2):
            logits, seen = plain_forward(own, TOKENS[m, b].tolist(), config.model)
            np.testing.assert_allclose(found["logits"][m, b], logits, rtol=1e-12, atol=1e-12)
            error = np.abs(found["logits"][m, b].numpy() - logits).max() / np.abs(logits).max()
            record_error("eq. 2", error)
            assert found.keys() == {"logits", *seen}
            for name, value in seen.items():
                np.testing.assert_allclose(found[name][m, b], value, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("activation", ["tanh", "identity"])
def test_definition_2_is_that_of_the_theory(activation: str, record_error: Record) -> None:
    model = {"kind": "one-layer", "d_f": 12, "d_k": 3, "activation": activation}
    config, parameters = _parameters(model)
    found = model_of(config.model).logits(parameters, TOKENS)
    for m in range(2):
        theirs = OneLayerParameters(**{a: parameters[b][m].numpy() for a, b in ONE_LAYER.items()})
        expected = one_layer_logits(theirs, TOKENS[m].numpy(), activation=activation)  # type: ignore[arg-type]
        record_error("eq. 9", np.abs(found[m].numpy() - expected).max() / np.abs(expected).max(), below=1e-13)


@pytest.mark.parametrize("norm", ["post", "pre", "pre-queries", "none"])
def test_pruning_changes_neither_logits_nor_gradients(norm: str) -> None:
    config, parameters = _parameters(SMALL | {"norm": norm, "biases": True, "n_layers": 3})
    for value in parameters.values():
        value.requires_grad_(True)
    model: Any = config.model
    pruned = transformer(parameters, TOKENS, model)
    whole = transformer(parameters, TOKENS, model, every_position=True)[:, :, -1]
    torch.testing.assert_close(pruned, whole, rtol=1e-12, atol=1e-12)
    tensors = list(parameters.values())
    of_pruned, of_whole = (torch.autograd.grad(x.square().sum(), tensors) for x in (pruned, whole))
    # A bias of the keys shifts all logits of a row alike: its gradient is zero up to the others' rounding.
    largest = max(float(g.abs().max()) for g in of_whole)
    for a, b in zip(of_pruned, of_whole, strict=True):
        assert float((a - b).abs().max()) < 1e-12 * largest
