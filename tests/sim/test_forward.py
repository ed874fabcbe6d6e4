"""Forward passes of every kind: against plain loops, against the theory, pruned against whole."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from sim import MemberConfig, attention_pattern, build, emb_mlp, forward_cache, label_logits
from sim.models.base import model_of
from sim.models.transformer import transformer
from tests.sim.conftest import SMALL_TASK, small_member
from tests.sim.plain_transformer import SIGMA, plain_forward
from theory import InputError, OneLayerParameters, attention_logit_std, one_layer_logits

Record = Callable[..., None]
SMALL = {"kind": "transformer", "d_m": 8, "d_f": 12, "d_k": 3, "n_heads": 2}
TOKENS = torch.tensor([[[1, 20, 5], [7, 7, 7]], [[25, 3, 2], [4, 6, 21]]])
ONE_LAYER = {"W_emb": "W_E", "W_f1": "0.W_in", "W_f2": "0.W_out"}
ONE_LAYER |= {name: f"0.{name}" for name in ("W_Q", "W_K", "W_V", "W_O")}


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
    found, sigma = emb_mlp(p, TOKENS, activation), np.vectorize(SIGMA[activation])
    labels = torch.tensor([[30, 31], [32, 33]])
    for m in range(2):
        total = 0.0
        for b in range(2):
            w = sum(p["W_emb"][m, t] for t in TOKENS[m, b].tolist()).numpy()
            logits = sigma(w @ p["W1"][m].numpy()) @ p["W2"][m].numpy()
            np.testing.assert_allclose(found[m, b], logits, rtol=1e-12, atol=1e-14)
            total += np.log(np.exp(logits).sum()) - logits[int(labels[m, b])]
        own = {name: value[m : m + 1] for name, value in p.items()}
        scores = model_of(config.model).scores(own, TOKENS[m : m + 1], labels[m : m + 1])
        assert scores.loss == pytest.approx(total, rel=1e-12)
        assert scores.n == 2


@pytest.mark.parametrize("wrong", [-1, 48])
def test_a_token_outside_the_vocabulary_is_named(wrong: int) -> None:
    config = small_member()
    with pytest.raises(InputError) as refused:
        label_logits(build([config], 48), torch.tensor([[[1, wrong, 20]]]), config.model)
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
    found = label_logits(parameters, TOKENS, config.model)
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


@given(st.lists(st.integers(0, 47), min_size=6, max_size=6), st.integers(1, 5))
def test_no_place_sees_what_comes_later(tokens: list[int], place: int) -> None:
    config = small_member(model=SMALL, task=SMALL_TASK | {"length": 6}, init_rates=[0.2], dtype="float64")
    parameters = build([config], 48)
    changed = [t if i < place else (t + 1) % 48 for i, t in enumerate(tokens)]
    pair = torch.tensor([[tokens, changed]])
    logits = transformer(parameters, pair, config.model, every_position=True)[0]  # type: ignore[arg-type]
    assert torch.equal(logits[0, :place], logits[1, :place])
    assert not torch.equal(logits[0, place], logits[1, place])


@pytest.mark.statistical
@pytest.mark.parametrize(("positions", "source"), [("none", "embedding"), ("learned", "position")])
def test_attention_logits_start_as_lemma_1_says(positions: str, source: str) -> None:
    """Root mean square of the first layer's logits between different tokens over 300 drawn models.

    Predicted d_m^(1−4γ), twice that with positions; interval: 4 standard errors over models.
    """
    task = SMALL_TASK | {"length": 5}
    model = {"kind": "transformer", "d_m": 40, "d_f": 4, "d_k": 16, "n_layers": 1, "positions": positions}
    members = [
        small_member(seeds=[s], init_rates=[0.6], dtype="float64", model=model, task=task) for s in range(300)
    ]
    parameters = build(members, 48)
    tokens = torch.arange(20, 25).expand(300, 1, 5)
    logits = attention_pattern(parameters, tokens, members[0].model)["0.attention_logits"]  # type: ignore[arg-type]
    rows, columns = torch.tril_indices(5, 5, -1)
    squares = logits[:, 0, 0, rows, columns].square().mean(dim=1)
    expected = attention_logit_std(40, 0.6, source=source) ** 2  # type: ignore[arg-type]
    error = float(squares.std()) / np.sqrt(300)
    assert abs(float(squares.mean()) - expected) < 4 * error
    # A negative control: the other source's value lies far outside.
    other = attention_logit_std(40, 0.6, source="position" if source == "embedding" else "embedding") ** 2
    assert abs(float(squares.mean()) - other) > 4 * error
