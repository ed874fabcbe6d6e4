"""Derivatives by hand against autograd's, for every kind of model and every option that changes them."""

from typing import Any, Literal

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor

from sim import MemberConfig, RunConfig, Trainer, register_model
from sim.architectures.emb_mlp import EmbMLP
from sim.architectures.transformer import transformer
from sim.config.model import EmbMLPConfig, ModelConfig
from sim.fast import gradients_of
from sim.models.base import model_of
from sim.models.initial import build
from sim.models.layers import Parameters
from tests.sim.conftest import NOISY_TASK, small_member

SIZES = {"d_m": 12, "d_f": 14}
VOCABULARY = 48

emb_mlp = st.fixed_dictionaries(
    {"kind": st.just("emb-mlp"), "activation": st.sampled_from(["tanh", "relu", "gelu", "identity"])}
).map(lambda own: SIZES | own)
one_layer = st.fixed_dictionaries(
    {"kind": st.just("one-layer"), "activation": st.sampled_from(["tanh", "relu", "gelu"])}
).map(lambda own: {"d_f": 14, "d_k": 5} | own)


def transformers(norm: str) -> st.SearchStrategy[dict[str, Any]]:
    return st.fixed_dictionaries(
        {
            "activation": st.sampled_from(["tanh", "relu", "gelu", "identity"]),
            "biases": st.booleans(),
            "norm_biases": st.booleans(),
            "read_out_bias": st.booleans(),
            "bias_scale": st.sampled_from([0.0, 1.0]),
            "n_heads": st.integers(1, 3),
            "n_layers": st.integers(1, 3),
            "positions": st.sampled_from(["learned", "none"]),
            "loss": st.sampled_from(["last-token", "next-token"]),
        }
    ).map(lambda own: SIZES | {"kind": "transformer", "norm": norm, "d_k": 5} | own)


NORMS = ("post", "pre", "pre-queries", "none")
MODELS = {"emb-mlp": emb_mlp, "one-layer": one_layer} | {norm: transformers(norm) for norm in NORMS}


def of_model(model: dict[str, Any], seed: int = 0) -> MemberConfig:
    """Return a member on sequences of five tokens, in float64."""
    task = NOISY_TASK | {"length": 5}
    return small_member(task=task, model=model, init_rates=[0.4], seeds=[seed], dtype="float64")


def member_losses(parameters: Parameters, tokens: Tensor, labels: Tensor, model: ModelConfig) -> Tensor:
    """Return each member's mean cross entropy in nats, shape (M,).

    Of the labels, shape (M, batch); with ``loss = "next-token"`` of every next token too, the label being
    what comes after the last.
    """
    if model.loss == "next-token" and not isinstance(model, EmbMLPConfig):  # type: ignore[attr-defined]
        logits = transformer(parameters, tokens, model, every_position=True)
        targets = torch.cat([tokens[..., 1:], labels[..., None]], dim=-1)
    else:
        logits, targets = model_of(model).logits(parameters, tokens), labels
    each = torch.nn.functional.cross_entropy(logits.flatten(0, -2), targets.flatten(), reduction="none")
    return each.view(len(tokens), -1).mean(dim=1)


@pytest.mark.parametrize("kind", MODELS)
@settings(max_examples=20)
@given(st.data(), st.integers(1, 3), st.integers(1, 9), st.sampled_from([2, 5]), st.integers(0, 1000))
def test_gradients_are_autograds(
    kind: str, data: st.DataObject, n_members: int, batch: int, length: int, seed: int
) -> None:
    """Both in float64: sums of some hundred terms, whose rounding stays well below 1e-12 of the largest.

    Two tokens are fewer than the model has positions.
    """
    model = data.draw(MODELS[kind])
    member = of_model(model, seed)
    parameters = build([member] * n_members, VOCABULARY)
    generator = torch.Generator().manual_seed(seed)
    for value in parameters.values():  # So that gains, biases and members differ.
        value.add_(torch.randn(value.shape, generator=generator, dtype=value.dtype), alpha=0.1)
    tokens = torch.randint(VOCABULARY, (n_members, batch, length), generator=generator)
    labels = torch.randint(VOCABULARY, (n_members, batch), generator=generator)
    losses, gradients = gradients_of(member.model)(parameters, tokens, labels)
    for value in parameters.values():
        value.requires_grad_(True)
    expected = member_losses(parameters, tokens, labels, member.model)
    by_autograd = torch.autograd.grad(expected.sum(), list(parameters.values()))
    torch.testing.assert_close(losses, expected.detach(), rtol=1e-12, atol=0)
    assert list(gradients) == list(parameters)
    largest = max(float(g.abs().max()) for g in by_autograd)
    for name, theirs in zip(parameters, by_autograd, strict=True):
        assert float((gradients[name] - theirs).abs().max()) < 1e-12 * largest, name
        # torch's fused optimisers read gradients as they lie in memory.
        assert gradients[name].is_contiguous(), name


class Colder(EmbMLP):
    def logits(self, parameters: Parameters, tokens: Tensor) -> Tensor:
        return 3 * super().logits(parameters, tokens)


class ColderConfig(EmbMLPConfig):
    kind: Literal["colder"] = "colder"  # type: ignore[assignment]


register_model(ColderConfig, Colder)


def test_a_model_derived_from_another_does_not_take_its_gradients() -> None:
    section, member = ColderConfig(d_m=12, d_f=14), of_model(SIZES | {"kind": "emb-mlp"})
    batch = build([member], VOCABULARY), torch.arange(15).view(1, 3, 5), torch.tensor([[1, 2, 3]])
    losses, gradients = gradients_of(section)(*batch)
    expected = model_of(section).losses_and_gradients(*batch)
    assert torch.equal(losses, expected[0])
    assert all(torch.equal(gradients[name], g) for name, g in expected[1].items())
    assert not torch.allclose(losses, gradients_of(member.model)(*batch)[0])


@pytest.mark.parametrize("norm", ["pre", "post", "none"])
@pytest.mark.parametrize("init_rate", [0.3, 0.8])
def test_float32_gradients_are_as_accurate_as_autograds(norm: str, init_rate: float) -> None:
    """At the paper's sizes, against float64: summing in another order may cost a bit or two, not a digit."""
    trainer = Trainer(
        RunConfig(
            model={"kind": "transformer", "norm": norm},  # type: ignore[arg-type]
            task="paper",
            data={"source": "draw", "n_sequences": 400},  # type: ignore[arg-type]
            init_rates=(init_rate,),
        ).members()
    )
    tokens, labels = trainer.batches.at(0)
    exact = {name: p.double() for name, p in trainer.parameters.items()}
    expected = gradients_of(trainer.model)(exact, tokens, labels)[1]
    ours = gradients_of(trainer.model)(trainer.parameters, tokens, labels)[1]
    for value in trainer.parameters.values():
        value.requires_grad_(True)
    losses = member_losses(trainer.parameters, tokens, labels, trainer.model)
    theirs = torch.autograd.grad(losses.sum(), list(trainer.parameters.values()))
    for (name, gradient), other in zip(expected.items(), theirs, strict=True):
        errors = [float((g.double() - gradient).abs().max()) for g in (ours[name], other)]
        assert errors[0] < 10 * errors[1], name
