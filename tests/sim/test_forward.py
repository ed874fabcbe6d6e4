"""Forward passes of every kind: against plain loops, against the theory, pruned against whole."""

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch

from sim import MemberConfig, attention_pattern, build, forward_cache, model_of
from sim.architectures.transformer import transformer
from tests.sim.conftest import small_member
from theory import InputError, OneLayerParameters, one_layer_logits
from theory.edge.arrays import FloatArray

Record = Callable[..., None]
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


def plain_forward(
    p: dict[str, FloatArray], tokens: list[int], model: Any
) -> tuple[FloatArray, dict[str, Any]]:
    """Return the logits of every position, shape (L, d), and each layer's attention and its logits.

    The Transformer of Appendix A.1 written out, one sequence, one position and one head at a time.
    """
    rows = [p["W_E"][t] + (p["W_pos"][i] if "W_pos" in p else 0) for i, t in enumerate(tokens)]
    seen: dict[str, Any] = {}
    for layer in range(model.n_layers):
        own = {n.split(".", 1)[1]: a for n, a in p.items() if n.startswith(f"{layer}.")}
        normed = [_norm(x, own, "ln1", model) if model.norm.startswith("pre") else x for x in rows]
        seen_by_keys = normed if model.norm == "pre" else rows
        mixed, seen[f"{layer}.attention"], seen[f"{layer}.attention_logits"] = _attend(
            own, normed, seen_by_keys, model
        )
        rows = [_after_attention(own, x, m, model) for x, m in zip(rows, mixed, strict=True)]
    if model.norm.startswith("pre"):
        rows = [_norm(x, p, "ln_final", model) for x in rows]
    if "W_U" in p:
        rows = [_affine(x, p, "U") for x in rows]
    return np.array(rows), seen


def _attend(
    p: dict[str, FloatArray], asking: list[FloatArray], x: list[FloatArray], model: Any
) -> tuple[list[FloatArray], Any, Any]:
    places, width = len(x), model.d_k
    weights = np.zeros((model.n_heads, places, places))
    logits = np.full_like(weights, -math.inf)
    mixed = np.zeros((places, model.n_heads * width))
    for head in range(model.n_heads):
        own = slice(head * width, (head + 1) * width)
        q = [_affine(y, p, "Q")[own] for y in asking]
        k, v = ([_affine(y, p, letter)[own] for y in x] for letter in "KV")
        for i in range(places):
            for j in range(i + 1):
                logits[head, i, j] = sum(a * b for a, b in zip(q[i], k[j], strict=True)) / math.sqrt(width)
            total = sum(math.exp(logits[head, i, j]) for j in range(i + 1))
            for j in range(i + 1):
                weights[head, i, j] = math.exp(logits[head, i, j]) / total
                mixed[i, own] += weights[head, i, j] * v[j]
    return [_affine(row, p, "O") for row in mixed], weights, logits


def _affine(x: FloatArray, p: dict[str, FloatArray], letter: str) -> FloatArray:
    return np.asarray(x @ p[f"W_{letter}"] + p.get(f"b_{letter}", 0))


def _after_attention(p: dict[str, FloatArray], x: FloatArray, mixed: FloatArray, model: Any) -> FloatArray:
    h = x + mixed
    if model.norm == "post":
        h = _norm(h, p, "ln1", model)
    given = _norm(h, p, "ln2", model) if model.norm.startswith("pre") else h
    hidden = np.array([SIGMA[model.activation](z) for z in _affine(given, p, "in")])
    out = h + _affine(hidden, p, "out")
    return _norm(out, p, "ln2", model) if model.norm == "post" else out


def _norm(x: FloatArray, p: dict[str, FloatArray], name: str, model: Any) -> FloatArray:
    mean = sum(x) / len(x)
    variance = sum((a - mean) ** 2 for a in x) / len(x)
    normed = (x - mean) / math.sqrt(variance + model.norm_epsilon)
    return np.asarray(normed * p[f"{name}.w"] + p.get(f"{name}.b", 0))


def _parameters(model: dict[str, Any]) -> tuple[MemberConfig, dict[str, torch.Tensor]]:
    """Two members' parameters of order one; biases and gains are moved off their constants."""
    members = [small_member(seeds=[s], dtype="float64", init_rates=[0.2], model=model) for s in (0, 1)]
    generator = torch.Generator().manual_seed(3)
    parameters = build(members, 48)
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
    """Appendix A.1 by loops over members, sequences, places and heads; logits, attention and its logits.

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
            assert set(seen) == set(attention_pattern(parameters, TOKENS, config.model))  # type: ignore[arg-type]
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
