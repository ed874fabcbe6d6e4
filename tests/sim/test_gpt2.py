"""GPT-2: Hugging Face's logits from the same weights, padding, the loss."""

from typing import Any

import pytest
import torch
from torch import Tensor

from sim import GPT2Config, model_of
from sim.architectures.gpt2 import GPT2
from sim.fast import gradients_of
from sim.fast.gpt2 import tied_gradients

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
        gradients_of(model.section)(p, tokens, labels),
        model.losses_and_gradients(p, tokens, labels),
    ):
        torch.testing.assert_close(losses, expected.detach(), rtol=1e-12, atol=0)
        assert list(found) == list(p)
        for (name, gradient), other in zip(found.items(), wanted, strict=True):
            torch.testing.assert_close(gradient, other, rtol=1e-9, atol=1e-13, msg=name)
            assert gradient.is_contiguous(), name


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
