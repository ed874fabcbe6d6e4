"""Derivatives by hand against autograd's, for every kind of model; GPT-2's logits and loss."""

from typing import Any, Literal, cast

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor

from sim import GPT2Config, MemberConfig, RunConfig, Trainer, register_model
from sim.architectures.emb_mlp import EmbMLP
from sim.architectures.gpt2 import GPT2
from sim.config.model import EmbMLPConfig
from sim.fast.gpt2 import tied_gradients
from sim.fast.layers import emb_mlp as by_hand
from sim.models.base import _REGISTERED, model_of
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
    parameters = build([member] * n_members)
    generator = torch.Generator().manual_seed(seed)
    for value in parameters.values():  # So that gains, biases and members differ.
        value.add_(torch.randn(value.shape, generator=generator, dtype=value.dtype), alpha=0.1)
    tokens = torch.randint(VOCABULARY, (n_members, batch, length), generator=generator)
    labels = torch.randint(VOCABULARY, (n_members, batch), generator=generator)
    losses, gradients = model_of(member.model).gradients(parameters, tokens, labels)
    expected, by_autograd = model_of(member.model).by_autograd(parameters, tokens, labels)
    torch.testing.assert_close(losses, expected, rtol=1e-12, atol=0)
    assert list(gradients) == list(parameters)
    largest = max(float(g.abs().max()) for g in by_autograd.values())
    for name, theirs in by_autograd.items():
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
    batch = build([member]), torch.arange(15).view(1, 3, 5), torch.tensor([[1, 2, 3]])
    losses, gradients = model_of(section).gradients(*batch)
    expected = model_of(section).by_autograd(*batch)
    assert torch.equal(losses, expected[0])
    assert all(torch.equal(gradients[name], g) for name, g in expected[1].items())
    assert not torch.allclose(losses, model_of(member.model).gradients(*batch)[0])


def test_gradients_of_ones_own_may_lie_in_memory_as_they_like(monkeypatch: pytest.MonkeyPatch) -> None:
    def transposed(*of_batch: Any) -> tuple[Tensor, Parameters]:
        losses, gradients = by_hand(*of_batch)
        return losses, {name: g.mT.contiguous().mT for name, g in gradients.items()}

    trainers, registered = list[Trainer](), cast(Any, _REGISTERED)
    for gradients in (by_hand, transposed):
        monkeypatch.setitem(registered, EmbMLPConfig, (EmbMLP, gradients))
        trainers.append(Trainer([of_model(SIZES | {"kind": "emb-mlp"})]))
        trainers[-1].advance(3)
    one, other = trainers
    for name, weight in one.parameters.items():
        assert torch.equal(other.parameters[name], weight), name


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
    expected = model_of(trainer.model).gradients(exact, tokens, labels)[1]
    ours = model_of(trainer.model).gradients(trainer.parameters, tokens, labels)[1]
    theirs = model_of(trainer.model).by_autograd(trainer.parameters, tokens, labels)[1]
    for name, gradient in expected.items():
        errors = [float((found[name].double() - gradient).abs().max()) for found in (ours, theirs)]
        assert errors[0] < 10 * errors[1], name


SMALL = {"kind": "gpt2", "n_layers": 2, "n_heads": 2, "d_m": 16}
V, L = 50, 12


def _model(**options: Any) -> GPT2:
    found = model_of(GPT2Config(**(SMALL | options)))
    assert isinstance(found, GPT2)
    return found


def _parameters(model: GPT2, members: int = 1) -> dict[str, Tensor]:
    """Return arbitrary values for every tensor, gains and biases too."""
    generator = torch.Generator().manual_seed(0)
    shapes = {name: (members, *spec.shape) for name, spec in model.specs(V, L).items()}
    return {n: torch.randn(s, generator=generator, dtype=torch.float64) / 3 for n, s in shapes.items()}


def _padded(*lengths: int, members: int = 1) -> Tensor:
    """Return sequences of some lengths, labels included, padded to the context and its label."""
    found = torch.randint(V, (members, len(lengths), L + 1), generator=torch.Generator().manual_seed(1))
    for row, length in enumerate(lengths):
        found[:, row, length:] = -1
    return found


def _every_logit(model: GPT2, p: dict[str, Tensor], tokens: Tensor) -> Tensor:
    """Return the logits of every position, shape (M, B, L, d)."""
    return model.hidden(p, tokens) @ p["W_E"].mT[:, None]


@pytest.mark.long  # Loading the library takes ten seconds.
def test_the_logits_are_those_of_hugging_face() -> None:
    transformers = pytest.importorskip("transformers", reason="needs the extra anchorflow[language]")
    model = _model()
    p = _parameters(model)
    config = transformers.GPT2Config(
        vocab_size=V, n_positions=L, n_embd=16, n_layer=2, n_head=2, resid_pdrop=0, embd_pdrop=0, attn_pdrop=0
    )
    theirs = transformers.GPT2LMHeadModel(config).double().eval()
    theirs.load_state_dict(_as_hugging_face(p))
    tokens = torch.randint(V, (3, L), generator=torch.Generator().manual_seed(2))
    with torch.no_grad():
        expected = theirs(tokens).logits
        torch.testing.assert_close(_every_logit(model, p, tokens[None])[0], expected, rtol=0, atol=1e-12)
        torch.testing.assert_close(model.logits(p, tokens[None])[0], expected[:, -1], rtol=0, atol=1e-12)


def _as_hugging_face(p: dict[str, Tensor]) -> dict[str, Tensor]:
    """Return the state of ``GPT2LMHeadModel``, whose attention is one packed projection."""
    own = {name: tensor[0] for name, tensor in p.items()}
    parts = {"attn.c_proj": "O", "mlp.c_fc": "in", "mlp.c_proj": "out"}
    found = {"wte.weight": own["W_E"], "wpe.weight": own["W_pos"]}
    for ours, theirs, kind in (("W", "weight", "w"), ("b", "bias", "b")):
        for i in range(2):
            packed = torch.cat([own[f"{i}.{ours}_{name}"] for name in "QKV"], dim=-1)
            found[f"h.{i}.attn.c_attn.{theirs}"] = packed
            found |= {f"h.{i}.{part}.{theirs}": own[f"{i}.{ours}_{name}"] for part, name in parts.items()}
            found |= {f"h.{i}.ln_{n}.{theirs}": own[f"{i}.ln{n}.{kind}"] for n in (1, 2)}
        found[f"ln_f.{theirs}"] = own[f"ln_final.{kind}"]
    return {f"transformer.{name}": tensor for name, tensor in found.items()} | {"lm_head.weight": own["W_E"]}


def test_padding_changes_nothing() -> None:
    """A padded sequence's loss is that of its own tokens, whatever is beside it in the batch."""
    model = _model()
    p = _parameters(model)
    whole = _padded(13, 11, 9, 7, 5)
    tokens, labels = whole[..., :-1], whole[..., -1]
    total, n = 0.0, 0
    for row in whole[0]:
        real = row[row >= 0]
        logits = _every_logit(model, p, real[None, None, :-1])[0, 0]
        total += float(torch.nn.functional.cross_entropy(logits, real[1:], reduction="sum"))
        n += len(real) - 1
    assert float(model.losses(p, tokens, labels)) == pytest.approx(total / n, rel=1e-12)
    scores = model.scores(p, tokens, labels)
    assert scores.n == n == 12 + 10 + 8 + 6 + 4
    assert scores.loss == pytest.approx(total, rel=1e-12)
    found, short = (model.logits(p, part) for part in (tokens, tokens[:, 4:, :5]))
    torch.testing.assert_close(found[:, 4:], short, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("members", [1, 2])
@pytest.mark.parametrize("lengths", [(13, 13, 13), (13, 2, 7), (6, 4, 3)])
def test_gradients_are_those_of_each_members_plain_loss(members: int, lengths: tuple[int, ...]) -> None:
    """Written out and by autograd: full sequences, padded ones, and a batch shorter than the context."""
    model = _model(n_heads=4)
    p = _parameters(model, members)
    whole = _padded(*lengths, members=members)
    tokens, labels = whole[..., :-1], whole[..., -1]
    own = {name: tensor.clone().requires_grad_() for name, tensor in p.items()}
    logits = _every_logit(model, own, tokens).flatten(1, 2)
    targets = whole[..., 1:].flatten(1)
    loss = torch.nn.functional.cross_entropy
    expected = torch.stack([loss(*pair, ignore_index=-1) for pair in zip(logits, targets, strict=True)])
    wanted = torch.autograd.grad(expected.sum(), list(own.values()))
    for losses, found in (
        model_of(model.section).gradients(p, tokens, labels),
        model.by_autograd(p, tokens, labels),
    ):
        torch.testing.assert_close(losses, expected.detach(), rtol=1e-12, atol=0)
        assert list(found) == list(p)
        for (name, gradient), other in zip(found.items(), wanted, strict=True):
            torch.testing.assert_close(gradient, other, rtol=1e-9, atol=1e-13, msg=name)


def test_the_tied_loss_in_blocks_is_cross_entropy(monkeypatch: pytest.MonkeyPatch) -> None:
    """Blocks of 3 of 7 positions; logits up to 300, whose exponentials overflow unless they are shifted."""
    monkeypatch.setattr("sim.fast.gpt2._ENTRIES", 3 * V)
    generator = torch.Generator().manual_seed(0)
    x, table = (10 * torch.randn(n, 8, generator=generator) for n in (7, V))
    targets = torch.randint(V, (7,), generator=generator)
    loss, *found = tied_gradients(x, table, targets)
    x, table = x.requires_grad_(), table.requires_grad_()
    expected = torch.nn.functional.cross_entropy((x @ table.T).double(), targets)
    assert float(loss) == pytest.approx(float(expected.detach()), rel=1e-6)
    for ours, theirs in zip(found, torch.autograd.grad(expected, [x, table]), strict=True):
        torch.testing.assert_close(ours, theirs, rtol=1e-4, atol=1e-4)
