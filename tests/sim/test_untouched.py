"""Modules as other people write them: what they do counts, and they are left as they were."""

import random
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor, nn
from torch.nn.utils import parametrizations

import sim
import validate
from theory import InputError

F = nn.functional


class Characters(nn.Module):
    """A language model that returns what ``how`` makes of the head's output."""

    def __init__(self, how: Callable[[Any, Tensor], Any]) -> None:
        super().__init__()
        self.words, self.fc, self.norm = nn.Embedding(50, 8), nn.Linear(8, 8), nn.LayerNorm(8)
        self.head, self.how = nn.Linear(8, 50, bias=False), how

    def forward(self, tokens: Tensor) -> Any:
        return self.how(self, self.norm(self.fc(self.words(tokens))))


OUTPUTS: dict[str, Callable[[Any, Tensor], Any]] = {
    "with no loss, as nanoGPT's": lambda m, h: (m.head(h[:, [-1]]), None),
    "in a dict": lambda m, h: {"logits": m.head(h), "hidden": h},
    "log-probabilities": lambda m, h: F.log_softmax(m.head(h).float(), -1),
    "capped": lambda m, h: 30 * torch.tanh(m.head(h) / 30).transpose(1, 2),
}


@pytest.mark.parametrize("how", OUTPUTS)
def test_a_read_out_is_found_whatever_is_done_with_its_output(how: str) -> None:
    scales = {s.names[0]: s for s in sim.advise(Characters(OUTPUTS[how])).scales}
    assert (scales["head.weight"].kind, scales["head.weight"].mup) == ("read-out", 1 / 8)
    assert scales["fc.weight"].kind == "matrix"


def test_where_no_read_out_is_found_a_note_says_so() -> None:
    encoder, two = Characters(lambda m, h: h), Characters(lambda m, h: (m.head(h), m.fc(h)))
    assert any("Read-out: none" in note for note in sim.advise(encoder).notes)
    for model in (two, Characters(lambda m, h: h @ h)):
        advice = sim.advise(model)
        assert any("Read-out: unknown" in note for note in advice.notes)
        assert {s.kind for s in advice.scales} == {"embedding", "matrix"}


class Rows(nn.Module):
    """An embedding by what it does."""

    def __init__(self) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.randn(50, 8))

    def forward(self, tokens: Tensor) -> Tensor:
        return self.weight[tokens]


def test_an_embedding_that_the_code_ties_is_tied() -> None:
    by_code = Characters(lambda m, h: F.linear(h, m.words.weight))
    own = Characters(OUTPUTS["capped"])
    own.words = Rows()  # type: ignore[assignment]
    own.head.weight = own.words.weight
    for model in (by_code, own):
        advice = sim.advise(model)
        assert advice.scales[0].kind == "embedding"
        assert advice.scales[0].names[0].startswith("words.weight")
        assert any("Tied" in note for note in advice.notes)


class Noisy(nn.Module):
    """Noise of all generators before a matrix."""

    def __init__(self) -> None:
        super().__init__()
        self.w = nn.Parameter(torch.randn(8, 8))

    def forward(self, x: Tensor) -> Tensor:
        noise = torch.rand(x.shape, device="cpu").to(x.device) + random.random() + np.random.rand()  # noqa: NPY002
        return (F.dropout(x, 0.5) + noise) @ self.w


def test_a_module_its_hooks_and_all_generators_are_left_as_they_were(monkeypatch: pytest.MonkeyPatch) -> None:
    """A spectral norm takes a step whenever its weight is read in training mode."""
    parts = nn.Dropout(0.1), Noisy(), parametrizations.spectral_norm(nn.Linear(8, 8)), nn.Linear(8, 50)
    model, seen = nn.Sequential(nn.Embedding(50, 8), *parts), list[str]()
    model[4].register_forward_hook(lambda *_: seen.append("hook"))
    monkeypatch.setattr(torch.cuda, "manual_seed_all", lambda seed: seen.append("GPU"))
    before = {name: tensor.clone() for name, tensor in model.state_dict().items()}
    states = torch.get_rng_state(), random.getstate(), str(np.random.get_state())  # noqa: NPY002
    sim.advise(model)
    validate.audit(model)
    assert not seen
    validate.audit(model, inputs=torch.zeros(1, 2, dtype=torch.long))
    assert torch.equal(torch.get_rng_state(), states[0])
    assert (random.getstate(), str(np.random.get_state())) == states[1:]  # noqa: NPY002
    assert all(torch.equal(tensor, before[name]) for name, tensor in model.state_dict().items())


def test_the_row_of_padding_is_no_part_of_a_scale() -> None:
    """An embedding of few rows escaped the γ that it had been given."""
    model = nn.Sequential(nn.Embedding(16, 1024, padding_idx=3), nn.Linear(1024, 16, bias=False))
    report = sim.initialise_(model, 0.8)
    assert report.tensors[0].measured == pytest.approx(1024**-0.8, rel=0.02)
    assert sim.advise(model).scales[0].library == pytest.approx(1024**-0.8, rel=0.02)
    assert validate.audit(model, 0.8).clean


@pytest.mark.filterwarnings("ignore:.*torch.jit:DeprecationWarning")
def test_a_scripted_module_is_unknown() -> None:
    model = torch.jit.script(nn.Sequential(nn.Embedding(5, 4), nn.Linear(4, 5)))
    assert {scale.kind for scale in sim.advise(model).scales} == {"unknown"}


def test_what_is_no_module_is_refused_as_one() -> None:
    wrong: list[Any] = [nn.Linear, 3]
    for model in wrong:
        with pytest.raises(InputError, match=r"^model = .*neither a module nor a path; give a module"):
            sim.advise(model)


class Turned(nn.Linear):
    """A Linear whose weight is stored as (in, out)."""

    def forward(self, x: Tensor) -> Tensor:
        return x @ self.weight


class Flagged(nn.Module):
    """A number says how it multiplies."""

    def __init__(self, turned: int) -> None:
        super().__init__()
        self.turned, self.w = turned, nn.Parameter(torch.randn(6, 9))

    def forward(self, x: Tensor) -> Tensor:
        return x @ (self.w.T if self.turned else self.w)


class Heads(nn.Module):
    """Sums over four heads of eight together."""

    def __init__(self) -> None:
        super().__init__()
        self.w = nn.Parameter(torch.randn(4, 8, 16))

    def forward(self, x: Tensor) -> Tensor:
        return torch.einsum("nhk,hkd->nd", x.view(-1, 4, 8), self.w)


class Router(nn.Module):
    """Needs numbers, and a bias for its experts."""

    def __init__(self) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.randn(4, 6))

    def forward(self, x: Tensor, bias: Tensor) -> Tensor:
        return F.linear(x.float(), self.weight.float()) + bias


def test_a_fan_in_is_what_is_summed_over_whatever_the_class() -> None:
    fan_ins = [s.fan_in for s in sim.advise(nn.Sequential(Turned(9, 6), Flagged(0), Flagged(1))).scales]
    assert fan_ins == [6, 6, 9]
    assert sim.advise(Heads()).scales[0].kind == "unknown"
    with torch.device("meta"):
        assert sim.advise(Router()).scales[0].fan_in == 6


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize(
    ("dtype", "known"), [(torch.float8_e4m3fn, True), (torch.complex64, False), (torch.int8, False)]
)
def test_numbers_without_a_scale_have_none(dtype: torch.dtype, known: bool) -> None:
    model = nn.Linear(32, 32)
    model.weight = nn.Parameter((10 * torch.randn(32, 32)).to(dtype), requires_grad=False)
    assert (sim.advise(model).scales[0].library is not None) is known
