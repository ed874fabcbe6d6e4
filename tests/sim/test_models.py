"""The Emb-MLP: initial scales, the leading member axis, and the forward pass written out plainly."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import pytest
import torch

from sim import MemberConfig, RunConfig, build, emb_mlp, initial_std, label_logits
from sim.models.base import model_of
from sim.models.layers import ACTIVATIONS
from theory import InputError

PLAIN = {
    "tanh": torch.tanh,
    "identity": lambda h: h,
    "relu": lambda h: h.clamp(min=0),
    "gelu": lambda h: h * 0.5 * (1 + torch.erf(h / math.sqrt(2))),
}


@pytest.mark.statistical
@pytest.mark.parametrize("rate", [0.3, 0.5, 0.8])
@pytest.mark.parametrize("convention", ["d_m", "d_vob"])
def test_every_tensors_standard_deviation(rate: float, convention: str) -> None:
    """Within 5 standard errors, std/√(2n), of fan_in^-γ; and the mean of zero."""
    config = RunConfig(init_rates=(rate,), model={"d_m": 150, "d_f": 310, "embedding_fan_in": convention})  # type: ignore[arg-type]
    member = config.members()[0]
    expected_fan_in = {"W_emb": 150 if convention == "d_m" else 200, "W1": 150, "W2": 310}
    for name, tensor in build([member], 200).items():
        std = expected_fan_in[name] ** -rate
        n = tensor.numel()
        assert initial_std(member, name, 200) == pytest.approx(std, rel=1e-12)
        assert abs(float(tensor.double().std()) - std) < 5 * std / math.sqrt(2 * n)
        assert abs(float(tensor.double().mean())) < 5 * std / math.sqrt(n)


def test_single_tensors_can_have_their_own_rate() -> None:
    member = RunConfig(model={"tensor_init_rates": {"W1": 0.3}}).members()[0]  # type: ignore[arg-type]
    assert initial_std(member, "W1", 200) == pytest.approx(200**-0.3)
    assert initial_std(member, "W2", 200) == pytest.approx(512**-0.8)


def test_a_member_starts_alike_in_any_company(small: Callable[..., RunConfig]) -> None:
    members = small(init_rates=[0.3, 0.8], seeds=[0, 5]).members()
    together = build(members, 48)
    for index, member in enumerate(members):
        alone = build([member], 48)
        for name in together:
            assert torch.equal(together[name][index], alone[name][0])


def test_tensors_and_seeds_have_streams_of_their_own(small: Callable[..., RunConfig]) -> None:
    members = small(seeds=[0, 1]).members()
    parameters = build(members, 48)
    first = parameters["W1"][0].flatten()[:8] / 8**-0.8
    for other in (parameters["W1"][1].flatten()[:8] / 8**-0.8, parameters["W2"][0].flatten()[:8] / 12**-0.8):
        assert not torch.allclose(first, other, atol=1e-2)


@pytest.mark.parametrize("activation", list(ACTIVATIONS))
def test_forward_pass_written_out(activation: Any, member: Callable[..., MemberConfig]) -> None:
    """Definition 1 by a loop over members, sequences and tokens; a repeated token counts twice."""
    members = [member(seeds=[s], dtype="float64", init_rates=[0.2]) for s in (0, 1)]
    parameters = build(members, 48)
    tokens = torch.tensor([[[1, 1, 20], [2, 5, 30]], [[3, 4, 21], [7, 7, 7]]])
    found = emb_mlp(parameters, tokens, activation)
    assert found.shape == (2, 2, 48)
    for m in range(2):
        for b in range(2):
            w = sum(parameters["W_emb"][m, t] for t in tokens[m, b].tolist())
            logits = PLAIN[activation](w @ parameters["W1"][m]) @ parameters["W2"][m]
            torch.testing.assert_close(found[m, b], logits, rtol=1e-12, atol=1e-14)


@pytest.mark.parametrize("wrong", [-1, 48])
def test_a_token_outside_the_vocabulary_is_named(wrong: int, member: Callable[..., MemberConfig]) -> None:
    config = member()
    tokens = torch.tensor([[[1, wrong, 20]]])
    with pytest.raises(InputError, match=rf"tokens = {wrong}: outside the vocabulary 0\.\.47"):
        label_logits(build([config], 48), tokens, config.model)


def test_losses_are_summed_in_doubles(member: Callable[..., MemberConfig]) -> None:
    config = member(dtype="float64", init_rates=[0.2])
    parameters = build([config], 48)
    tokens, labels = torch.tensor([[[1, 2, 20], [3, 4, 21]]]), torch.tensor([[30, 31]])
    logits = emb_mlp(parameters, tokens, "tanh")[0]
    expected = logits.logsumexp(dim=1).sum() - logits[0, 30] - logits[1, 31]
    found = model_of(config.model).scores(parameters, tokens, labels)
    assert found.loss == pytest.approx(float(expected), rel=1e-12)
